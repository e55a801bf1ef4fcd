package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease/internal/plan"
)

// A loop takes leases for one keeper, and gives them to the generator.
//
//   - takeFirst takes the leases with which Keep makes the generator.
//   - start adds what takeFirst took beyond that, and makes the first step. Both are still in the
//     goroutine of Keep.
//   - run makes the further steps, in a goroutine of its own, until close.
//   - step takes the windows that are wanted now, and says how long to wait for the next step.
//
// The plan says which windows are wanted, and when. A window without an outcome there is still to be
// asked for.
type loop struct {
	settings // by the options of Keep: l.nodes, l.longestWait, l.logger, l.label and l.clock
	source   Source
	queue    handover.Queue[randflake.Lease] // the generator's
	wake     chan struct{}                   // has one element if wakeUp was called: see pauseFor
	stop     context.CancelFunc              // ends run
	running  sync.WaitGroup                  // for run

	limits Limits // of the source

	// Only one goroutine uses these: at first that of Keep, and then that of run.
	plan       *plan.Plan
	machine    vmgen.Generation // as noticeCopy has last seen it
	pauseLimit time.Duration    // see backOff; 0 if the last step did not fail

	mu     sync.Mutex
	status Status // the one goroutine that uses plan changes it, and reads it without mu
}

// shortestPause is that after a step that failed: see package plan for how pauses grow.
const shortestPause = time.Second / 10

// deafFor is how long a pause lasts before a refused caller can end it. So refusals cause at most
// one step a second.
const deafFor = time.Second

// A take is urgent if the leases end in less than urgentBelow. Urgent takes and pauses are short, so
// that the next take begins within five seconds. A take that is not urgent ends while there is time
// for an urgent pause and an urgent take.
const (
	urgentBelow = 30 * time.Second
	urgentPause = 2 * time.Second
	urgentTake  = 3 * time.Second
	longestTake = urgentBelow - urgentPause - urgentTake
)

// errLate: a step did not ask for the window that was present when it ended. The windows that it
// asked for were over by then, or the clock was set back meanwhile.
var errLate = errors.New("lease: windows ended while nodes of them were taken: " +
	"this process was paused, its clock was set, or the store is slower than windows are long")

func newLoop(source Source, s settings) *loop {
	if s.clock == nil {
		s.clock = time.Now // in this copy of s alone
	}
	limits := source.Limits()
	return &loop{
		source:   source,
		settings: s,
		wake:     make(chan struct{}, 1),
		limits:   limits,
		plan:     plan.New(limits.Window, limits.Ahead, max(s.outage, limits.afterLoss()), s.clock()),
		machine:  vmgen.Now(),
	}
}

// takeFirst takes leases of the present window and the next one. One of them will do. If there is
// none, it returns why, but takes again if the machine was copied during the take, or if awaitRetry
// says so.
func (l *loop) takeFirst(ctx context.Context) ([]randflake.Lease, error) {
	deadline := l.clock().Add(l.longestWait)
	for {
		present := l.limits.WindowOf(l.clock())
		leases, err := l.take(ctx, present, present+1)
		if l.noticeCopy() {
			l.reportCopy()
			continue // the leases are the original's: take others at once
		}
		if len(leases) > 0 {
			return leases, nil
		}
		if !l.awaitRetry(ctx, err, deadline) {
			return nil, err
		}
	}
}

// awaitRetry reports whether takeFirst is to take again after err, and waits until then. While ctx
// lasts, that is so if the take lost a race to other processes, or if waiting helps by the deadline.
func (l *loop) awaitRetry(ctx context.Context, err error, deadline time.Time) (again bool) {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, errBusy) {
		l.logger.Info("randflake: waiting for the first lease",
			"error", err, "space", l.source.String(), "label", l.label)
		return true // at once: Take has paused already
	}
	refusal, ok := errors.AsType[*WaitError](err)
	if !ok {
		return false
	}
	now := l.clock()
	pause := max(refusal.Until.Sub(now), 0) // 0 if the clock that decides is behind this one
	if now.Add(pause).After(deadline) {
		return false
	}
	l.logger.Warn("randflake: waiting for the first lease",
		"until", refusal.Until, "error", err, "space", l.source.String(), "label", l.label)
	return sleep(ctx, pause+rand.N(plan.FirstLimit)) == nil
}

// start gives the generator the leases that takeFirst took, and goes on in the background. leases[0]
// is in the generator already, as it was made with that. The others are added to queue.
func (l *loop) start(ctx context.Context, queue handover.Queue[randflake.Lease], leases []randflake.Lease) {
	l.queue = queue
	l.leased(leases[0]) // of the present window, or of the next one
	for _, lease := range leases[1:] {
		l.add(lease)
	}
	pause := l.step(ctx) // with the ctx of Keep
	background, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.running.Go(func() { l.run(background, pause) })
}

func (l *loop) close() {
	l.stop()
	l.running.Wait()
}

// wakeUp shortens the pause, as a caller was refused. It returns at once and is safe for concurrent
// use.
func (l *loop) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) run(ctx context.Context, pause time.Duration) {
	for l.pauseFor(ctx, pause) {
		pause = l.step(ctx)
	}
}

