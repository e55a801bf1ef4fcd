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

// A Counter is a handle on a counter, with a run of numbers of its own. Each number is larger than the
// numbers of all earlier calls on this handle. It is safe for concurrent use, and has a goroutine only while
// it takes a run.
type Counter struct {
	current atomic.Pointer[run]
	_       [56]byte // every call reads the field before, and what follows is written to

	name     string
	counters *Counters
	settings settings
	line     *queue.Queue // of callers who wait

	mu     sync.Mutex
	next   *run // fetched ahead, or nil
	closed bool

	// ranDry says that a caller found no number since the current run came into use. Then half a run does not
	// last for as long as a fetch takes. So the run after the next one is fetched as soon as the next one
	// comes into use, not when half of it is given.
	ranDry bool

	fetching fetching

	taken uint64 // how many numbers the handle has taken from the space
	past  uint64 // how many of them callers got, out of the runs before the current one
}

// fetching is how the fetches of a handle go.
type fetching struct {
	busy   bool        // a goroutine fetches
	last   sample      // as the last one began
	failed int         // how many in a row have failed
	why    error       // why the last one failed, or nil
	retry  *time.Timer // not nil until the next attempt after a failure
}

// Open returns a handle on a counter. It takes the first run. If there is no such counter it returns
// lease.ErrNoCounter, or creates it if [OrCreate] is given.
func (cs *Counters) Open(ctx context.Context, name string, options ...Option) (*Counter, error) {
	set, err := cs.open(ctx, name, options)
	if err != nil {
		return nil, err
	}
	got, err := cs.TakeNumbers(ctx, name, set.period, set.least)
	if err != nil {
		return nil, err
	}
	c := &Counter{
		name:     name,
		counters: cs,
		settings: set,
		line:     queue.New("counter"),
		fetching: fetching{last: sample{at: time.Now()}},
	}
	c.current.Store(new(run))
	c.setNext(got)
	return c, nil
}

// Next returns a number without waiting for the space. Its errors are ErrPending if the next run is not there
// yet, ErrClosed, and lease's ErrEnd, ErrCounter and ErrClock.
func (c *Counter) Next() (int64, error) {
	r := c.run()
	i := r.given.Add(1) - 1
	if i < r.low {
		return r.number(i), nil
	}
	return c.nextSlowly(r, i)
}

// run returns the current run. It panics if Open did not make c.
func (c *Counter) run() *run {
	if c != nil {
		if r := c.current.Load(); r != nil {
			return r
		}
	}
	panic("counter: no Counter, or the zero one: make one with Open")
}

// nextSlowly is Next for an index i that is not below r.low. At r.low the next run is fetched; from r.count
// on the run has no number left.
func (c *Counter) nextSlowly(r *run, i uint64) (int64, error) {
	if i == r.low {
		c.mu.Lock()
		c.fetch()
		c.mu.Unlock()
	}
	if i < r.count {
		return r.number(i), nil
	}
	var one [1]int64
	_, err := c.Fill(one[:])
	return one[0], err
}

// Fill is Next for len(dst) numbers, in order. If n < len(dst), err says why; the first n numbers are good
// all the same.
func (c *Counter) Fill(dst []int64) (n int, err error) {
	c.run() // panics if c is of no use
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		more, low := c.current.Load().take(dst[n:])
		n += more
		if low || n < len(dst) {
			c.fetch()
		}
		switch {
		case n == len(dst):
			return n, nil
		case c.closed:
			return n, fmt.Errorf("%w: %s", ErrClosed, c.name)
		case c.next != nil:
			c.past += c.current.Load().count
			c.current.Store(c.next)
			c.next = nil
			c.ranDry = false
		case c.fetching.why == nil:
			c.ranDry = true
			return n, ErrPending
		case final(c.fetching.why):
			return n, c.fetching.why
		default:
			return n, fmt.Errorf("%w: %w", ErrPending, c.fetching.why)
		}
	}
}

// Wait is Next, but waits for the next run. Callers are served in order. If ctx ends first, the error wraps
// its cause and the reason for the wait.
func (c *Counter) Wait(ctx context.Context) (int64, error) {
	c.run() // panics if c is of no use
	if c.line.Empty() {
		if n, err := c.Next(); !errors.Is(err, ErrPending) {
			return n, err
		}
	}
	var one [1]int64
	_, err := c.FillWait(ctx, one[:])
	return one[0], err
}

// FillWait is Fill, but waits as Wait does until dst is full. The first n numbers are good even if err is not
// nil.
func (c *Counter) FillWait(ctx context.Context, dst []int64) (n int, err error) {
	c.run() // panics if c is of no use
	err = c.line.Wait(ctx, func() (time.Duration, error) {
		more, err := c.Fill(dst[n:])
		n += more
		if errors.Is(err, ErrPending) {
			return time.Hour, err // until it is served
		}
		return 0, err
	})
	return n, err
}

// Close makes later calls, and calls that wait, return ErrClosed. The numbers that are left are lost.
func (c *Counter) Close() error {
	c.run() // panics if c is of no use
	defer c.line.Serve()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.past += c.current.Load().close()
	c.current.Store(new(run))
	c.next = nil
	return nil
}

// issued returns how many numbers callers were given. It is called with mu held.
func (c *Counter) issued() uint64 { return c.past + c.current.Load().issued() }
