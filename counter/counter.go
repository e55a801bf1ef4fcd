package counter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/store"
)

// A Counter is a handle on a counter of a space, with a run of numbers of its own. Each number is larger than the
// numbers of all earlier calls on this handle, unless it is [Unordered]. It is safe for concurrent use, and has a
// goroutine only while it takes a run.
type Counter struct {
	current atomic.Pointer[run]
	parts   []part   // or nil: see Unordered
	shift   int      // of Unordered
	_       [24]byte // every call reads the fields before, and what follows is written to

	name        string
	handles     *atomic.Int64 // counts this one until it is closed
	least, most uint64        // of a run
	logger      *slog.Logger
	line        *queue.Queue // of callers who wait

	mu      sync.Mutex
	next    *run          // fetched ahead
	busy    chan struct{} // not nil while a goroutine has the supply; it closes it then
	supply  supply        // of that goroutine, or guarded by mu while there is none
	calls   *calls
	retry   *time.Timer // not nil for a while after a fetch that failed
	why     error       // why the last fetch failed
	failed  int         // fetches in a row that failed
	refused bool        // whether a caller found no number since the current run came into use
	closed  bool
	fetched mark // when a run was fetched last
	books   books
}

// A run is a run of numbers that a handle has taken. It fills two cache lines.
type run struct {
	given atomic.Uint64 // numbers, and what was asked for beyond count
	_     [56]byte      // given is written to, and what follows is only read

	first, stride int64
	low           uint64 // when so many are given the next run is to be fetched; less than count
	count         uint64
	positions     *positions // of all its numbers; a part's: of those of the run that it is from
	offset        uint64     // a part's: how many of these come before it
	_             [16]byte
}

func (b *run) number(i uint64) int64 { return b.first + int64(i)*b.stride }

// issued returns how many of the run's numbers were given.
func (b *run) issued() uint64 { return min(b.given.Load(), b.count) }

// take fills dst with numbers of the run. It returns how many there were, and whether the one at the low mark was among
// them.
func (b *run) take(dst []int64) (n int, low bool) {
	if len(dst) == 0 {
		return 0, false
	}
	end := b.given.Add(uint64(len(dst)))
	first := end - uint64(len(dst))
	end = min(end, b.count)
	for i := first; i < end; i++ {
		dst[n] = b.number(i)
		n++
	}
	return n, first <= b.low && b.low < end
}

// close takes the unused numbers out of the run and returns them. It is called once.
func (b *run) close() (rest positions) {
	const beyond = 1 << 62
	if b.positions == nil { // it never had a number
		return positions{}
	}
	rest = *b.positions
	rest.first += b.offset
	rest.end = rest.first + b.count
	rest.first += min(b.given.Add(beyond)-beyond, b.count)
	return rest
}

// Open returns a handle on a counter. If there is no such counter it returns ErrNoCounter, or creates it if
// [OrCreate] is given. If the counter was created with other parameters than the options say, it returns ErrMismatch.
func (s *Counters) Open(ctx context.Context, name string, options ...Option) (*Counter, error) {
	if err := s.admit(name); err != nil {
		return nil, err
	}
	from, set, err := s.open(ctx, name, options, false)
	if err != nil {
		s.handles.Add(-1)
		return nil, err
	}
	c := &Counter{name: name, handles: &s.handles, least: set.least, most: set.most, logger: set.logger, line: queue.New("counter"),
		supply: from, calls: &s.calls, books: books{seen: from.newest()}}
	c.current.Store(new(run))
	if set.unordered {
		c.parts, c.shift = newParts()
	}
	if err := c.begin(ctx); err != nil {
		c.abandon()
		return nil, err
	}
	return c, nil
}

// Next returns a number without waiting for the space. Its errors are ErrPending if the next run is not there yet,
// ErrRate, ErrEnd, ErrForgotten and ErrClosed.
func (c *Counter) Next() (int64, error) {
	if c.parts == nil {
		b := c.current.Load()
		i := b.given.Add(1) - 1
		if i < b.low {
			return b.first + int64(i)*b.stride, nil
		}
		return c.nextSlowly(b, i)
	}
	p := c.part()
	b := p.Load()
	first, stride, count := b.first, b.stride, b.count // before the add, as later reads wait for it
	if i := b.given.Add(1) - 1; i < count {
		return first + int64(i)*stride, nil
	}
	return c.nextPart(p)
}

