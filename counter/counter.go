package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/lease"
)

// A Counter is a handle on a counter, with a run of numbers of its own. Each number is larger than the numbers of all earlier calls
// on this handle. It is safe for concurrent use, and has a goroutine only while it takes a run.
type Counter struct {
	current atomic.Pointer[run]
	_       [56]byte // every call reads the field before, and what follows is written to

	name     string
	counters *Counters
	settings settings
	line     *queue.Queue // of callers who wait

	mu      sync.Mutex
	next    *run        // fetched ahead
	busy    bool        // while a goroutine fetches
	retry   *time.Timer // not nil for a while after a fetch that failed
	why     error       // why the last fetch failed
	failed  int         // fetches in a row that failed
	refused bool        // whether a caller found no number since the current run came into use
	closed  bool
	fetched sample // when a run was fetched last
	taken   uint64 // numbers
	past    uint64 // numbers of runs before the current one
}

// A run is a run of numbers that a handle has taken. It fills two cache lines.
type run struct {
	given atomic.Uint64 // numbers, and what was asked for beyond count
	_     [56]byte      // given is written to, and what follows is only read

	first, step int64
	low         uint64 // when so many are given, half or none, the next run is to be fetched
	count       uint64
	_           [32]byte
}

func (b *run) number(i uint64) int64 { return b.first + int64(i)*b.step }

// issued returns how many of the run's numbers were given.
func (b *run) issued() uint64 { return min(b.given.Load(), b.count) }

// closed is what given is set to in a run that gives no more numbers. It is beyond the count of every run.
const closed = 1 << 62

// close makes the run give no more numbers, and returns how many were given.
func (b *run) close() uint64 {
	given := b.given.Swap(closed)
	return min(given, b.count)
}

// take fills dst with numbers of the run. It returns how many there were, and whether the one at the low mark was among them.
func (b *run) take(dst []int64) (n int, low bool) {
	end := b.given.Add(uint64(len(dst)))
	first := end - uint64(len(dst))
	end = min(end, b.count)
	for i := first; i < end; i++ {
		dst[n] = b.number(i)
		n++
	}
	return n, first <= b.low && b.low < end
}

// Open returns a handle on a counter. It takes the first run. If there is no such counter it returns lease.ErrNoCounter, or creates
// it if [OrCreate] is given.
func (s *Counters) Open(ctx context.Context, name string, options ...Option) (*Counter, error) {
	set, err := s.open(ctx, name, options)
	if err != nil {
		return nil, err
	}
	c := &Counter{name: name, counters: s, settings: set, line: queue.New("counter"), fetched: sample{at: time.Now()}}
	c.current.Store(new(run))
	got, err := s.TakeNumbers(ctx, name, set.period, set.least)
	if err != nil {
		return nil, err
	}
	c.settle(got, nil)
	return c, nil
}

// Next returns a number without waiting for the space. Its errors are ErrPending if the next run is not there yet, ErrClosed, and
// lease's ErrEnd, ErrCounter and ErrClock.
func (c *Counter) Next() (int64, error) {
	b := c.load()
	i := b.given.Add(1) - 1
	if i < b.low {
		return b.number(i), nil
	}
	return c.nextSlowly(b, i)
}

// load returns the current run.
func (c *Counter) load() *run {
	if c != nil {
		if b := c.current.Load(); b != nil {
			return b
		}
	}
	panic("counter: no Counter, or the zero one: make one with Open")
}

// nextSlowly does what Next does if the number i of the run is at b.low, where the next run is fetched, or after it, or past the end.
func (c *Counter) nextSlowly(b *run, i uint64) (int64, error) {
	if i == b.low {
		c.mu.Lock()
		c.fetch()
		c.mu.Unlock()
	}
	if i < b.count {
		return b.number(i), nil
	}
	var one [1]int64
	_, err := c.Fill(one[:])
	return one[0], err
}

// Fill is Next for len(dst) numbers, in order. If n < len(dst), err says why; the first n numbers are good all the same.
func (c *Counter) Fill(dst []int64) (n int, err error) {
	c.load() // or c is of no use
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
			c.next, c.refused = nil, false
		case c.why == nil:
			c.refused = true
			return n, ErrPending
		case final(c.why):
			return n, c.why
		default:
			return n, fmt.Errorf("%w: %w", ErrPending, c.why)
		}
	}
}

