package store

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// Combining makes one swap of the engine of all that come while two others are under way. It is for a store that serves
// many holders at once, as that of a service does: an engine that makes a thousand swaps a second then makes many thousand
// renewals. An error of the engine is that of all whose calls were combined.
func Combining() Option { return func(s *settings) error { s.combining = true; return nil } }

// maxPut is how many bytes a combined swap puts at most, unless a caller's own puts more.
const maxPut = 1 << 19

// A combined engine makes one swap of several that have nothing to do with each other. All of them take effect at the
// same moment, or the engine says what it found, which tells whose expectation was wrong; the others are made again.
type combined struct {
	Engine
	mu      sync.Mutex
	free    int // how many swaps may begin before others wait
	waiting []*waitingSwap
}

func combine(engine Engine, atOnce int) *combined { return &combined{Engine: engine, free: atOnce} }

type waitingSwap struct {
	ctx         context.Context
	expect, put []Entry

	done   chan struct{} // closed when these are there
	answer Answer
	err    error
}

func (c *combined) Swap(ctx context.Context, expect, put []Entry) (Answer, error) {
	c.mu.Lock()
	if c.free > 0 {
		c.free--
		c.mu.Unlock()
		defer c.leave()
		return c.Engine.Swap(ctx, expect, put)
	}
	w := &waitingSwap{ctx: ctx, expect: expect, put: put, done: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case <-w.done:
		return w.answer, w.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// leave ends a swap that was under way. If others wait they go on in its place.
func (c *combined) leave() {
	if batch := c.next(); batch != nil {
		go func() {
			for ; batch != nil; batch = c.next() {
				c.send(batch)
			}
		}()
	}
}

// next returns those of the waiting that can be one swap with the first of them, and ends a swap that was under way if
// nobody waits.
func (c *combined) next() (batch []*waitingSwap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := newUnion()
	rest := c.waiting[:0]
	for _, w := range c.waiting {
		switch {
		case w.ctx.Err() != nil: // its caller has gone
		case all.add(w):
			batch = append(batch, w)
		default:
			rest = append(rest, w)
		}
	}
	clear(c.waiting[len(rest):])
	c.waiting = rest
	if batch == nil {
		c.free++
	}
	return batch
}

// send makes one swap of a batch, and another one of what is left when the expectations of some were wrong.
func (c *combined) send(batch []*waitingSwap) {
	for len(batch) > 1 {
		all := newUnion()
		for _, w := range batch {
			all.add(w)
		}
		ctx, cancel := untilLast(batch)
		answer, err := c.Engine.Swap(ctx, all.expect, all.put)
		cancel()
		var again []*waitingSwap
		for _, w := range batch {
			found := all.found(w, answer.Named)
			if err == nil && !answer.Swapped && same(found, w.expect) {
				again = append(again, w)
				continue
			}
			w.answer, w.err = answer, err
			w.answer.Named = found
			close(w.done)
		}
		if len(again) == len(batch) {
			break
		}
		batch = again
	}
	for _, w := range batch {
		w.answer, w.err = c.Engine.Swap(w.ctx, w.expect, w.put)
		close(w.done)
	}
}

// untilLast returns a context that ends when all callers of a batch have gone at the latest.
func untilLast(batch []*waitingSwap) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, w := range batch {
		end, ok := w.ctx.Deadline()
		if !ok {
			return context.WithCancel(context.Background())
		}
		if end.After(last) {
			last = end
		}
	}
	return context.WithDeadline(context.Background(), last)
}

// A union is what several swaps expect and put together.
type union struct {
	expect, put []Entry
	expected    map[string]int // where in expect a name is
	puts        map[string]bool
	bytes       int // that are put
}

func newUnion() *union { return &union{expected: map[string]int{}, puts: map[string]bool{}} }

// add adds a swap, unless it has to do with those that are there: it puts what they put or expect, expects what they put,
// or expects of an entry something else. Any order of such swaps has the same effect.
func (u *union) add(w *waitingSwap) bool {
	size, expect := 0, len(u.expect)
	for _, e := range w.put {
		if _, expected := u.expected[e.Name]; expected || u.puts[e.Name] {
			return false
		}
		size += len(e.Value)
	}
	for _, e := range w.expect {
		i, expected := u.expected[e.Name]
		if u.puts[e.Name] || expected && !same(u.expect[i:i+1], []Entry{e}) {
			return false
		}
		if !expected {
			expect++
		}
	}
	if len(u.put) > 0 && (expect > MaxEntries || len(u.put)+len(w.put) > MaxEntries || u.bytes+size > maxPut) {
		return false
	}
	for _, e := range w.expect {
		if _, ok := u.expected[e.Name]; !ok {
			u.expected[e.Name] = len(u.expect)
			u.expect = append(u.expect, e)
		}
	}
	for _, e := range w.put {
		u.puts[e.Name] = true
	}
	u.put, u.bytes = append(u.put, w.put...), u.bytes+size
	return true
}

// found returns those entries that a swap expects, of those that were found for all.
func (u *union) found(w *waitingSwap, named []Entry) []Entry {
	if len(named) == 0 { // after an error
		return nil
	}
	own := make([]Entry, len(w.expect))
	for i, e := range w.expect {
		own[i] = named[u.expected[e.Name]]
	}
	return own
}

// same reports whether entries of the same names have the same values.
func same(a, b []Entry) bool {
	for i := range a {
		if (a[i].Value == nil) != (b[i].Value == nil) || !bytes.Equal(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}
