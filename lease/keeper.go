package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Queue is what a generator has of its keeper: leases that follow each other, some ahead of time. Its methods return at
// once.
type Queue interface {
	// Add adds a lease. The generator uses it in its seconds, and forgets it when they are over.
	Add(randflake.Lease)

	// Drop drops all leases, as this process is a copy of another one that uses them.
	Drop()
}

// Options are the options of Keep. Zero values stand for defaults.
type Options struct {
	Nodes  uint32        // how many a lease has; 1 by default
	Outage time.Duration // of the store that IDs outlive, once the process has lived one window; 3 min by default, less than 0 for none
	Logger *slog.Logger  // slog.Default() by default
	Label  string        // of the process, for the log

	stale func() bool // whether this process became a copy since the last call; for tests
}

// A Keeper takes leases for a generator: at once for this window and the next one, and once it has lived a window, Outage
// ahead, at a random moment of each window. It never renews and never gives back.
type Keeper struct {
	space   *Space
	queue   Queue
	options Options
	wake    chan struct{}
	stop    context.CancelFunc
	done    chan struct{}

	// What follows belongs to the goroutine of run.
	started time.Time
	settled map[int64]bool // windows that need no take: true if leased, false if full, or before the floor
	end     time.Time      // of the last lease in use
	stopped time.Time      // since when no ID can be made; zero while they can
	backoff time.Duration
}

// Keep takes the first leases and returns their keeper. It fails if there is none for this window nor the next.
func Keep(ctx context.Context, space *Space, queue Queue, options Options) (*Keeper, error) {
	k := newKeeper(space, queue, options)
	pause, err := k.step(ctx)
	if _, leased := k.covered(); !leased {
		return nil, fmt.Errorf("lease: keep: %w", err)
	}
	background, stop := context.WithCancel(context.Background())
	k.stop = stop
	go k.run(background, pause)
	return k, nil
}

func newKeeper(space *Space, queue Queue, options Options) *Keeper {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Nodes, options.Outage = cmp.Or(options.Nodes, 1), cmp.Or(options.Outage, 3*time.Minute)
	if options.stale == nil {
		mark := vmgen.Now()
		options.stale = func() bool {
			was := mark
			mark = vmgen.Now()
			return was.Stale()
		}
	}
	return &Keeper{space: space, queue: queue, options: options, wake: make(chan struct{}, 1), done: make(chan struct{}),
		started: space.now(), settled: map[int64]bool{}}
}

// Refused tells the keeper that a caller got no ID for want of a lease. It returns at once and is safe for concurrent use.
func (k *Keeper) Refused() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Close ends the keeper. What it has leased stays the generator's.
func (k *Keeper) Close() { k.stop(); <-k.done }

const (
	shortest = time.Second      // between two tries
	longest  = 30 * time.Second // between two tries, and how long before the last lease ends things become urgent
	urgent   = 2 * time.Second  // between two tries then,
	limit    = 3 * time.Second  // and how long one may take: together 5 s
)

func (k *Keeper) run(ctx context.Context, pause time.Duration) {
	defer close(k.done)
	for k.wait(ctx, pause) {
		pause, _ = k.step(ctx)
	}
}

// wait returns after the pause, or when a caller was refused. Callers who are refused all the time cause a try a second.
func (k *Keeper) wait(ctx context.Context, pause time.Duration) bool {
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
func (k *Keeper) step(ctx context.Context) (pause time.Duration, err error) {
	full, err := k.fill(ctx)
	k.report(cmp.Or(err, full))
	limits, now := k.space.Limits(), k.space.now()
	window := limits.window(now)
	left, _ := k.covered()
	if left <= 0 { // be there when the next window begins
		left = limits.start(window + 1).Sub(now)
	}
	if err == nil {
		k.backoff = 0
		part := time.Duration(rand.Int64N(int64(limits.Window * 3 / 4))) // random, so that processes part
		return min(left, limits.start(window+1).Sub(now)+part), full
	}
	k.backoff = min(max(2*k.backoff, shortest), k.pressed(longest, urgent))
	return min(left, k.backoff/2+rand.N(k.backoff/2+1)), err
}

// fill takes leases for the windows that are wanted, the present one first. full says why it must do without some.
func (k *Keeper) fill(ctx context.Context) (full, err error) {
	now := k.space.now()
	present := k.space.Window(now)
	maps.DeleteFunc(k.settled, func(window int64, _ bool) bool { return window < present })
	for window := present; window <= present+k.depth(now); window++ {
		if _, ok := k.settled[window]; ok {
			continue
		}
		lease, err := k.take(ctx, window)
		switch {
		case k.options.stale(): // what was leased before is the original's
			clear(k.settled)
			k.queue.Drop()
			window = present - 1
		case err == nil:
			k.settled[window] = true
			k.queue.Add(lease)
			k.options.Logger.Info("randflake: leased", "first", lease.FirstNode, "last", lease.LastNode, "start", lease.Start, "end", lease.End, "label", k.options.Label)
		case errors.Is(err, ErrFull) || errors.Is(err, ErrLoss): // for good
			k.settled[window], full = false, err
		case errors.Is(err, ErrAhead) && window > present+1:
			return full, nil
		default:
			return full, err
		}
	}
	return full, nil
}

// take leaves time for another try before IDs end.
func (k *Keeper) take(ctx context.Context, window int64) (randflake.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, k.pressed(10*time.Second, limit))
	defer cancel()
	return k.space.Take(ctx, window, k.options.Nodes)
}

// depth returns how many windows beyond the present one are wanted: enough that Outage is left just before the next step.
// A process that crashes in its first window, again and again, takes one.
func (k *Keeper) depth(now time.Time) int64 {
	limits := k.space.Limits()
	if now.Sub(k.started) < limits.Window {
		return 1
	}
	outage := max(k.options.Outage, 0)
	return min(int64((outage+limits.Window-1)/limits.Window)+1, limits.Ahead)
}

// covered returns for how long there are leases from now on without a gap, and whether there are any at all.
func (k *Keeper) covered() (left time.Duration, leased bool) {
	now, limits := k.space.now(), k.space.Limits()
	window := limits.window(now)
	for k.settled[window] {
		window++
		left = limits.start(window).Sub(now)
	}
	return left, slices.Contains(slices.Collect(maps.Values(k.settled)), true)
}

// pressed returns the second duration if IDs have ended or are about to, and otherwise the first.
func (k *Keeper) pressed(calm, pressed time.Duration) time.Duration {
	if left, _ := k.covered(); left < longest {
		return pressed
	}
	return calm
}

// report writes a line when IDs stop, and one when they go on.
func (k *Keeper) report(why error) {
	now := k.space.now()
	left, _ := k.covered()
	switch {
	case left <= 0 && k.stopped.IsZero():
		if k.stopped = now; !k.end.IsZero() && k.end.Before(now) {
			k.stopped = k.end
		}
		k.options.Logger.Error("randflake: no lease: no ID can be made", "since", k.stopped, "error", why, "space", k.space.String(), "label", k.options.Label)
	case left > 0 && !k.stopped.IsZero():
		k.options.Logger.Info("randflake: leased again: IDs go on", "after", now.Sub(k.stopped), "label", k.options.Label)
		k.stopped = time.Time{}
	}
	if left > 0 {
		k.end = now.Add(left)
	}
}
