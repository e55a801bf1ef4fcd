package lease

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// A plan says which windows a keeper takes, and when. It is arithmetic alone: it calls nobody.
//
// A keeper begins with the present window and the next one. When it has lived a window it takes as
// many as the outage needs, and from then on two windows every second window. With windows of a
// minute, an outage of three minutes, and odd 1:
//
//	in window   it leases
//	100         100 101
//	101         102 103 104 105
//	102         106 107           just before, at the end of 102, the leases last for three minutes
//	104         108 109
//
// With odd 0 it takes one window more in 101, and the pairs in 103, 105 and so on.
type plan struct {
	limits  Limits
	started time.Time
	ahead   int64             // how many windows after the present one are wanted, if the process has lived one
	pairs   bool              // two windows are taken at once
	odd     int64             // 1 or 0, at random: a pair ends with an odd or even window, see above
	asked   map[int64]outcome // by window
}

// An outcome is what came of asking for a window. It is leased if err is nil. Otherwise it is asked
// for again at retry, or never if that is zero.
type outcome struct {
	err   error
	retry time.Time
}

// newPlan returns a plan by which leases outlive an outage at any time.
func newPlan(limits Limits, outage time.Duration, started time.Time) *plan {
	outage = max(outage, limits.afterLoss())
	windows := int64(outage / limits.Window)
	if outage%limits.Window > 0 {
		windows++
	}
	// One more is wanted, as the present window may be almost over when the outage begins. Another
	// one lets a take wait until a pair of windows is wanted.
	windows += 2
	return &plan{
		limits:  limits,
		started: started,
		ahead:   min(windows, limits.Ahead),
		pairs:   windows <= limits.Ahead,
		odd:     rand.Int64N(2),
		asked:   map[int64]outcome{},
	}
}

// forget forgets windows that are over, and those that are to be asked for again by now.
func (p *plan) forget(now time.Time) {
	present := p.limits.WindowOf(now)
	maps.DeleteFunc(p.asked, func(window int64, o outcome) bool {
		again := !o.retry.IsZero() && !now.Before(o.retry)
		return window < present || again
	})
}

// lastWanted returns the last window that is wanted at a time. In its first window a process wants
// the next one alone, so that one that crashes again and again takes few.
func (p *plan) lastWanted(now time.Time) int64 {
	present := p.limits.WindowOf(now)
	if now.Sub(p.started) < p.limits.Window {
		return present + 1
	}
	last := present + p.ahead
	if p.pairs && last%2 != p.odd {
		last-- // it is wanted together with the one after it
	}
	return last
}

// wanted returns the windows that the next take should ask for: the first consecutive ones of those
// that are wanted and have no outcome.
func (p *plan) wanted(now time.Time) (first, last int64, found bool) {
	first = p.limits.WindowOf(now)
	end := p.lastWanted(now) + 1
	for first < end && p.isAsked(first) {
		first++
	}
	after := first
	for after < end && !p.isAsked(after) {
		after++
	}
	return first, after - 1, first < after
}

// isAsked reports whether a window has an outcome.
func (p *plan) isAsked(window int64) bool {
	_, asked := p.asked[window]
	return asked
}

// leased notes that the generator has a lease of a window.
func (p *plan) leased(window int64) { p.asked[window] = outcome{} }

// gaveUp notes that a window is not asked for again, and why.
func (p *plan) gaveUp(window int64, why error) { p.asked[window] = outcome{err: why} }

// askAgain makes a window wanted again, whatever came of it.
func (p *plan) askAgain(window int64) { delete(p.asked, window) }

// forgetAll makes all windows wanted again.
func (p *plan) forgetAll() { clear(p.asked) }

// refused notes that the windows of a take that have no outcome yet were refused, and until when it
// makes no sense to ask again. why is that of the first of them, and counts for all. Processes that
// have leases for some time ask later than those that have none.
func (p *plan) refused(first, last int64, now time.Time, why *WaitError) {
	spread := firstLimit
	if p.left(now) > 4*longestPause {
		spread = longestPause
	}
	over := why.Until
	if over.Before(now) {
		over = now // the clock that decides is behind this one
	}
	retry := over.Add(rand.N(spread))
	for window := first; window <= last; window++ {
		if !p.isAsked(window) {
			p.asked[window] = outcome{why, retry}
		}
	}
}

// gap returns the first window without a lease, from the present one on.
func (p *plan) gap(now time.Time) int64 {
	window := p.limits.WindowOf(now)
	for p.isLeased(window) {
		window++
	}
	return window
}

// missing returns why the gap has no lease, or nil if nobody has asked for that window.
func (p *plan) missing(now time.Time) error { return p.asked[p.gap(now)].err }

func (p *plan) isLeased(window int64) bool {
	o, asked := p.asked[window]
	return asked && o.err == nil
}

// end returns until when there are leases without a gap. If the present window has none, that is
// when it began.
func (p *plan) end(now time.Time) time.Time { return p.limits.start(p.gap(now)) }

// left returns for how long there are leases without a gap: for zero or less if the present window
// has none.
func (p *plan) left(now time.Time) time.Duration { return p.end(now).Sub(now) }

// deadline returns when something must be done at last: when the leases end, or when the next
// window begins if the present one has no lease.
func (p *plan) deadline(now time.Time) time.Time {
	return p.limits.start(max(p.gap(now), p.limits.WindowOf(now)+1))
}

// next returns when there is something to do again: when further windows are wanted, or one that was
// refused, or the leases end.
func (p *plan) next(now time.Time) time.Time {
	times := []time.Time{p.due(now), p.deadline(now)}
	for _, o := range p.asked {
		if !o.retry.IsZero() {
			times = append(times, o.retry)
		}
	}
	lived := p.started.Add(p.limits.Window)
	if now.Before(lived) { // from then on more windows are wanted: see lastWanted
		times = append(times, lived.Add(rand.N(p.limits.Window/2)))
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// due returns a moment of the next window in which a window without a lease is wanted. It is random,
// so that processes don't call at once.
func (p *plan) due(now time.Time) time.Time {
	gap := p.gap(now)
	begin := p.limits.start(p.limits.WindowOf(now) + 1)
	for p.lastWanted(begin) < gap {
		begin = begin.Add(p.limits.Window)
	}
	span := p.limits.Window
	if p.lastWanted(begin) == gap {
		span = span * 3 / 4 // the leases may end with this window: the rest of it is left to try again
	}
	return begin.Add(rand.N(span))
}
