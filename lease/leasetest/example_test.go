package leasetest_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A notebook is the data of an engine of one's own. Real data are on a disk, and each change of
// them is a transaction.
type notebook struct {
	mu       sync.Mutex
	entries  map[string][]byte
	position uint64
}

// A reader is a handle on a notebook, which implements [lease.Engine].
type reader struct {
	*notebook
	closed bool
}

func (r *reader) check(ctx context.Context) error {
	if r.closed {
		return fs.ErrClosed
	}
	return ctx.Err()
}

// find returns entries with the evidence: which copy of the data this is, and how far it is.
func (r *reader) find(names ...string) lease.Answer {
	a := lease.Answer{Lineage: "a random word that was made with the notebook", Position: r.position}
	for _, name := range names {
		a.Entries = append(a.Entries, lease.Entry{Name: name, Value: bytes.Clone(r.entries[name])})
	}
	return a
}

func (r *reader) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(names...), r.check(ctx)
}

func (r *reader) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(ctx); err != nil {
		return lease.Answer{}, err
	}
	same := true
	var names []string
	for _, e := range expect {
		value, found := r.entries[e.Name]
		same = same && found == (e.Value != nil) && bytes.Equal(value, e.Value)
		names = append(names, e.Name)
	}
	if !same {
		return r.find(names...), nil
	}
	for _, e := range put {
		r.entries[e.Name] = append([]byte{}, e.Value...)
	}
	r.position++
	a := r.find()
	a.Swapped = true
	return a, nil
}

func (r *reader) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.entries)), func(name string) bool {
		return name <= after || !strings.HasPrefix(name, prefix)
	})
	return r.find(names[:min(limit, len(names))]...).Entries, r.check(ctx)
}

func (r *reader) Prepare(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.check(ctx)
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

func (r *reader) String() string { return "a notebook" }

// startNotebook makes new data, and returns what opens handles on them.
func startNotebook(*testing.T) func(*testing.T) lease.Engine {
	data := &notebook{entries: map[string][]byte{}}
	return func(*testing.T) lease.Engine { return &reader{notebook: data} }
}

// The test of an engine of one's own: each check has new data, and as many handles on them as it opens.
func ExampleRun() {
	_ = func(t *testing.T) { leasetest.Run(t, startNotebook) }
}
