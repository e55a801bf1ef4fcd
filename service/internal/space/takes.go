package space

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/randflake/randflake/lease"
)

// A queue has Take's calls for one counter, of which only the first asks the store. Concurrent swaps of
// one counter would make each other fail, and one caller with many calls would keep out all others.
type queue struct {
	turn *semaphore.Weighted // held by the first call

	// checked says that the store had the counter as the configuration has it, which never changes.
	// Only the first call uses it.
	checked bool
}

// Take takes numbers of a counter, and returns which counter, with its period. It makes the counter if need be.
func (c *Counters) Take(ctx context.Context, name string, n int64) (run lease.Run, taken lease.Counter, err error) {
	if _, err := c.rule(name); err != nil {
		return run, taken, err // before there is a queue for it
	}
	q := c.queue(name)
	err = q.turn.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) { // the store did not answer earlier calls in time
		return run, taken, fmt.Errorf("%w: take numbers of counter %s: %w", lease.ErrStore, name, err)
	}
	if err != nil {
		return run, taken, err
	}
	defer q.turn.Release(1)
	t, err := c.target(name) // now: a period may have ended while this call waited
	if err != nil {
		return run, taken, err
	}
	run, err = q.take(ctx, t, n)
	return run, t.inPeriod(), err
}

// take takes numbers for the first call.
func (q *queue) take(ctx context.Context, t target, n int64) (run lease.Run, err error) {
	name := t.wanted.Name
	if !q.checked {
		if _, err := t.counters.OpenStrict(ctx, name, t.options...); err != nil {
			return run, err
		}
		q.checked = true
	}
	run, err = t.counters.Source().TakeNumbers(ctx, name, t.period, n)
	if errors.Is(err, lease.ErrNoCounter) {
		q.checked = false // data was lost; the next call makes the counter
	}
	return run, err
}

// queue returns the one queue for a counter.
func (c *Counters) queue(name string) *queue {
	if q, ok := c.queues.Get(name); ok {
		return q
	}
	q := &queue{turn: semaphore.NewWeighted(1)}
	if earlier, ok, _ := c.queues.PeekOrAdd(name, q); ok {
		return earlier // of a call at the same time
	}
	return q
}
