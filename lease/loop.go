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

// A loop keeps a generator's queue filled with leases.
type loop struct {
	source Source
	queue  handover.Queue[randflake.Lease]
	settings
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	// Only the goroutine of run uses these.
	started time.Time
	asked   map[int64]outcome // windows that were asked for
	end     time.Time         // of the last lease in use
	stopped time.Time         // since when no ID can be made; zero while they can
	failing bool              // the log has said that takes fail while IDs last
	backoff time.Duration
	odd     int64 // 1 or 0, at random: see last

	mu     sync.Mutex
	status Status // what a step found
}

// An outcome of a take is a lease where err is nil. Otherwise the window is asked for again at retry, or not at all if that is zero.
type outcome struct {
	err   error
	retry time.Time
}

func newLoop(source Source, settings settings) *loop {
	return &loop{
		source:   source,
		settings: settings,
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		started:  settings.clock(),
		asked:    map[int64]outcome{},
		odd:      rand.Int64N(2),
	}
}

// start takes the first leases, makes the queue with the first of them by begin, and goes on in the background. It fails if there is
// no lease for this window or the next.
func (l *loop) start(ctx context.Context, begin func(randflake.Lease) (handover.Queue[randflake.Lease], error)) error {
	leases, err := l.first(ctx)
	if err != nil {
		return fmt.Errorf("lease: keep: %w", err)
	}
	l.queue, err = begin(leases[0])
	if err != nil {
		return fmt.Errorf("lease: keep: %w", err)
	}
	l.leased(leases[0])
	for _, lease := range leases[1:] {
		l.add(lease)
	}
	pause, _ := l.step(ctx)
	background, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.run(background, pause)
	return nil
}