// final reports whether waiting does not help against err.
func final(err error) bool {
	for _, target := range []error{lease.ErrEnd, lease.ErrCounter, lease.ErrNoCounter, lease.ErrNoSpace, lease.ErrCorrupt, lease.ErrClock, lease.ErrInvalid, ErrMismatch} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Wait is Next, but waits for the next run. Callers are served in order. If ctx ends first, the error wraps its cause and the
// reason for the wait.
func (c *Counter) Wait(ctx context.Context) (int64, error) {
	c.load() // or c is of no use
	if c.line.Empty() {
		if n, err := c.Next(); !errors.Is(err, ErrPending) {
			return n, err
		}
	}
	var one [1]int64
	_, err := c.FillWait(ctx, one[:])
	return one[0], err
}

// FillWait is Fill, but waits as Wait does until dst is full. The first n numbers are good even if err is not nil.
func (c *Counter) FillWait(ctx context.Context, dst []int64) (n int, err error) {
	c.load() // or c is of no use
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
	c.load() // or c is of no use
	defer c.line.Serve()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.past += c.current.Load().close()
	c.current.Store(new(run))
	c.next = nil
	return nil
}

// fetch has the next run fetched, unless it is there or under way. It is called with mu held.
func (c *Counter) fetch() {
	if c.closed || c.next != nil || c.busy || c.retry != nil {
		return
	}
	now := sample{time.Now(), c.issued()}
	pace := c.fetched.pace(now)
	c.fetched, c.busy = now, true
	go c.fetchRun(c.runLength(pace, c.current.Load().count))
}

// fetchRun fetches a run of n numbers.
func (c *Counter) fetchRun(n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	got, err := c.counters.TakeNumbers(ctx, c.name, c.settings.period, n)
	c.mu.Lock()
	c.busy = false
	c.settle(got, err)
	c.mu.Unlock()
	c.line.Serve()
}

// settle notes the outcome of a fetch. It is called with mu held.
func (c *Counter) settle(got lease.Run, err error) {
	log := func(level slog.Level, what string, more ...any) {
		c.settings.logger.Log(context.Background(), level, "randflake: counter "+what, append(more, "counter", c.name)...)
	}
	if err != nil {
		c.why = err
		if c.failed == 0 {
			log(slog.LevelWarn, "gets no more numbers", "error", err)
		}
		c.failed++
		c.retry = time.AfterFunc(rest(c.failed), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.retry = nil
			if !final(err) { // which callers find out about when they ask
				c.fetch()
			}
		})
		return
	}
	if c.failed > 0 {
		log(slog.LevelInfo, "gets numbers again")
	}
	c.taken += uint64(got.N)
	b := &run{first: got.First, step: got.Step, count: uint64(got.N)}
	if !c.refused { // or else the next one is to be fetched as soon as this one comes into use
		b.low = b.count / 2
	}
	c.next, c.why, c.failed = b, nil, 0
}

// issued returns how many numbers callers were given. It is called with mu held.
func (c *Counter) issued() uint64 { return c.past + c.current.Load().issued() }

// callTimeout bounds how long a call of the space may take.
const callTimeout = 10 * time.Second

// At the current pace a run is used up in lasting. The next one is fetched when half of it is given, so a call may take half as long
// before callers wait. A run is at most growth times as large as the one before, since a burst is not a pace.
const (
	lasting = 10 * time.Second
	growth  = 16
)

// A sample is how many numbers had been issued at a time.
type sample struct {
	at     time.Time
	issued uint64
}

// pace returns how many numbers a second were issued since.
func (s sample) pace(now sample) float64 {
	return float64(now.issued-s.issued) / max(now.at.Sub(s.at), time.Microsecond).Seconds()
}

// runLength returns how many numbers to take at a pace, after a run of last numbers.
func (c *Counter) runLength(pace float64, last uint64) int64 {
	want := min(pace*lasting.Seconds(), float64(max(last, 1))*growth, float64(c.settings.most))
	return max(int64(want), c.settings.least)
}

// rest returns how long to wait before the next attempt, after a number of failures in a row.
func rest(failures int) time.Duration {
	longest := min(50*time.Millisecond<<min(failures, 10), 10*time.Second)
	return longest/2 + rand.N(longest/2)
}
