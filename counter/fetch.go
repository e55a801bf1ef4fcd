package counter

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake/lease"
)

// runTime is how long a run should last, at the pace of callers since the last fetch. The next run is fetched
// when half of the current one is given. So callers wait only if a fetch takes longer than half of runTime.
const runTime = 10 * time.Second

// growth bounds how many times longer a run is than the one before, since a burst is not a pace.
const growth = 16

// fetchIfDue has the next run fetched, unless the run is there, or a fetch is under way or due after a
// pause. It is called with mu held.
func (c *Counter) fetchIfDue() {
	f := &c.fetching
	if c.closed || c.nextRun != nil || f.busy || f.pausing {
		return
	}
	now := sample{at: time.Now(), issued: c.issued()}
	pace := f.began.pace(now)
	f.began = now
	f.busy = true
	go c.fetch(c.runLength(pace, c.current.Load().count))
}

// fetch fetches a run of n numbers. It logs last, without mu: a handler of logs may hang, or ask for
// the Status.
func (c *Counter) fetch(n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	got, err := c.counters.take(ctx, c.name, c.settings.period, n)
	c.mu.Lock()
	failedBefore := c.fetching.failed > 0
	c.fetching.busy = false
	if err != nil {
		c.retryAfter(err)
	} else {
		c.nextRun = c.newRun(got)
		c.fetching.why = nil
		c.fetching.failed = 0
	}
	c.mu.Unlock()
	c.line.Serve()
	switch {
	case err != nil && !failedBefore:
		c.settings.logger.Warn("randflake: counter gets no more numbers", "error", err)
	case err == nil && failedBefore:
		c.settings.logger.Info("randflake: counter gets numbers again")
	}
}

// newRun returns a run of numbers that were taken, and counts them. It is called with mu held, or
// before anyone else has c.
func (c *Counter) newRun(got lease.Run) *run {
	r := &run{first: got.First, step: got.Step, count: uint64(got.N)}
	if !c.fetchEarlier {
		r.low = r.count / 2
	}
	c.taken += r.count
	return r
}

// retryAfter notes why a fetch failed. After a pause it begins another fetch, or leaves that to the
// next caller if the error is a lasting one. It is called with mu held.
func (c *Counter) retryAfter(err error) {
	f := &c.fetching
	f.why = err
	f.failed++
	f.pausing = true
	time.AfterFunc(retryPause(f.failed), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		f.pausing = false
		if !isLasting(err) {
			c.fetchIfDue()
		}
	})
}

// lastingErrors stay until somebody does something: waiting does not help.
var lastingErrors = []error{
	lease.ErrCounterEnded,
	lease.ErrCounterLost,
	lease.ErrNoCounter,
	lease.ErrNoSpace,
	lease.ErrRetired,
	lease.ErrCorrupt,
	lease.ErrClock, // the handle's period is over, or a clock is wrong
	lease.ErrInvalid,
	lease.ErrMismatch,
	fs.ErrClosed, // this process closed the space; a handle that is left over must not ask for ever
}

func isLasting(err error) bool {
	return slices.ContainsFunc(lastingErrors, func(e error) bool { return errors.Is(err, e) })
}

// A sample is how many numbers had been issued at a moment.
type sample struct {
	at     time.Time
	issued uint64
}

// pace returns how many numbers a second were issued from one sample to the next.
func (s sample) pace(next sample) float64 {
	elapsed := max(next.at.Sub(s.at), time.Microsecond)
	return float64(next.issued-s.issued) / elapsed.Seconds()
}

// runLength returns how many numbers to take, at a pace in numbers a second, after a run of previous numbers.
func (c *Counter) runLength(pace float64, previous uint64) int64 {
	want := pace * runTime.Seconds()
	want = min(want, growth*float64(max(previous, 1)))
	want = min(want, float64(c.settings.most))
	return max(int64(want), c.settings.least)
}

// retryPause returns how long to wait before the next attempt, after a number of failures in a row.
// It is at random between half and the whole of a pause that doubles with each failure.
func retryPause(failures int) time.Duration {
	const first, longest = 100 * time.Millisecond, 10 * time.Second
	doublings := min(failures-1, 7) // of first: beyond longest
	pause := min(first<<doublings, longest)
	return pause/2 + rand.N(pause/2)
}
