package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
)

// A loop keeps a queue filled with leases.
type loop struct {
	source Source
	queue  handover.Queue[randflake.Lease]
	settings
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	// What follows belongs to the goroutine of run.
	started time.Time
	settled map[int64]error // windows that need no take: nil if leased, or why there is no lease: full, or before the floor
	end     time.Time       // of the last lease in use
	stopped time.Time       // since when no ID can be made; zero while they can
	backoff time.Duration

	mu     sync.Mutex
	status Status // what a step found
}

func newLoop(source Source, settings settings) *loop {
	return &loop{source: source, settings: settings, wake: make(chan struct{}, 1), done: make(chan struct{}),
		started: settings.clock(), settled: map[int64]error{}}
}

// start takes the first leases, and goes on in the background. It fails if there is none for this window nor the next. begin makes
// the queue with the first lease.
func (k *loop) start(ctx context.Context, begin func(randflake.Lease) (handover.Queue[randflake.Lease], error)) error {
	k.queue = &opening{begin: begin, loop: k}
	pause, err := k.step(ctx)
	if f, unused := k.queue.(*opening); unused {
		return fmt.Errorf("lease: keep: %w", cmp.Or(f.err, err))
	}
	background, stop := context.WithCancel(context.Background())
	k.stop = stop
	go k.run(background, pause)
	return nil
}

// An opening is the queue before there is a generator.
type opening struct {
	handover.Queue[randflake.Lease]
	begin func(randflake.Lease) (handover.Queue[randflake.Lease], error)
	loop  *loop
	err   error
}

func (f *opening) Add(lease randflake.Lease) error {
	queue, err := f.begin(lease)
	if f.err = err; err == nil {
		f.loop.queue = queue
	}
	return err
}

func (f *opening) Drop()        {}
func (f *opening) Ready() error { return nil }

// refused tells the loop that a caller got no ID for want of a lease. It returns at once and is safe for concurrent use.
func (k *loop) refused() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *loop) close() { k.stop(); <-k.done }

const (
	shortest = time.Second      // between two tries
	longest  = 30 * time.Second // between two tries, and how long before the last lease ends things become urgent
	urgent   = 2 * time.Second  // between two tries then,
	limit    = 3 * time.Second  // and how long one may take: together 5 s
)

var errLate = errors.New("lease: windows ended while nodes of them were taken: this process was paused, or the store is slower than windows are long")

func (k *loop) run(ctx context.Context, pause time.Duration) {
	defer close(k.done)
	for k.wait(ctx, pause) {
		pause, _ = k.step(ctx)
	}
}

