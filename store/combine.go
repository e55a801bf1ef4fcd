package store

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// Combining lets at most two swaps run on the engine at a time, and combines those that arrive meanwhile into one. It is
// for a process that serves many lease holders, such as randflaked: one swap of the engine then renews several leases. If
// the engine fails, every combined call gets its error.
func Combining() Option { return Option{func(s *settings) error { s.combining = true; return nil }} }

// maxPut is how many bytes a combined swap puts at most, unless a caller's own puts more.
const maxPut = 1 << 19

// A combined engine makes one swap of several independent ones. If it takes effect, they all do. Otherwise the entries that
// the engine found show whose expectation was wrong, and the other swaps are made again.
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

// leave ends a swap that was under way. If others wait, they go on in its place.
func (c *combined) leave() {
	if b := c.next(); b != nil {
		go func() {
			for ; b != nil; b = c.next() {
				c.send(b)
			}
		}()
	}
}

// next returns those waiting swaps that can be one swap with the first of them. If no swap waits it returns nil, and lets
// another one begin.
func (c *combined) next() *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := newBatch()
	rest := c.waiting[:0]
	for _, w := range c.waiting {
		if w.ctx.Err() == nil && !b.add(w) { // drop swaps whose callers have given up
			rest = append(rest, w)
		}
	}
	clear(c.waiting[len(rest):])
	c.waiting = rest
	if len(b.swaps) == 0 {
		c.free++
		return nil
	}
	return b
}

// send makes one swap of a batch, and another one of what is left when the expectations of some were wrong.
func (c *combined) send(b *batch) {
	for len(b.swaps) > 1 {
		ctx, cancel := b.context()
		answer, err := c.Engine.Swap(ctx, b.expect, b.put)
		cancel()
		again := newBatch()
		for _, w := range b.swaps {
			found := b.found(w, answer.Named)
			if err == nil && !answer.Swapped && slices.EqualFunc(found, w.expect, same) {
				again.add(w)
				continue
			}
			w.answer, w.err = answer, err
			w.answer.Named = found
			close(w.done)
		}
		if len(again.swaps) == len(b.swaps) {
			break
		}
		b = again
	}
	for _, w := range b.swaps {
		w.answer, w.err = c.Engine.Swap(w.ctx, w.expect, w.put)
		close(w.done)
	}
}

// A batch is several swaps, and what they expect and put together.
type batch struct {
	swaps       []*waitingSwap
	expect, put []Entry
	expected    map[string]int // where in expect a name is
	puts        map[string]bool
	bytes       int // that are put
}

func newBatch() *batch { return &batch{expected: map[string]int{}, puts: map[string]bool{}} }

// context returns a context that ends when the last one of the callers' does by its deadline.
func (b *batch) context() (context.Context, context.CancelFunc) {
	var last time.Time
	for _, w := range b.swaps {
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

// add adds a swap, unless it has to do with those that are there: it puts what they put or expect, expects what they put,
// or expects of an entry something else. Any order of such swaps has the same effect.
func (b *batch) add(w *waitingSwap) bool {
	size, expect := 0, len(b.expect)
	for _, e := range w.put {
		if _, expected := b.expected[e.Name]; expected || b.puts[e.Name] {
			return false
		}
		size += len(e.Value)
	}
	for _, e := range w.expect {
		i, expected := b.expected[e.Name]
		if b.puts[e.Name] || expected && !same(b.expect[i], e) {
			return false
		}
		if !expected {
			expect++
		}
	}
	if len(b.swaps) > 0 && (expect > MaxEntries || len(b.put)+len(w.put) > MaxEntries || b.bytes+size > maxPut) {
		return false
	}
	for _, e := range w.expect {
		if _, ok := b.expected[e.Name]; !ok {
			b.expected[e.Name] = len(b.expect)
			b.expect = append(b.expect, e)
		}
	}
	for _, e := range w.put {
		b.puts[e.Name] = true
	}
	b.swaps, b.put, b.bytes = append(b.swaps, w), append(b.put, w.put...), b.bytes+size
	return true
}

// found returns those entries that a swap expects, of those that were found for all.
func (b *batch) found(w *waitingSwap, named []Entry) []Entry {
	if len(named) == 0 { // after an error
		return nil
	}
	own := make([]Entry, len(w.expect))
	for i, e := range w.expect {
		own[i] = named[b.expected[e.Name]]
	}
	return own
}

// same reports whether entries of the same name have the same value, or are both not there.
func same(a, b Entry) bool {
	return (a.Value == nil) == (b.Value == nil) && bytes.Equal(a.Value, b.Value)
}
