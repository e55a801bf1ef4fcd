// Package plan says which windows a keeper takes, and when. It calls nothing. What it draws at random
// spreads the calls of processes.
package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan notes, for one keeper, what came of each window that it asked for: leased, put off until a time, or
// given up. A window without an outcome is still to be asked for. The gap is the first window without a lease,
// from the present one on: before it leases follow each other. A Plan is not safe for concurrent use.
//
// A keeper begins with the present window and the next one. When it has lived a window it takes as
// many as the outage needs, and from then on two windows every second window. With windows of a
// minute, an outage of three minutes, and pairs that end with an odd window:
//
//	in window   it leases
//	100         100 101
//	101         102 103 104 105
//	102         106 107           at the end of 102 it still had 103 to 105: three minutes
//	104         108 109
//
// If pairs end with an even window, it takes one window more in 101, and the pairs in 103, 105 and so on.
type Plan struct {
	window   time.Duration
	started  time.Time
	ahead    int64             // how many windows after the present one are wanted, once the keeper is a window old
	pairs    bool              // two windows are taken at once
	parity   int64             // of the window that ends a pair, at random: 1 for odd, 0 for even
	outcomes map[int64]outcome // by window
}

// An outcome is what came of asking for a window.
type outcome struct {
	leased bool
	err    error     // why there is no lease
	retry  time.Time // when to ask again if the window was put off, or zero
}

func (o outcome) isPutOff() bool { return !o.retry.IsZero() }

// Windows that were put off are asked for again at a random time after their wait: within spreadSoon,
// or within spreadLate by processes that have leases for a while.
const (
	spreadSoon = time.Second
	spreadLate = 30 * time.Second
)

// New returns a plan whose leases outlive an outage of that length, whenever it begins. It wants at
// most mostAhead windows after the present one.
func New(window time.Duration, mostAhead int64, outage time.Duration, started time.Time) *Plan {
	windows := int64(outage / window)
	if outage%window > 0 {
		windows++
	}
	windows++                // the present window may be almost over when the outage begins
	withPairs := windows + 1 // so that a take can wait until two windows are wanted
	return &Plan{
		window:   window,
		started:  started,
		ahead:    min(withPairs, mostAhead),
		pairs:    withPairs <= mostAhead,
		parity:   rand.Int64N(2),
		outcomes: map[int64]outcome{},
	}
}

// Expire forgets windows that are over, and the outcome of those that are to be asked for again by now.
func (p *Plan) Expire(now time.Time) {
	present := p.windowOf(now)
	maps.DeleteFunc(p.outcomes, func(window int64, o outcome) bool {
		again := o.isPutOff() && !now.Before(o.retry)
		return window < present || again
	})
}

// LastWanted returns the last window that is wanted at a time. In its first window a process wants
// the next one alone, so that one that crashes again and again takes few.
func (p *Plan) LastWanted(now time.Time) int64 {
	present := p.windowOf(now)
	if now.Sub(p.started) < p.window {
		return present + 1
	}
	last := present + p.ahead
	if p.pairs && last%2 != p.parity {
		last-- // it is wanted together with the one after it
	}
	return last
}

// Wanted returns the windows that the next take should ask for: the first consecutive ones of those
// that are wanted and have no outcome.
func (p *Plan) Wanted(now time.Time) (first, last int64, found bool) {
	first = p.windowOf(now)
	end := p.LastWanted(now) + 1
	for first < end && p.HasOutcome(first) {
		first++
	}
	after := first
	for after < end && !p.HasOutcome(after) {
		after++
	}
	return first, after - 1, first < after
}

// HasOutcome reports whether a window has an outcome.
func (p *Plan) HasOutcome(window int64) bool {
	_, has := p.outcomes[window]
	return has
}

// IsLeased reports whether the generator has a lease of a window.
func (p *Plan) IsLeased(window int64) bool {
	return p.outcomes[window].leased
}