// wait returns after the pause, or when a caller was refused. Callers who are refused all the time cause a try a second.
func (k *loop) wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(min(pause, shortest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	timer.Reset(pause - min(pause, shortest))
	select {
	case <-timer.C:
	case <-k.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// step takes what is wanted now, tells the log, and returns for how long there is nothing to do.
func (k *loop) step(ctx context.Context) (pause time.Duration, err error) {
	full, err := k.fill(ctx)
	limits, now := k.source.Limits(), k.clock()
	window := limits.WindowOf(now)
	if _, asked := k.settled[window]; err == nil && !asked {
		err = errLate
	}
	k.report(cmp.Or(err, full))
	left := k.covered()
	if left <= 0 { // be there when the next window begins
		left = limits.start(window + 1).Sub(now)
	}
	if err == nil {
		k.backoff = 0
		part := time.Duration(rand.Int64N(int64(limits.Window * 3 / 4))) // so that processes don't call at once
		return min(left, limits.start(window+1).Sub(now)+part), full
	}
	k.backoff = min(max(2*k.backoff, shortest), k.pressed(longest, urgent))
	return min(max(left, shortest/10), k.backoff/2+rand.N(k.backoff/2+1)), err
}

// fill takes leases for the windows that are wanted, the present one first. full says why it must do without some.
func (k *loop) fill(ctx context.Context) (full, err error) {
	now := k.clock()
	present := k.source.Limits().WindowOf(now)
	maps.DeleteFunc(k.settled, func(window int64, _ error) bool { return window < present })
	if k.stale() {
		k.drop()
	} else if k.leased(present) {
		switch err := k.queue.Ready(); {
		case errors.Is(err, randflake.ErrLeaseNotStarted), errors.Is(err, randflake.ErrLeaseEnded), errors.Is(err, randflake.ErrClockBackward):
			delete(k.settled, present) // the clock was set, so that the lease is of no use
		}
	}
	for window := present; window <= present+k.depth(now); window++ {
		if why, ok := k.settled[window]; ok {
			full = cmp.Or(full, why)
			continue
		}
		lease, err := k.take(ctx, window)
		var unfit error
		if err == nil {
			unfit = k.queue.Add(lease)
		}
		switch {
		case k.stale(): // checked last, because a generator made from this lease would count the lease as the copy's own
			k.drop()
			window = present - 1
		case unfit != nil: // another take would get the same seconds
			k.settled[window], full = unfit, cmp.Or(full, unfit)
		case err == nil:
			k.settled[window] = nil
			k.count(func(s *Status) { s.Taken++ })
			k.logger.Info("randflake: leased", "first", lease.FirstNode, "last", lease.LastNode, "start", lease.Start, "end", lease.End, "label", k.label)
		case errors.Is(err, ErrFull) || errors.Is(err, ErrLoss): // not tried again for this window
			k.settled[window], full = err, cmp.Or(full, err)
		case errors.Is(err, ErrAhead) && window > present+1:
			return full, nil
		default:
			return full, err
		}
	}
	return full, nil
}

// drop forgets what was leased before this machine became a copy of another one: it is the original's.
func (k *loop) drop() {
	clear(k.settled)
	k.queue.Drop()
	k.count(func(s *Status) { s.Copies++ })
	k.logger.Warn("randflake: this machine is a copy of another one: its leases are left to that", "label", k.label)
}

// take limits one call, so that a second try fits before IDs end.
func (k *loop) take(ctx context.Context, window int64) (randflake.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, k.pressed(longest, limit))
	defer cancel()
	lease, err := k.source.Take(ctx, window, k.nodes)
	if err != nil {
		k.count(func(s *Status) { s.Failed++ })
	}
	return lease, err
}

// depth returns how many windows beyond the present one are wanted: enough that Outage is left just before the next step.
// A process that crashes in its first window, again and again, takes one.
func (k *loop) depth(now time.Time) int64 {
	limits := k.source.Limits()
	if now.Sub(k.started) < limits.Window {
		return 1
	}
	outage := max(k.outage, 0)
	return min(int64((outage+limits.Window-1)/limits.Window)+1, limits.Ahead)
}

// leased reports whether there is a lease of a window.
func (k *loop) leased(window int64) bool {
	why, asked := k.settled[window]
	return asked && why == nil
}

// covered returns for how long there are leases from now on without a gap.
func (k *loop) covered() (left time.Duration) {
	now, limits := k.clock(), k.source.Limits()
	window := limits.WindowOf(now)
	for k.leased(window) {
		window++
		left = limits.start(window).Sub(now)
	}
	return left
}

// pressed returns the second duration if IDs have ended or are about to, and otherwise the first.
func (k *loop) pressed(calm, pressed time.Duration) time.Duration {
	if left := k.covered(); left < longest && !k.end.IsZero() {
		return pressed
	}
	return calm
}

// report writes a line when IDs stop, and one when they go on.
func (k *loop) report(why error) {
	now := k.clock()
	left := k.covered()
	switch {
	case left <= 0 && k.stopped.IsZero():
		if k.stopped = now; !k.end.IsZero() && k.end.Before(now) {
			k.stopped = k.end
		}
		k.logger.Error("randflake: no lease: no ID can be made", "since", k.stopped, "error", why, "space", k.source.String(), "label", k.label)
	case left > 0 && !k.stopped.IsZero():
		k.logger.Info("randflake: leased again: IDs go on", "after", now.Sub(k.stopped), "label", k.label)
		k.stopped = time.Time{}
	}
	if left > 0 {
		k.end = now.Add(left)
	}
	k.count(func(s *Status) { s.End, s.Err, s.Stopped = k.end, why, k.stopped })
}

// count changes the status.
func (k *loop) count(change func(*Status)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.status)
}
