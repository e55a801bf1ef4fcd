package leasetest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// Memory is the data of engines in memory, for tests of what stands on an engine: it loses data and shows
// other evidence on demand; with [Intercept] it fails. It must never lease nodes for IDs that are kept.
// It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	now   Snapshot
	clock func() time.Time
}

// A Snapshot is a copy of what a [Memory] holds, with its evidence, which may be changed before it
// is restored.
type Snapshot struct {
	data        data // nil before Prepare
	Lineage     string
	Incarnation string
	Doubt       string
	Position    uint64
}

// NewMemory returns what Prepare was not called on yet, with the lineage "memory", the incarnation
// "first" and no clock.
func NewMemory() *Memory {
	return &Memory{now: Snapshot{Lineage: "memory", Incarnation: "first"}}
}

// Connect returns a new handle, as one more process would have. All handles share the data.
func (m *Memory) Connect() lease.Engine { return &handle{Memory: m} }

// SetClock sets the server's clock. A nil one, as at the start, makes Time zero in all answers.
func (m *Memory) SetClock(clock func() time.Time) { m.locked(func() { m.clock = clock }) }

// Snapshot copies the data, as a backup does.
func (m *Memory) Snapshot() (s Snapshot) {
	m.locked(func() { s, s.data = m.now, maps.Clone(m.now.data) })
	return s
}

// Restore puts s in the place of all data, and its evidence in the place of what was shown.
func (m *Memory) Restore(s Snapshot) {
	m.locked(func() { m.now, m.now.data = s, maps.Clone(s.data) })
}

func (m *Memory) locked(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// handle is a connection to a Memory.
type handle struct {
	*Memory
	closed bool
}

func (h *handle) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return h.do(ctx, Call{Names: names})
}

func (h *handle) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	return h.do(ctx, Call{Swap: true, Expect: expect, Put: put})
}

func (h *handle) do(ctx context.Context, c Call) (answer lease.Answer, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(ctx); err != nil {
		return answer, err
	}
	if h.now.data == nil {
		return answer, fmt.Errorf("leasetest: memory: %w", lease.ErrNoSpace)
	}
	answer = h.now.data.do(c)
	if answer.Swapped {
		h.now.Position++
	}
	answer.Lineage = h.now.Lineage
	answer.Incarnation = h.now.Incarnation
	answer.Doubt = h.now.Doubt
	answer.Position = h.now.Position
	if h.clock != nil {
		answer.Time = h.clock()
	}
	return answer, nil
}

func (h *handle) List(ctx context.Context, prefix, after string, limit int) (entries []lease.Entry, err error) {
	h.locked(func() {
		if err = h.check(ctx); err == nil {
			entries = h.now.data.list(prefix, after, limit)
		}
	})
	return entries, err
}

func (h *handle) Prepare(ctx context.Context) (err error) {
	h.locked(func() {
		if err = h.check(ctx); err == nil && h.now.data == nil {
			h.now.data = data{}
		}
	})
	return err
}

func (h *handle) check(ctx context.Context) error {
	if h.closed {
		return fmt.Errorf("leasetest: memory: %w", fs.ErrClosed)
	}
	return ctx.Err()
}

func (h *handle) Close() error { h.locked(func() { h.closed = true }); return nil }

func (h *handle) String() string { return "memory" }

// A Call is a Read or a Swap.
type Call struct {
	Names []string

	Swap        bool
	Expect, Put []lease.Entry
}

// On makes the call.
func (c Call) On(ctx context.Context, engine lease.Engine) (lease.Answer, error) {
	if c.Swap {
		return engine.Swap(ctx, c.Expect, c.Put)
	}
	return engine.Read(ctx, c.Names...)
}

// String writes the call for a message.
func (c Call) String() string {
	if c.Swap {
		return fmt.Sprintf("Swap that expects %s, and puts %s", show(c.Expect), show(c.Put))
	}
	return fmt.Sprintf("Read of %.200s", fmt.Sprint(c.Names))
}

// An Interceptor makes a call on engine, changed or not, at once, later or not at all, and returns what
// the caller is to see. Several goroutines may call it at once, and it may make calls of its own.
type Interceptor func(ctx context.Context, c Call, engine lease.Engine) (lease.Answer, error)

// Intercept returns engine with i in front of Read and Swap.
func Intercept(engine lease.Engine, i Interceptor) lease.Engine { return intercepted{engine, i} }

type intercepted struct {
	lease.Engine
	by Interceptor
}

func (e intercepted) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.by(ctx, Call{Names: slices.Clone(names)}, e.Engine)
}

func (e intercepted) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	return e.by(ctx, Call{Swap: true, Expect: clone(expect), Put: clone(put)}, e.Engine)
}

// data is what an engine holds: [Memory] is made of it, and the suite compares answers with it.
type data map[string][]byte

// do carries out a call.
func (d data) do(c Call) (answer lease.Answer) {
	answer.Entries = d.get(append(swap.Names(c.Expect), c.Names...))
	answer.Swapped = c.Swap && swap.Matches(answer.Entries, c.Expect)
	if answer.Swapped {
		d.put(clone(c.Put))
	}
	return answer
}

func (d data) get(names []string) (entries []lease.Entry) {
	for _, name := range names {
		entries = append(entries, lease.Entry{Name: name, Value: bytes.Clone(d[name])})
	}
	return entries
}

func (d data) list(prefix, after string, limit int) []lease.Entry {
	return d.get(swap.List(d, prefix, after, limit))
}

func (d data) put(entries []lease.Entry) {
	for _, e := range entries {
		d[e.Name] = e.Value
	}
}

func clone(entries []lease.Entry) []lease.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		entries[i].Value = bytes.Clone(e.Value)
	}
	return entries
}

// show writes entries for a message.
func show(entries []lease.Entry) string {
	var s strings.Builder
	for _, e := range entries {
		value := fmt.Sprintf("=%.20q", e.Value)
		if e.Value == nil {
			value = " absent"
		}
		fmt.Fprintf(&s, ", %s%s", e.Name, value)
	}
	return fmt.Sprintf("%d entries (%.500s)", len(entries), strings.TrimPrefix(s.String(), ", "))
}
