package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is the data of engines in memory. It loses data and shows other evidence on demand.
type memory struct {
	mu sync.Mutex
	state
	doubt string
	full  string           // the name of an entry for which there is no room
	clock func() time.Time // the server's, or nil
	calls int
}

type state struct {
	data        map[string]string
	lineage     string
	incarnation string
	position    uint64
}

func newMemory() *memory { return &memory{state: state{data: map[string]string{}, lineage: "first"}} }

func (m *memory) snapshot() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state
	s.data = maps.Clone(s.data)
	return s
}

func (m *memory) restore(s state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
	m.data = maps.Clone(s.data)
}

// replace has the data be those of another lineage from now on.
func (m *memory) replace(lineage string) {
	s := m.snapshot()
	s.lineage = lineage
	m.restore(s)
}

// metaOf returns the meta of a space, or nil if there is none, or one that is only announced.
func (s state) metaOf(name string) *meta {
	m, err := decodeMeta([]byte(s.data[name+"/meta"]))
	if err != nil || m.Announced {
		return nil
	}
	return m
}

func (m *memory) size() (bytes int) {
	for name, value := range m.data {
		bytes += len(name) + len(value)
	}
	return bytes
}

// A call is a Read if put is nil.
type call struct {
	expect, put []Entry
}

func (m *memory) do(c call) (a Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	a.Swapped = c.put != nil
	for _, e := range c.expect {
		found := Entry{Name: e.Name}
		if value, ok := m.data[e.Name]; ok {
			found.Value = []byte(value)
		}
		a.Swapped = a.Swapped && (found.Value == nil) == (e.Value == nil) && string(found.Value) == string(e.Value)
		a.Entries = append(a.Entries, found)
	}
	if a.Swapped {
		a.Entries = nil
		m.position++
		for _, e := range c.put {
			m.data[e.Name] = string(e.Value)
		}
	}
	m.evidence(&a)
	return a
}

func (m *memory) evidence(a *Answer) {
	a.Lineage, a.Incarnation, a.Position = m.lineage, m.incarnation, m.position
	a.Doubt = cmp.Or(a.Doubt, m.doubt)
	if m.clock != nil {
		a.Time = m.clock()
	}
}

// conn is an engine: a connection of one process.
type conn struct {
	*memory
	intercept func(context.Context, call) (Answer, error) // or nil
}

var errAway = errors.New("memory: no connection")

func (c conn) Read(ctx context.Context, names ...string) (Answer, error) {
	var expect []Entry
	for _, name := range names {
		expect = append(expect, Entry{Name: name})
	}
	return c.send(ctx, call{expect: expect})
}

func (c conn) Swap(ctx context.Context, expect, put []Entry) (Answer, error) {
	return c.send(ctx, call{expect, put})
}

func (c conn) send(ctx context.Context, call call) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if c.intercept != nil {
		return c.intercept(ctx, call)
	}
	if hasEntry(call.put, c.full) {
		return Answer{}, fmt.Errorf("memory: %w: full", ErrStore)
	}
	return c.do(call), nil
}

func hasEntry(entries []Entry, name string) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == name })
}

func (c conn) List(_ context.Context, prefix, after string, limit int) (entries []Entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.data)) {
		if strings.HasPrefix(name, prefix) && name > after && len(entries) < limit {
			entries = append(entries, Entry{name, []byte(c.data[name])})
		}
	}
	return entries, nil
}

func (c conn) Prepare(context.Context) error { return nil }
func (c conn) Close() error                  { return nil }
func (c conn) String() string                { return fmt.Sprintf("memory %p", c.memory) }
