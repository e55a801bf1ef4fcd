package space

import (
	"context"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

// A Handle hands out numbers of one counter, in one period if it has periods.
type Handle struct {
	*counter.Counter
	As lease.Counter // the counter as the configuration wants it, in that period
}

const openTime = 10 * time.Second // for a counter to be opened

// Handle returns the handle on the present period of a counter. If there is none, Handle opens one
// for all callers that wait, and makes the counter if need be.
func (c *Counters) Handle(ctx context.Context, name string) (*Handle, error) {
	t, err := c.target(name)
	if err != nil {
		return nil, err
	}
	if h := c.cached(t); h != nil {
		return h, nil
	}
	opened := c.opening.DoChan(name+" "+t.period.Key, func() (any, error) { return c.open(t) })
	select {
	case r := <-opened:
		return r.Val.(*Handle), r.Err // the handle is nil if there is an error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CachedHandle returns the handle on the present period of a counter, or nil if there is none. It never
// waits for the store.
func (c *Counters) CachedHandle(name string) (*Handle, error) {
	t, err := c.target(name)
	if err != nil {
		return nil, err
	}
	return c.cached(t), nil
}

func (c *Counters) cached(t target) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, _ := c.handles.Get(t.wanted.Name)
	if h == nil || h.As.Period != t.period.Key {
		return nil
	}
	return h
}

// open opens a handle, which takes the place of the one on the period before. That one stays open
// for calls that have it.
func (c *Counters) open(t target) (*Handle, error) {
	// Not the context of a caller: others wait, too.
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	options := append(t.options, counter.WithLogger(c.space.logger()))
	opened, err := t.counters.Open(ctx, t.wanted.Name, options...)
	if err != nil {
		return nil, err
	}
	h := &Handle{Counter: opened, As: t.inPeriod()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles.Remove(t.wanted.Name) // calls keepCounts with the one before: see NewCounters
	c.handles.Add(t.wanted.Name, h)
	if c.closed {
		h.Close()
	}
	return h, nil
}