// NoteLeased notes that the generator has a lease of a window.
func (p *Plan) NoteLeased(window int64) { p.outcomes[window] = outcome{leased: true} }

// NoteGivenUp notes that a window is not asked for again, and why.
func (p *Plan) NoteGivenUp(window int64, why error) { p.outcomes[window] = outcome{err: why} }

// NotePutOff puts windows off, except for those that have an outcome. They are asked for again soon
// after until, which is by the clock that decides. now is by this machine's.
func (p *Plan) NotePutOff(first, last int64, now, until time.Time, why error) {
	spread := spreadSoon
	if p.Left(now) > 4*spreadLate {
		spread = spreadLate
	}
	if until.Before(now) {
		until = now // the clock that decides is behind
	}
	retry := until.Add(rand.N(spread))
	for window := first; window <= last; window++ {
		if !p.HasOutcome(window) {
			p.outcomes[window] = outcome{err: why, retry: retry}
		}
	}
}

// AskAgain makes a window wanted again, whatever came of it.
func (p *Plan) AskAgain(window int64) { delete(p.outcomes, window) }

// AskAllAgain makes all windows wanted again.
func (p *Plan) AskAllAgain() { clear(p.outcomes) }

// Missing returns why the gap has no lease, or nil if that window was not asked for.
func (p *Plan) Missing(now time.Time) error { return p.outcomes[p.gap(now)].err }

// What is left of the leases, where the present window has one, and where it has none:
//
//	| leased | leased | no lease           | no lease | leased
//	    now           gap                  gap  now
//	                  End                  End
//	                  Deadline                        Deadline

// gap returns the first window without a lease: the present one or a later one.
func (p *Plan) gap(now time.Time) int64 {
	window := p.windowOf(now)
	for p.IsLeased(window) {
		window++
	}
	return window
}

// End returns until when there are leases without a gap. If the present window has none, that is when it began.
func (p *Plan) End(now time.Time) time.Time { return p.start(p.gap(now)) }

// Left returns for how long there are leases without a gap: for zero or less if the present window has none.
func (p *Plan) Left(now time.Time) time.Duration { return p.End(now).Sub(now) }

// Deadline returns when something must be done at last: when the leases end, or when the next
// window begins if the present one has no lease.
func (p *Plan) Deadline(now time.Time) time.Time {
	return p.start(max(p.gap(now), p.windowOf(now)+1))
}

// Next returns when there is something to do again: the first time at which the gap is to be taken, or a
// window that was put off is to be asked for again, or the leases end, or the keeper has lived a window.
func (p *Plan) Next(now time.Time) time.Time {
	times := []time.Time{p.nextTake(now), p.Deadline(now)}
	for _, o := range p.outcomes {
		if o.isPutOff() {
			times = append(times, o.retry)
		}
	}
	lived := p.started.Add(p.window)
	if now.Before(lived) { // from then on more windows are wanted: see LastWanted
		times = append(times, lived.Add(rand.N(p.window/2)))
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// nextTake returns when to take the gap. It is wanted from the beginning of some window after the present
// one, and the time is a random one within that window.
func (p *Plan) nextTake(now time.Time) time.Time {
	gap := p.gap(now)
	begin := p.start(p.windowOf(now) + 1)
	for p.LastWanted(begin) < gap {
		begin = begin.Add(p.window)
	}
	within := p.window
	if p.LastWanted(begin) == gap { // leases may end with that window: its rest is left to try again
		within = within * 3 / 4
	}
	return begin.Add(rand.N(within))
}

// Clone returns a plan of the same outcomes.
func (p *Plan) Clone() *Plan {
	clone := *p
	clone.outcomes = maps.Clone(p.outcomes)
	return &clone
}

// windowOf and start are those of lease.Limits, which this package can't import.
func (p *Plan) windowOf(t time.Time) int64 { return t.Unix() / int64(p.window/time.Second) }

func (p *Plan) start(window int64) time.Time {
	return time.Unix(window*int64(p.window/time.Second), 0).UTC()
}