// first takes the first leases, and waits for them for as long as WithWait says. It doesn't count as waiting that others are faster.
func (l *loop) first(ctx context.Context) ([]randflake.Lease, error) {
	deadline := l.clock().Add(l.waits)
	for {
		present := l.source.Limits().WindowOf(l.clock())
		leases, err := l.take(ctx, present, present+1)
		var wait *WaitError
		switch {
		case l.stale():
			l.copied() // the leases are the original's
		case len(leases) > 0:
			return leases, nil
		case errors.Is(err, errBusy) && ctx.Err() == nil:
			l.logger.Info("randflake: waiting for the first lease", "error", err, "space", l.source.String(), "label", l.label)
		case errors.As(err, &wait) && !wait.Until.After(deadline):
			l.logger.Warn("randflake: waiting for the first lease", "until", wait.Until, "error", err, "space", l.source.String(), "label", l.label)
			pause := max(wait.Until.Sub(l.clock()), 0) + rand.N(shortest)
			if sleep(ctx, pause) != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// refused tells the loop that a caller got no ID for want of a lease. It returns at once and is safe for concurrent use.
func (l *loop) refused() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) close() {
	l.stop()
	<-l.done
}

const (
	shortest = time.Second      // between two tries
	longest  = 30 * time.Second // between two tries, while there are leases for longer than this
	urgent   = 2 * time.Second  // between two tries after that
	limit    = 3 * time.Second  // of one try after that: with the pause 5 s
)

var errLate = errors.New("lease: windows ended while nodes of them were taken: this process was paused, or the store is slower than windows are long")

func (l *loop) run(ctx context.Context, pause time.Duration) {
	defer close(l.done)
	for l.wait(ctx, pause) {
		pause, _ = l.step(ctx)
	}
}

// wait returns after the pause, or when a caller was refused. Callers who are refused all the time cause a try a second.
func (l *loop) wait(ctx context.Context, pause time.Duration) bool {
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
	case <-l.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// step takes what is wanted now, tells the log, and returns for how long there is nothing to do.
func (l *loop) step(ctx context.Context) (pause time.Duration, err error) {
	missing, err := l.fill(ctx)
	now := l.clock()
	_, asked := l.asked[l.source.Limits().WindowOf(now)]
	if err == nil && !asked {
		err = errLate
	}
	why := cmp.Or(err, missing)
	l.report(now, why)
	if err == nil {
		l.backoff = 0
		return l.next(now).Sub(now), why
	}
	l.backoff = min(max(2*l.backoff, shortest), l.pressed(longest, urgent))
	left := max(l.border(now).Sub(now), shortest/10)
	return min(left, l.backoff/2+rand.N(l.backoff/2+1)), why
}

// fill takes leases for the windows that are wanted, the present one first. missing says why it must do without some.
func (l *loop) fill(ctx context.Context) (missing, err error) {
	now := l.clock()
	present := l.source.Limits().WindowOf(now)
	maps.DeleteFunc(l.asked, func(window int64, _ outcome) bool { return window < present })
	if l.stale() {
		l.drop()
	}
	if l.isLeased(present) {
		switch err := l.queue.Ready(); {
		case errors.Is(err, randflake.ErrLeaseNotStarted), errors.Is(err, randflake.ErrLeaseEnded), errors.Is(err, randflake.ErrClockBackward):
			delete(l.asked, present) // the clock was set, so that the lease is of no use
		}
	}
	last := l.last(now)
	for {
		from, to, found := l.wanted(now, present, last)
		if !found {
			return l.missing(present), nil
		}
		leases, err := l.take(ctx, from, to)
		if l.stale() { // asked last, because a generator made from these leases would count them as the copy's own
			l.drop()
			continue
		}
		for _, lease := range leases {
			l.add(lease)
		}
		if err != nil && !l.settle(from, to, err) {
			if errors.Is(err, ErrAhead) && l.isLeased(present+1) {
				err = nil
			}
			return l.missing(present), err
		}
	}
}

// wanted returns the first windows in a row, of first to last, that are to be asked for now.
func (l *loop) wanted(now time.Time, first, last int64) (from, to int64, found bool) {
	for window := first; window <= last; window++ {
		o, asked := l.asked[window]
		again := !o.retry.IsZero() && !now.Before(o.retry)
		switch {
		case asked && !again && found:
			return from, to, true
		case asked && !again:
		case found:
			to = window
		default:
			from, to, found = window, window, true
		}
	}
	return from, to, found
}

// add gives the generator a lease.
func (l *loop) add(lease randflake.Lease) {
	if err := l.queue.Add(lease); err != nil { // another take would get the same seconds
		l.asked[l.source.Limits().WindowOf(lease.Start)] = outcome{err: err}
		return
	}
	l.leased(lease)
}

// leased notes a lease that the generator has.
func (l *loop) leased(lease randflake.Lease) {
	l.asked[l.source.Limits().WindowOf(lease.Start)] = outcome{}
	l.count(func(s *Status) { s.Taken++ })
	l.logger.Info("randflake: leased", "first", lease.FirstNode, "last", lease.LastNode, "start", lease.Start, "end", lease.End, "label", l.label)
}

// settle notes why windows that were asked for are not leased, and reports whether that settles them. A full one stays full. After
// a loss they are asked for again when it is over, by processes that have leases left later than by those that have none.
func (l *loop) settle(from, to int64, err error) bool {
	var wait *WaitError
	if !errors.As(err, &wait) || errors.Is(err, ErrAhead) {
		return false
	}
	now := l.clock()
	spread := shortest
	if l.covered(now) > 4*longest {
		spread = longest
	}
	over := wait.Until
	if over.Before(now) {
		over = now // the clock that decides is behind this one
	}
	retry := over.Add(rand.N(spread))
	for window := from; window <= to; window++ {
		if _, asked := l.asked[window]; asked && l.asked[window].retry.IsZero() {
			continue
		}
		if errors.Is(err, ErrFull) {
			l.asked[window] = outcome{err: err}
			return true // of the others this is not known
		}
		l.asked[window] = outcome{err, retry}
	}
	return true
}

// missing returns why there is no lease for the first window, from the present one on, that has none though it was asked for.
func (l *loop) missing(present int64) error {
	for window := present; ; window++ {
		o, asked := l.asked[window]
		if !asked || o.err != nil {
			return o.err
		}
	}
}

// drop forgets what was leased before this machine became a copy of another one: it is the original's.
func (l *loop) drop() {
	clear(l.asked)
	l.queue.Drop()
	l.copied()
}

func (l *loop) copied() {
	l.count(func(s *Status) { s.Copies++ })
	l.logger.Warn("randflake: this machine is a copy of another one: its leases are left to that", "label", l.label)
}

// take limits one call, so that a second try fits before IDs end.
func (l *loop) take(ctx context.Context, from, to int64) ([]randflake.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.pressed(longest, limit))
	defer cancel()
	leases, err := l.source.Take(ctx, from, to, l.nodes)
	if len(leases) == 0 && err == nil {
		err = fmt.Errorf("lease: %s granted nothing, and did not say why", l.source)
	}
	if err != nil {
		l.count(func(s *Status) { s.Failed++ })
	}
	return leases, err
}

// depth returns how many windows beyond the present one are wanted, and how many are taken at once: two if the limits allow it.
// There is enough that the outage is left just before the next take. A process that crashes in its first window, again and again,
// takes one.
func (l *loop) depth(now time.Time) (ahead, step int64) {
	limits := l.source.Limits()
	if now.Sub(l.started) < limits.Window {
		return 1, 1
	}
	outage := max(l.outage, limits.afterLoss())
	windows := int64((outage + limits.Window - 1) / limits.Window)
	if windows+2 <= limits.Ahead {
		return windows + 2, 2
	}
	return min(windows+1, limits.Ahead), 1
}

// last returns the last window that is wanted. Where two are taken at once, one half of the processes does so in odd windows.
func (l *loop) last(now time.Time) int64 {
	ahead, step := l.depth(now)
	last := l.source.Limits().WindowOf(now) + ahead
	if step == 2 && last%2 != l.odd {
		last--
	}
	return last
}

// next returns when there is something to do again: when the next windows are taken, or asked for again.
func (l *loop) next(now time.Time) time.Time {
	limits := l.source.Limits()
	next := l.due(now)
	for _, o := range l.asked {
		if !o.retry.IsZero() && o.retry.Before(next) {
			next = o.retry
		}
	}
	lived := l.started.Add(limits.Window)
	if now.Before(lived) {
		lived = lived.Add(rand.N(limits.Window / 2))
		if lived.Before(next) {
			next = lived
		}
	}
	return next
}

// due returns a random moment, so that processes don't call at once, of the window in which the next ones are taken; or the border,
// if that is earlier.
func (l *loop) due(now time.Time) time.Time {
	limits := l.source.Limits()
	border := l.border(now)
	ahead, step := l.depth(now)
	last := limits.WindowOf(l.coveredUntil(now)) - 1
	take := max(limits.WindowOf(now)+1, last-ahead+step)
	part := limits.Window * 3 / 4
	if step == 2 {
		part = limits.Window
	}
	due := limits.start(take).Add(rand.N(part))
	if border.Before(due) {
		return border
	}
	return due
}

// border returns when something must be done at last: when the leases end, or where there is none when the next window begins.
func (l *loop) border(now time.Time) time.Time {
	if end := l.coveredUntil(now); end.After(now) {
		return end
	}
	limits := l.source.Limits()
	return limits.start(limits.WindowOf(now) + 1)
}

// isLeased reports whether there is a lease of a window.
func (l *loop) isLeased(window int64) bool {
	o, asked := l.asked[window]
	return asked && o.err == nil
}

// coveredUntil returns until when there are leases without a gap, or now if there is none now.
func (l *loop) coveredUntil(now time.Time) time.Time {
	limits := l.source.Limits()
	window := limits.WindowOf(now)
	if !l.isLeased(window) {
		return now
	}
	for l.isLeased(window) {
		window++
	}
	return limits.start(window)
}

func (l *loop) covered(now time.Time) time.Duration { return l.coveredUntil(now).Sub(now) }

// pressed returns the second duration if IDs have ended or are about to, and otherwise the first.
func (l *loop) pressed(calm, pressed time.Duration) time.Duration {
	if !l.end.IsZero() && l.covered(l.clock()) < longest {
		return pressed
	}
	return calm
}

// report writes a line when takes begin to fail, when IDs stop, and when they go on.
func (l *loop) report(now time.Time, why error) {
	end := l.coveredUntil(now)
	left := end.After(now)
	switch {
	case !left && l.stopped.IsZero():
		l.stopped = now
		if !l.end.IsZero() && l.end.Before(now) {
			l.stopped = l.end
		}
		l.logger.Error("randflake: no lease: no ID can be made", "since", l.stopped, "error", why, "space", l.source.String(), "label", l.label)
	case left && !l.stopped.IsZero():
		l.logger.Info("randflake: leased again: IDs go on", "after", now.Sub(l.stopped), "label", l.label)
		l.stopped = time.Time{}
	case left && why != nil && !l.failing:
		l.logger.Warn("randflake: no further leases: IDs last until these end", "until", end, "error", why, "space", l.source.String(), "label", l.label)
	}
	l.failing = why != nil
	if left {
		l.end = end
	}
	l.count(func(s *Status) {
		s.End = l.end
		s.Err = why
		s.Stopped = l.stopped
	})
}

// count changes the status.
func (l *loop) count(change func(*Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.status)
}
