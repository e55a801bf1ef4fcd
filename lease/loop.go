package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
)

// A loop is the goroutine of a keeper: it takes the leases of its plan, and gives them to the generator.
type loop struct {
	source Source
	queue  handover.Queue[randflake.Lease] // the generator's
	settings
	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup

	// Only the goroutine of run uses these.
	plan    *plan
	backoff time.Duration // the longest pause before the next try

	mu     sync.Mutex
	status Status // that goroutine alone changes it
}

// How long a try may take, and a pause between two tries that fail. If less than enough is left until IDs
// end, both are urgent: then the next try begins within five seconds.
const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
	longestTry    = 30 * time.Second

	enough      = 30 * time.Second
	urgentPause = 2 * time.Second
	urgentTry   = 3 * time.Second
)

var errLate = errors.New("lease: windows ended while nodes of them were taken: " +
	"this process was paused, or the store is slower than windows are long")

func newLoop(source Source, s settings) *loop {
	if s.clock == nil {
		s.clock = time.Now
	}
	return &loop{
		source:   source,
		settings: s,
		wake:     make(chan struct{}, 1),
		plan:     newPlan(source.Limits(), s.outage, s.clock()),
	}
}

// first takes the first leases, of the present window and the next one. If it gets neither, it fails, unless
// waiting helps within the time of WithWait. Losing a race to others does not use up that time.
func (l *loop) first(ctx context.Context) ([]randflake.Lease, error) {
	deadline := l.clock().Add(l.waits)
	for {
		present := l.plan.limits.WindowOf(l.clock())
		leases, err := l.take(ctx, present, present+1)
		var wait *WaitError
		switch {
		case l.stale():
			l.copied() // the leases are the original's
		case len(leases) > 0:
			return leases, nil
		case errors.Is(err, errBusy) && ctx.Err() == nil:
			l.logger.Info("randflake: waiting for the first lease",
				"error", err, "space", l.source.String(), "label", l.label)
		case errors.As(err, &wait) && !wait.Until.After(deadline):
			l.logger.Warn("randflake: waiting for the first lease",
				"until", wait.Until, "error", err, "space", l.source.String(), "label", l.label)
			pause := max(wait.Until.Sub(l.clock()), 0) + rand.N(shortestPause)
			if sleep(ctx, pause) != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// start goes on in the background. The generator was made with the first of the leases, and queue takes the
// others.
func (l *loop) start(ctx context.Context, queue handover.Queue[randflake.Lease], leases []randflake.Lease) {
	l.queue = queue
	l.leased(leases[0])
	for _, lease := range leases[1:] {
		l.add(lease)
	}
	pause := l.step(ctx)
	background, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.running.Go(func() { l.run(background, pause) })
}

func (l *loop) close() {
	l.stop()
	l.running.Wait()
}

// wakeUp makes the loop try now. It returns at once and is safe for concurrent use.
func (l *loop) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) run(ctx context.Context, pause time.Duration) {
	for l.wait(ctx, pause) {
		pause = l.step(ctx)
	}
}

// wait returns after the pause, or when a caller was refused. If callers are refused all the time, there is a
// try every second. It returns false when the loop is closed.
func (l *loop) wait(ctx context.Context, pause time.Duration) bool {
	least := min(pause, shortestPause)
	if sleep(ctx, least) != nil {
		return false
	}
	timer := time.NewTimer(pause - least)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// step takes what is wanted now, reports, and returns for how long there is nothing to do.
func (l *loop) step(ctx context.Context) (pause time.Duration) {
	missing, err := l.fill(ctx)
	now := l.clock()
	_, asked := l.plan.asked[l.plan.limits.WindowOf(now)]
	if err == nil && !asked {
		err = errLate
	}
	l.report(now, cmp.Or(err, missing))
	if err == nil {
		l.backoff = 0
		return l.plan.next(now).Sub(now)
	}

	most := longestPause
	if l.isUrgent() {
		most = urgentPause
	}
	l.backoff = min(max(2*l.backoff, shortestPause), most)
	pause = l.backoff/2 + rand.N(l.backoff/2+1)
	left := max(l.plan.deadline(now).Sub(now), shortestPause/10)
	return min(pause, left)
}

// fill takes leases for the windows that are wanted, the present one first. err says that a take failed.
// missing says why a window has no lease although takes work.
func (l *loop) fill(ctx context.Context) (missing, err error) {
	now := l.clock()
	l.plan.forgetPast(now)
	if l.stale() {
		l.drop()
	}
	present := l.plan.limits.WindowOf(now)
	if l.plan.isLeased(present) && !l.isInForce() {
		delete(l.plan.asked, present) // the clock was set, and the lease is of no use
	}
	last := l.plan.last(now)
	for {
		from, to, found := l.plan.wanted(now, last)
		if !found {
			return l.plan.missing(now), nil
		}
		leases, err := l.take(ctx, from, to)
		if l.stale() { // after the take: if the machine was copied during it, these are the original's
			l.drop()
			continue
		}
		for _, lease := range leases {
			l.add(lease)
		}
		var wait *WaitError
		switch {
		case err == nil:
		case errors.Is(err, ErrAhead) && l.plan.isLeased(present+1): // the source grants less than Limits.Ahead
			return l.plan.missing(now), nil
		case errors.As(err, &wait) && !errors.Is(err, ErrAhead):
			l.plan.refused(from, to, l.clock(), wait)
		default:
			return nil, err
		}
	}
}

// isInForce reports whether the generator has a lease for the present second.
func (l *loop) isInForce() bool {
	err := l.queue.Ready()
	for _, none := range []error{randflake.ErrLeaseNotStarted, randflake.ErrLeaseEnded, randflake.ErrClockBackward} {
		if errors.Is(err, none) {
			return false
		}
	}
	return true
}

// take limits one call, so that a second try fits before IDs end.
func (l *loop) take(ctx context.Context, from, to int64) ([]randflake.Lease, error) {
	limit := longestTry
	if l.isUrgent() {
		limit = urgentTry
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	leases, err := l.source.Take(ctx, from, to, l.nodes)
	if len(leases) == 0 && err == nil {
		err = fmt.Errorf("lease: %s granted nothing, and did not say why", l.source)
	}
	if err != nil {
		l.change(func(s *Status) { s.Failed++ })
	}
	return leases, err
}

// isUrgent reports whether IDs have ended or are about to. Before the first lease it returns false.
func (l *loop) isUrgent() bool {
	return !l.status.End.IsZero() && l.plan.left(l.clock()) < enough
}

// add gives the generator a lease.
func (l *loop) add(lease randflake.Lease) {
	err := l.queue.Add(lease)
	if err != nil { // another take would get the same seconds
		l.plan.asked[l.plan.limits.WindowOf(lease.Start)] = outcome{err: err}
		return
	}
	l.leased(lease)
}

// drop gives up what was leased before this machine became a copy of another one: it is the original's.
func (l *loop) drop() {
	clear(l.plan.asked)
	l.queue.Drop()
	l.copied()
}