// nextSlowly does what Next does if the number i of the run is at the low mark or after it, or past the end.
func (c *Counter) nextSlowly(b *run, i uint64) (int64, error) {
	if i == b.low && i < b.count {
		c.fetch()
	}
	if i < b.count {
		return b.number(i), nil
	}
	var one [1]int64
	_, err := c.fillSlowly(one[:])
	return one[0], err
}

// Fill is Next for len(dst) numbers, in order. If n < len(dst), err says why; the first n numbers are good all the
// same.
func (c *Counter) Fill(dst []int64) (n int, err error) {
	n, low := c.current.Load().take(dst)
	if low {
		c.fetch()
	}
	if n == len(dst) {
		return n, nil
	}
	more, err := c.fillSlowly(dst[n:])
	return n + more, err
}

// fillSlowly is Fill when the current run is used up.
func (c *Counter) fillSlowly(dst []int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		more, low := c.current.Load().take(dst[n:])
		n += more
		if low || n < len(dst) {
			c.fetchLocked()
		}
		if n == len(dst) {
			return n, nil
		}
		if !c.turn() {
			if n += c.takeFromParts(dst[n:]); n == len(dst) {
				return n, nil
			}
			c.refused = c.refused || c.current.Load().count > 0 // no run is too small after a Return
			return n, c.refusal()
		}
	}
}

// turn puts the run that was fetched ahead in place of the current one, which is used up. It is called with mu held.
func (c *Counter) turn() bool {
	if c.next == nil || c.closed {
		return false
	}
	c.books.issued += c.current.Load().count
	c.current.Store(c.next)
	c.next, c.refused = nil, false
	return true
}

// refusal says why there is no number. It is called with mu held.
func (c *Counter) refusal() error {
	switch {
	case c.closed:
		return fmt.Errorf("%w: %s", ErrClosed, c.name)
	case c.why == nil:
		return ErrPending
	case final(c.why) || errors.Is(c.why, ErrRate):
		return c.why
	}
	return fmt.Errorf("%w: %w", ErrPending, c.why)
}

// final reports whether waiting does not help against err.
func final(err error) bool {
	for _, target := range []error{ErrEnd, ErrForgotten, ErrNoCounter, store.ErrCorrupt, store.ErrNoStore, fs.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Wait is Next, but waits for the next run, or for the counter's rate. Callers are served in order. If ctx ends
// first, the error wraps its cause and the reason for the wait.
func (c *Counter) Wait(ctx context.Context) (int64, error) {
	if c.line.Empty() {
		if n, err := c.Next(); err == nil || !passing(err) {
			return n, err
		}
	}
	var one [1]int64
	_, err := c.fillInTurn(ctx, one[:])
	return one[0], err
}

// FillWait is Fill, but waits as Wait does until dst is full. The first n numbers are good even if err is not nil.
func (c *Counter) FillWait(ctx context.Context, dst []int64) (n int, err error) {
	if c.line.Empty() {
		if n, err = c.Fill(dst); err == nil || !passing(err) {
			return n, err
		}
	}
	more, err := c.fillInTurn(ctx, dst[n:])
	return n + more, err
}

// fillInTurn is FillWait for a caller that has to queue.
func (c *Counter) fillInTurn(ctx context.Context, dst []int64) (n int, err error) {
	const untilServed = time.Hour
	err = c.line.Wait(ctx, func() (time.Duration, error) {
		more, err := c.Fill(dst[n:])
		n += more
		if passing(err) {
			return untilServed, err
		}
		return 0, err
	})
	return n, err
}

// passing reports whether waiting helps against err.
func passing(err error) bool { return errors.Is(err, ErrPending) || errors.Is(err, ErrRate) }
