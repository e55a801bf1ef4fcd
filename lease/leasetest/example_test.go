package leasetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// A server keeps entries while the process runs. Its lock makes of each call one step.
type server struct {
	mu       sync.Mutex
	entries  map[string][]byte // nil before Prepare
	position uint64
}

// An engine is a connection to a server. It is all that has to be written for a new kind of server.
type engine struct {
	server *server
	closed bool
}

func (e *engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	return e.do(ctx, func(found *store.Answer) {
		for _, name := range names {
			found.Named = append(found.Named, e.get(name))
		}
		for _, name := range slices.Sorted(maps.Keys(e.server.entries)) {
			if len(found.Page) < page.Limit && page.From <= name && name < page.To {
				found.Page = append(found.Page, e.get(name))
			}
		}
	})
}

func (e *engine) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	return e.do(ctx, func(found *store.Answer) {
		found.Swapped = true
		for _, want := range expect {
			got := e.get(want.Name)
			found.Named = append(found.Named, got)
			if (got.Value == nil) != (want.Value == nil) || !bytes.Equal(got.Value, want.Value) {
				found.Swapped = false
			}
		}
		if found.Swapped {
			e.server.position++
			for _, entry := range put {
				if e.server.entries[entry.Name] = bytes.Clone(entry.Value); entry.Value == nil {
					delete(e.server.entries, entry.Name)
				}
			}
		}
	})
}

func (e *engine) Prepare(ctx context.Context) error {
	_, err := e.do(ctx, nil)
	return err
}

// do runs call, or prepares if there is none.
func (e *engine) do(ctx context.Context, call func(*store.Answer)) (found store.Answer, err error) {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	switch {
	case e.closed:
		return found, fmt.Errorf("example: %w", fs.ErrClosed)
	case ctx.Err() != nil:
		return found, ctx.Err()
	case call == nil && e.server.entries == nil:
		e.server.entries = map[string][]byte{}
	case e.server.entries == nil:
		return found, fmt.Errorf("example: %w", store.ErrNoStore)
	case call != nil:
		call(&found)
	}
	found.Lineage, found.Position = "first", e.server.position
	return found, nil
}

// get returns an entry that is the caller's.
func (e *engine) get(name string) store.Entry {
	return store.Entry{Name: name, Value: bytes.Clone(e.server.entries[name])}
}

func (e *engine) Close() error {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	e.closed = true
	return nil
}

func (e *engine) String() string { return "example" }

// startMinimal makes an empty database, and returns a function that connects to it.
func startMinimal(*testing.T) func(*testing.T) store.Engine {
	s := new(server)
	return func(*testing.T) store.Engine { return &engine{server: s} }
}

// An engine is tested like this, in a function TestEngine.
func testEngine(t *testing.T) { leasetest.RunEngine(t, startMinimal) }

func ExampleRunEngine() {
	_ = testEngine // as the body of TestEngine(t *testing.T)
}
