package counter

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake/lease"
)

// callTimeout bounds how long a call of the space may take.
const callTimeout = 10 * time.Second

// lasting is how long a run should last, at the pace of callers since the run before. The next run is fetched
// when half of this one is given, so a call of the space may take half as long before callers wait.
const lasting = 10 * time.Second

// growth bounds how much longer a run is than the one before, since a burst is not a pace.
const growth = 16

// fetch has the next run fetched, unless it is there or under way. It is called with mu held.
func (c *Counter) fetch() {
	f := &c.fetching
	if c.closed || c.next != nil || f.busy || f.retry != nil {
		return
	}
	now := sample{time.Now(), c.issued()}
	pace := f.last.pace(now)
	f.last = now
	f.busy = true
	go c.fetchRun(c.runLength(pace, c.current.Load().count))
}

// fetchRun fetches a run of n numbers.
func (c *Counter) fetchRun(n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	got, err := c.counters.TakeNumbers(ctx, c.name, c.settings.period, n)
	c.mu.Lock()
	c.fetching.busy = false
	if err != nil {
		c.retryAfter(err)
	} else {
		c.setNext(got)
	}
	c.mu.Unlock()
	c.line.Serve()
}

// setNext makes a run the next one. It is called with mu held.
func (c *Counter) setNext(got lease.Run) {
	if c.fetching.failed > 0 {
		c.log(slog.LevelInfo, "gets numbers again")
	}
	next := &run{first: got.First, step: got.Step, count: uint64(got.N)}
	if !c.ranDry {
		next.low = next.count / 2
	}
	c.next = next
	c.taken += next.count
	c.fetching.why = nil
	c.fetching.failed = 0
}

// retryAfter has the next run fetched again in a while, after a fetch that failed. It is called with mu held.
func (c *Counter) retryAfter(err error) {
	f := &c.fetching
	if f.failed == 0 {
		c.log(slog.LevelWarn, "gets no more numbers", "error", err)
	}
	f.why = err
	f.failed++
	f.retry = time.AfterFunc(retryPause(f.failed), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		f.retry = nil
		if !final(err) { // otherwise the next caller has it fetched
			c.fetch()
		}
	})
}

func (c *Counter) log(level slog.Level, what string, attributes ...any) {
	attributes = append(attributes, "counter", c.name)
	c.settings.logger.Log(context.Background(), level, "randflake: counter "+what, attributes...)
}

// finalErrors are those where waiting does not help.
var finalErrors = []error{
	lease.ErrEnd,
	lease.ErrCounter,
	lease.ErrNoCounter,
	lease.ErrNoSpace,
	lease.ErrCorrupt,
	lease.ErrClock,
	lease.ErrInvalid,
	ErrMismatch,
}

func final(err error) bool {
	return slices.ContainsFunc(finalErrors, func(target error) bool { return errors.Is(err, target) })
}

// A sample is how many numbers had been issued at a time.
type sample struct {
	at     time.Time
	issued uint64
}

// pace returns how many numbers a second were issued from one sample to the next.
func (s sample) pace(next sample) float64 {
	elapsed := max(next.at.Sub(s.at), time.Microsecond)
	return float64(next.issued-s.issued) / elapsed.Seconds()
}

// runLength returns how many numbers to take at a pace, after a run of last numbers.
func (c *Counter) runLength(pace float64, last uint64) int64 {
	want := pace * lasting.Seconds()
	want = min(want, growth*float64(max(last, 1)))
	want = min(want, float64(c.settings.most))
	return max(int64(want), c.settings.least)
}

// retryPause returns how long to wait before the next attempt, after a number of failures in a row: a random
// part of a pause that doubles with each failure.
func retryPause(failures int) time.Duration {
	const first, longest = 100 * time.Millisecond, 10 * time.Second
	doublings := min(failures-1, 10)
	pause := min(first<<doublings, longest)
	return pause/2 + rand.N(pause/2)
}
