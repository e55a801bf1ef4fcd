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

// A loop takes leases, by its plan, for one keeper, and gives them to the generator. It runs in a
// goroutine of its own.
type loop struct {
	settings // nodes, clock, logger and so on
	source   Source
	queue    handover.Queue[randflake.Lease] // the generator's
	wake     chan struct{}
	stop     context.CancelFunc
	running  sync.WaitGroup

	// Only one goroutine uses these: at first that of Keep, and then that of run. Others read the
	// limits of plan, which never change.
	plan       *plan
	pauseLimit time.Duration // of the last pause after a try that failed; 0 after one that did not

	mu     sync.Mutex
	status Status // only that goroutine changes it, and reads it without mu
}

// A pause after a try that failed is random, up to a limit that grows from shortestPause to
// longestPause. plan.go spreads what is asked for again by the same constants.
const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
)

// How long a try may take. Where less than enough time is left until leases end, it is urgent: then
// tries and pauses are short, so that the next try begins within five seconds. Where enough is
// left, a try leaves the time for an urgent pause and an urgent try.
const (
	enough      = 30 * time.Second
	urgentPause = 2 * time.Second
	urgentTry   = 3 * time.Second
	longestTry  = enough - urgentPause - urgentTry
)

// errLate: the windows that were asked for were over before the call ended, and nobody asked for
// the present one.
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

// first takes the first leases, of the present window and the next one. If it gets neither, it
// fails, unless waiting helps within the time of WithWait. A take that lost a race to other
// processes is tried again without end: only ctx limits that.
func (l *loop) first(ctx context.Context) ([]randflake.Lease, error) {
	deadline := l.clock().Add(l.waits)
	for {
		present := l.plan.limits.WindowOf(l.clock())
		leases, err := l.take(ctx, present, present+1)
		var wait *WaitError
		switch {
		case l.becameCopy():
			l.copied() // the leases are the original's
		case len(leases) > 0:
			return leases, nil
		case errors.Is(err, errBusy) && ctx.Err() == nil: // without a pause: Take has paused already
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

// start goes on in the background. The generator was made with the first of the leases, and queue
// takes the others.
func (l *loop) start(ctx context.Context, queue handover.Queue[randflake.Lease], leases []randflake.Lease) {
	l.queue = queue
	l.leased(leases[0]) // of the present window, or of the next one
	for _, lease := range leases[1:] {
		l.add(lease)
	}
	pause := l.step(ctx) // the first step is Keep's, with its ctx
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

// wait returns after the pause, or when a caller was refused. If callers are refused all the time,
// there is a try every second. It returns false when the loop is closed.
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
	err := l.fill(ctx)
	now := l.clock()
	_, asked := l.plan.asked[l.plan.limits.WindowOf(now)]
	if err == nil && !asked {
		err = errLate
	}
	l.report(now, cmp.Or(err, l.plan.missing(now)))
	if err != nil {
		return l.backOff(now)
	}
	l.pauseLimit = 0
	return l.plan.next(now).Sub(now)
}

// backOff returns a pause after a try that failed, and makes the limit of the next one twice as
// long. The pause ends when the leases do, at the latest.
func (l *loop) backOff(now time.Time) time.Duration {
	longest := longestPause
	if l.isUrgent() {
		longest = urgentPause
	}
	l.pauseLimit = min(max(2*l.pauseLimit, shortestPause), longest)
	pause := l.pauseLimit/2 + rand.N(l.pauseLimit/2+1)

	left := l.plan.deadline(now).Sub(now)
	const least = shortestPause / 10 // even if they are about to end
	return min(pause, max(left, least))
}

// fill takes leases for the windows that are wanted, the present one first. It returns why a take
// failed. If a window has no lease although takes work, there is no error: the plan has the reason.
func (l *loop) fill(ctx context.Context) error {
	now := l.clock()
	l.plan.forgetPast(now)
	if l.becameCopy() {
		l.drop()
	}
	present := l.plan.limits.WindowOf(now)
	if l.plan.isLeased(present) && l.lacksLease() {
		// The clock was set, and in between the generator has given up the lease of this window.
		// Take another one.
		delete(l.plan.asked, present)
	}
	lastWanted := l.plan.lastWanted(now)
	for { // until each of them is leased, refused or given up
		first, last, found := l.plan.wanted(now, lastWanted)
		if !found {
			return nil
		}
		leases, err := l.take(ctx, first, last)
		if l.becameCopy() { // after the take: if the machine was copied during it, these are the original's
			l.drop()
			continue
		}
		for _, lease := range leases {
			l.add(lease)
		}
		var wait *WaitError
		switch {
		case err == nil:
			// Each of these is leased, or given up.
		case errors.Is(err, ErrAhead) && l.plan.isLeased(present+1):
			// The source grants fewer windows ahead than its limits say. The next one is there:
			// enough.
			return nil
		case errors.As(err, &wait) && !errors.Is(err, ErrAhead):
			l.plan.refused(first, last, l.clock(), wait)
		default:
			return err
		}
	}
}

// lacksLease reports whether the generator refuses because it has no lease for the present second.
func (l *loop) lacksLease() bool {
	err := l.queue.Ready()
	return errors.Is(err, randflake.ErrLeaseNotStarted) ||
		errors.Is(err, randflake.ErrLeaseEnded) ||
		errors.Is(err, randflake.ErrClockBackward)
}

// take takes leases in one call, which may last as long as a try.
func (l *loop) take(ctx context.Context, first, last int64) ([]randflake.Lease, error) {
	limit := longestTry
	if l.isUrgent() {
		limit = urgentTry
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	leases, err := l.source.Take(ctx, first, last, l.nodes)
	if len(leases) == 0 && err == nil {
		err = fmt.Errorf("lease: %s granted nothing, and did not say why", l.source)
	}
	if err != nil {
		l.change(func(s *Status) { s.Failed++ })
	}
	return leases, err
}

// isUrgent reports whether leases have ended or are about to. Before the first lease it returns
// false.
func (l *loop) isUrgent() bool {
	return !l.status.End.IsZero() && l.plan.left(l.clock()) < enough
}

// add gives the generator a lease. If the generator refuses the lease, such as a node that is no
// worker of its layout, the window is not asked for again: retry is zero.
func (l *loop) add(lease randflake.Lease) {
	err := l.queue.Add(lease)
	if err != nil {
		l.plan.asked[l.plan.limits.WindowOf(lease.Start)] = outcome{err: err}
		return
	}
	l.leased(lease)
}

// drop gives up what was leased before this machine became a copy of another one: it is the
// original's.
func (l *loop) drop() {
	clear(l.plan.asked)
	l.queue.Drop()
	l.copied()
}
