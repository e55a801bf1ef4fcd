package counter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/internal/queue"
)

// A Counter is a handle on a counter. It takes runs of numbers from the space and gives them out
// one by one, so each number is larger than those of all earlier calls on this handle. A Counter is
// safe for concurrent use, and has a goroutine only while it fetches a run.
type Counter struct {
	name     string
	counters *Counters
	settings settings
	line     *queue.Queue // of callers who wait

	// current is an empty run after Close. It is nil only in the zero Counter. Calls that only read
	// current share no cache line with what mu guards.
	current atomic.Pointer[run]
	_       [cacheLine - 8]byte

	mu       sync.Mutex
	nextRun  *run // fetched ahead, or nil
	fetching fetchState
	closed   bool

	// fetchEarlier is set when a caller got ErrPending although no fetch had failed: the fetch, which
	// begins in the middle of a run, came too late. That of the next run begins at its first number.
	fetchEarlier bool

	// Of the numbers taken from the space, callers got those before the current run and those of it:
	// see issued. The others are held in memory.
	taken        uint64
	issuedBefore uint64
}

const cacheLine = 64 // bytes

// fetchState is what a handle knows of its fetches. Each fetch takes a run.
type fetchState struct {
	busy    bool   // a goroutine fetches
	pausing bool   // after a failure: no fetch begins
	began   sample // as of when the last fetch began; at first, as of Open
	failed  int    // how many fetches in a row have failed
	why     error  // why the last fetch failed, or nil
}

// Open returns a handle on a counter, and takes the first run. If there is no such counter, Open
// returns lease.ErrNoCounter, or with [OrCreate] creates the counter.
func (cs *Counters) Open(ctx context.Context, name string, options ...Option) (*Counter, error) {
	set, err := cs.resolve(ctx, name, options)
	if err != nil {
		return nil, err
	}
	got, err := cs.take(ctx, name, set.period, set.least)
	if err != nil {
		return nil, err
	}
	c := &Counter{
		name:     name,
		counters: cs,
		settings: set,
		line:     queue.New("counter"),
		fetching: fetchState{began: sample{at: time.Now()}},
	}
	c.current.Store(c.newRun(got))
	return c, nil
}

// Next returns a number without waiting for the space. Its errors are ErrPending while the next run
// is not there yet, ErrClosed after Close, and those against which waiting does not help: some of
// package lease, such as ErrCounterEnded, and fs.ErrClosed once the space was closed.
func (c *Counter) Next() (int64, error) {
	r := c.currentRun()
	i := r.given.Add(1) - 1
	if i < r.low {
		return r.number(i), nil
	}
	return c.nextFromLow(r, i)
}

// currentRun returns the current run. It panics if Open did not make c.
func (c *Counter) currentRun() *run {
	if c != nil {
		if r := c.current.Load(); r != nil {
			return r
		}
	}
	panic("counter: no Counter, or the zero one: make one with Open")
}

// check panics unless Open made c.
func (c *Counter) check() { c.currentRun() }

// nextFromLow is Next for an index i of r from the low mark on. One caller gets the mark itself, and
// has the next run fetched. From r.count on r has no number, and Fill goes on to the next run.
func (c *Counter) nextFromLow(r *run, i uint64) (int64, error) {
	if i == r.low {
		c.mu.Lock()
		c.fetchIfDue()
		c.mu.Unlock()
	}
	if i < r.count {
		return r.number(i), nil
	}
	var one [1]int64
	_, err := c.Fill(one[:])
	return one[0], err
}

// Fill is Next for len(dst) numbers, in order. If n < len(dst), err says why. The first n numbers
// are good all the same.
func (c *Counter) Fill(dst []int64) (n int, err error) {
	c.check()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		more, passedLow := c.current.Load().take(dst[n:])
		n += more
		usedUp := n < len(dst)
		if passedLow || usedUp { // a fetch at the low mark may have failed
			c.fetchIfDue()
		}
		if !usedUp {
			return n, nil
		}
		if !c.advance() {
			if c.fetching.why == nil {
				c.fetchEarlier = true
			}
			return n, c.noRunError()
		}
	}
}

// noRunError returns why there is no next run. It is called with mu held.
func (c *Counter) noRunError() error {
	why := c.fetching.why
	switch {
	case c.closed:
		return fmt.Errorf("%w: %s", ErrClosed, c.name)
	case why == nil:
		return ErrPending
	case isLasting(why):
		return why
	default:
		return fmt.Errorf("%w: %w", ErrPending, why)
	}
}

// advance goes on to the next run, if it is there. It is called with mu held, when the current run is used up.
func (c *Counter) advance() bool {
	if c.closed || c.nextRun == nil {
		return false
	}
	c.issuedBefore += c.current.Load().count // all of it was given
	c.current.Store(c.nextRun)
	c.nextRun = nil
	c.fetchEarlier = false // it was for the run that is now the current one
	return true
}

// Wait is Next, but instead of returning ErrPending it waits for the next run. Callers are served
// in order. If ctx ends first, the error wraps the cause of that and ErrPending.
func (c *Counter) Wait(ctx context.Context) (int64, error) {
	c.check()
	if c.line.Empty() {
		if n, err := c.Next(); !errors.Is(err, ErrPending) {
			return n, err
		}
	}
	var one [1]int64
	_, err := c.FillWait(ctx, one[:])
	return one[0], err
}

// FillWait is Fill, but waits as Wait does until dst is full. The first n numbers are good even if
// err is not nil.
func (c *Counter) FillWait(ctx context.Context, dst []int64) (n int, err error) {
	c.check()
	err = c.line.Wait(ctx, func() (time.Duration, error) {
		more, why := c.Fill(dst[n:])
		n += more
		if errors.Is(why, ErrPending) {
			return queue.Forever, why // until fetch or Close calls Serve
		}
		return 0, why
	})
	return n, err
}

// Close makes later calls, and calls that wait, return ErrClosed. The numbers that are left in memory are lost.
func (c *Counter) Close() error {
	c.check()
	defer c.line.Serve() // after Unlock, as callers who are served lock mu
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.issuedBefore += c.current.Load().close()
	c.current.Store(new(run))
	return nil
}

// issued returns how many numbers callers got. It is called with mu held.
func (c *Counter) issued() uint64 { return c.issuedBefore + c.current.Load().issued() }