// pauseFor waits for the pause. After deafFor it also ends when a caller is refused. It returns
// false once the loop is closed.
func (l *loop) pauseFor(ctx context.Context, pause time.Duration) bool {
	deaf := min(pause, deafFor)
	if sleep(ctx, deaf) != nil {
		return false
	}
	select {
	case <-time.After(pause - deaf):
	case <-l.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// step takes the windows that are wanted now, reports, and returns for how long there is nothing to
// do.
func (l *loop) step(ctx context.Context) (pause time.Duration) {
	err := l.takeWanted(ctx)
	now := l.clock()

	// takeWanted asked for the window that was present when it began. If the clock has moved since
	// then, to a window that was not asked for, the step failed.
	if err == nil && !l.plan.IsAsked(l.limits.WindowOf(now)) {
		err = errLate
	}

	// A window that was refused is no failure of the step, but it is reported.
	l.report(now, cmp.Or(err, l.plan.Missing(now)))
	if err != nil {
		return l.backOff(now)
	}
	l.pauseLimit = 0
	return l.plan.Next(now).Sub(now)
}

// backOff returns the pause after a step that failed. It doubles the limit, and takes a random time
// of between half of that and all of it. The pause is no longer than until the leases end, or the
// present window if that has no lease, but at least shortestPause.
func (l *loop) backOff(now time.Time) time.Duration {
	longest := plan.LongestPause
	if l.isUrgent() {
		longest = urgentPause
	}
	l.pauseLimit = min(max(2*l.pauseLimit, plan.FirstLimit), longest)
	pause := l.pauseLimit/2 + rand.N(l.pauseLimit/2+1)

	left := l.plan.Deadline(now).Sub(now)
	return min(pause, max(left, shortestPause))
}

// takeWanted takes leases for the windows that are wanted, the present one first. Each turn of its
// loop asks for some of them. All of these get an outcome, unless the turn ends the loop, or the
// machine was copied meanwhile.
//
// It returns why a take failed. That a take was refused is no error here, unless even the next window
// is too far ahead.
func (l *loop) takeWanted(ctx context.Context) error {
	now := l.clock()
	present := l.limits.WindowOf(now)
	if l.noticeCopy() {
		l.drop()
	}
	l.plan.Forget(now)
	if l.plan.IsLeased(present) && l.lacksLease() {
		// The clock was set back. By then the generator had gone on to a later second, perhaps of a
		// later lease, and does not return to this one. Take another lease.
		l.plan.AskAgain(present)
	}

	for {
		first, last, found := l.plan.Wanted(now)
		if !found {
			return nil
		}
		leases, err := l.take(ctx, first, last)
		if l.noticeCopy() { // after the take: if the machine was copied during it, these are the original's
			l.drop()
			continue // all windows are wanted again
		}
		for _, lease := range leases {
			l.add(lease)
		}
		if err == nil {
			continue // there was a lease of each window, and add noted the outcomes
		}
		if errors.Is(err, ErrAhead) {
			if l.plan.IsAsked(present + 1) {
				return nil // the source grants fewer windows ahead than its limits say: a later step asks again
			}
			return err // not even the next window: the source's clock may be behind this one
		}
		refusal, isRefusal := errors.AsType[*WaitError](err)
		if !isRefusal {
			return err
		}
		l.plan.Refused(first, last, l.clock(), refusal.Until, refusal)
	}
}

// noticeCopy reports whether this machine became a copy of another one since the last call.
func (l *loop) noticeCopy() bool { return l.machine.Renew() }

// lacksLease reports whether the generator refuses because it has no lease for the present second.
func (l *loop) lacksLease() bool {
	err := l.queue.Ready()
	return errors.Is(err, randflake.ErrLeaseNotStarted) ||
		errors.Is(err, randflake.ErrLeaseEnded) ||
		errors.Is(err, randflake.ErrClockBackward)
}

// take takes leases in one call, and bounds how long that lasts. It also checks that the answer is as
// Source says, as services in front of a space are written by others too.
func (l *loop) take(ctx context.Context, first, last int64) ([]randflake.Lease, error) {
	limit := longestTake
	if l.isUrgent() {
		limit = urgentTake
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	leases, err := l.source.Take(ctx, first, last, l.nodes)
	if broken := checkLeases(l.source, leases, first, last, l.nodes); broken != nil {
		leases, err = nil, broken
	}
	windows := last - first + 1
	if err == nil && int64(len(leases)) < windows {
		err = fmt.Errorf("lease: %s granted %d of %d windows, and did not say why", l.source, len(leases), windows)
	}
	if err != nil {
		l.change(func(s *Status) { s.Failed++ })
	}
	return leases, err
}

// isUrgent reports whether the leases end in less than urgentBelow, or have ended. Before the first
// step has reported until when there are leases, it returns false.
func (l *loop) isUrgent() bool {
	return !l.status.End.IsZero() && l.plan.Left(l.clock()) < urgentBelow
}

// add gives the generator a lease. If the generator refuses it, such as one of a node that is no
// worker of its layout, the window is given up: it has an outcome without retry.
func (l *loop) add(lease randflake.Lease) {
	err := l.queue.Add(lease)
	if err != nil {
		l.plan.GaveUp(l.limits.WindowOf(lease.Start), err)
		return
	}
	l.leased(lease)
}

// leased notes a lease that the generator has, in the plan, the status and the log: at the level of
// Debug, as there are many, but for the first one.
func (l *loop) leased(lease randflake.Lease) {
	level := slog.LevelDebug
	if l.status.Taken == 0 {
		level = slog.LevelInfo
	}
	l.plan.Leased(l.limits.WindowOf(lease.Start))
	l.change(func(s *Status) { s.Taken++ })
	l.logger.Log(context.Background(), level, "randflake: leased",
		"first_node", lease.FirstNode, "last_node", lease.LastNode,
		"start", lease.Start, "end", lease.End, "label", l.label)
}

// drop gives up what was leased before this machine became a copy of another one: it is the
// original's.
func (l *loop) drop() {
	l.plan.ForgetAll()
	l.queue.Drop()
	l.reportCopy()
}
