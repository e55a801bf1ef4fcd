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
	outage  time.Duration // the leases should outlive it at any time
	started time.Time
	odd     int64             // 1 or 0, at random: a pair ends with an odd or even window, see above
	asked   map[int64]outcome // by window
}

// An outcome is what came of asking for a window. It is leased if err is nil. Otherwise it is asked
// for again at retry, or never if that is zero.
type outcome struct {
	err   error
	retry time.Time
}

func newPlan(limits Limits, outage time.Duration, started time.Time) *plan {
	return &plan{
		limits:  limits,
		outage:  max(outage, limits.afterLoss()),
		started: started,
		odd:     rand.Int64N(2),
		asked:   map[int64]outcome{},
	}
}

// forgetPast forgets windows that are over.
func (p *plan) forgetPast(now time.Time) {
	present := p.limits.WindowOf(now)
	maps.DeleteFunc(p.asked, func(window int64, _ outcome) bool { return window < present })
}

// depth returns how many windows after the present one are wanted, and how many are taken at once:
// two if the limits allow it. In its first window a process wants the next one alone, so that one
// that crashes again and again takes few.
func (p *plan) depth(now time.Time) (ahead, together int64) {
	if now.Sub(p.started) < p.limits.Window {
		return 1, 1
	}
	windows := int64((p.outage + p.limits.Window - 1) / p.limits.Window) // as long as the outage, rounded up

	// One more is wanted, as the present window may be almost over when the outage begins. Where
	// two are taken at once, another one is: a take waits until both are wanted.
	if windows+2 <= p.limits.Ahead {
		return windows + 2, 2
	}
	return p.limits.Ahead, 1 // which is windows+1 at most
}

// lastWanted returns the last window that is wanted.
func (p *plan) lastWanted(now time.Time) int64 {
	ahead, together := p.depth(now)
	last := p.limits.WindowOf(now) + ahead
	if together == 2 && last%2 != p.odd {
		last-- // it is wanted together with the one after it
	}
	return last
}

// wanted returns the windows that the next take should ask for: the first consecutive ones of those
// that are wanted up to lastWanted.
func (p *plan) wanted(now time.Time, lastWanted int64) (first, last int64, found bool) {
	first = p.limits.WindowOf(now)
	for first <= lastWanted && !p.isWanted(first, now) {
		first++
	}
	end := first
	for end <= lastWanted && p.isWanted(end, now) {
		end++
	}
	return first, end - 1, first < end
}

// isWanted reports whether nobody has asked for a window, or it is time to ask again.
func (p *plan) isWanted(window int64, now time.Time) bool {
	o, asked := p.asked[window]
	again := !o.retry.IsZero() && !now.Before(o.retry)
	return !asked || again
}

// refused notes why windows that were asked for are not leased, and until when it makes no sense to
// ask again. Processes that have leases for some time ask later than those that have none.
func (p *plan) refused(first, last int64, now time.Time, wait *WaitError) {
	spread := shortestPause
	if p.left(now) > 4*longestPause {
		spread = longestPause
	}
	over := wait.Until
	if over.Before(now) {
		over = now // the clock that decides is behind this one
	}
	retry := over.Add(rand.N(spread))
	for window := first; window <= last; window++ {
		o, asked := p.asked[window]
		settled := asked && o.retry.IsZero() // leased by this take, or given up
		if !settled {
			p.asked[window] = outcome{wait, retry}
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

// next returns when there is something to do again: the first moment at which windows are wanted
// that were not asked for, or are to be asked for again.
func (p *plan) next(now time.Time) time.Time {
	times := []time.Time{p.due(now), p.deadline(now)}
	for _, o := range p.asked {
		if !o.retry.IsZero() {
			times = append(times, o.retry)
		}
	}
	lived := p.started.Add(p.limits.Window)
	if now.Before(lived) { // from then on more windows are wanted: see depth
		times = append(times, lived.Add(rand.N(p.limits.Window/2)))
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// due returns a random moment of the window in which the next ones are taken, so that processes
// don't call at once. Where one window is taken at a time, leases may end with that window: so the
// last quarter of it is left to try again.
func (p *plan) due(now time.Time) time.Time {
	present := p.limits.WindowOf(now)
	ahead, together := p.depth(now)
	lastLeased := p.gap(now) - 1
	window := max(present+1, lastLeased+together-ahead) // from it, the next ones are up to ahead away
	span := p.limits.Window
	if together == 1 {
		span = span * 3 / 4
	}
	return p.limits.start(window).Add(rand.N(span))
}
