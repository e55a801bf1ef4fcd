// Package plan says which windows a keeper takes, and when. It is arithmetic alone: it calls nobody.
package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is that of one keeper. It has an outcome of each window that is not over and was asked for:
// leased, refused until a time, or given up.
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
type Plan struct {
	window  time.Duration
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

// The pause after a take that failed is random, up to a limit that grows from FirstLimit to
// LongestPause. What was refused is asked for again after a time that is spread by these two.
const (
	FirstLimit   = time.Second
	LongestPause = 30 * time.Second
)

// New returns a plan by which leases outlive an outage at any time, as far as at most mostAhead
// windows after the present one allow.
func New(window time.Duration, mostAhead int64, outage time.Duration, started time.Time) *Plan {
	windows := int64(outage / window)
	if outage%window > 0 {
		windows++
	}
	// One more is wanted, as the present window may be almost over when the outage begins. Another
	// one lets a take wait until a pair of windows is wanted.
	windows += 2
	return &Plan{
		window:  window,
		started: started,
		ahead:   min(windows, mostAhead),
		pairs:   windows <= mostAhead,
		odd:     rand.Int64N(2),
		asked:   map[int64]outcome{},
	}
}

// Forget forgets windows that are over, and those that are to be asked for again by now.
func (p *Plan) Forget(now time.Time) {
	present := p.windowOf(now)
	maps.DeleteFunc(p.asked, func(window int64, o outcome) bool {
		again := !o.retry.IsZero() && !now.Before(o.retry)
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
	if p.pairs && last%2 != p.odd {
		last-- // it is wanted together with the one after it
	}
	return last
}

// Wanted returns the windows that the next take should ask for: the first consecutive ones of those
// that are wanted and have no outcome.
func (p *Plan) Wanted(now time.Time) (first, last int64, found bool) {
	first = p.windowOf(now)
	end := p.LastWanted(now) + 1
	for first < end && p.IsAsked(first) {
		first++
	}
	after := first
	for after < end && !p.IsAsked(after) {
		after++
	}
	return first, after - 1, first < after
}

// IsAsked reports whether a window has an outcome.
func (p *Plan) IsAsked(window int64) bool {
	_, asked := p.asked[window]
	return asked
}

// Leased notes that the generator has a lease of a window.
func (p *Plan) Leased(window int64) { p.asked[window] = outcome{} }

// GaveUp notes that a window is not asked for again, and why.
func (p *Plan) GaveUp(window int64, why error) { p.asked[window] = outcome{err: why} }

// AskAgain makes a window wanted again, whatever came of it.
func (p *Plan) AskAgain(window int64) { delete(p.asked, window) }

// ForgetAll makes all windows wanted again.
func (p *Plan) ForgetAll() { clear(p.asked) }

// Refused notes that the windows of a take that have no outcome yet were refused, and until when it
// makes no sense to ask again. why is that of the first of them, and counts for all. Processes that
// have leases for some time ask later than those that have none.
func (p *Plan) Refused(first, last int64, now time.Time, until time.Time, why error) {
	spread := FirstLimit
	if p.Left(now) > 4*LongestPause {
		spread = LongestPause
	}
	if until.Before(now) {
		until = now // the clock that decides is behind this one
	}
	retry := until.Add(rand.N(spread))
	for window := first; window <= last; window++ {
		if !p.IsAsked(window) {
			p.asked[window] = outcome{why, retry}
		}
	}
}

// gap returns the first window without a lease, from the present one on.
func (p *Plan) gap(now time.Time) int64 {
	window := p.windowOf(now)
	for p.IsLeased(window) {
		window++
	}
	return window
}

// Missing returns why the gap has no lease, or nil if nobody has asked for that window.
func (p *Plan) Missing(now time.Time) error { return p.asked[p.gap(now)].err }

func (p *Plan) IsLeased(window int64) bool {
	o, asked := p.asked[window]
	return asked && o.err == nil
}

// End returns until when there are leases without a gap. If the present window has none, that is
// when it began.
func (p *Plan) End(now time.Time) time.Time { return p.start(p.gap(now)) }

// Left returns for how long there are leases without a gap: for zero or less if the present window
// has none.
func (p *Plan) Left(now time.Time) time.Duration { return p.End(now).Sub(now) }

// Deadline returns when something must be done at last: when the leases end, or when the next
// window begins if the present one has no lease.
func (p *Plan) Deadline(now time.Time) time.Time {
	return p.start(max(p.gap(now), p.windowOf(now)+1))
}

// Next returns when there is something to do again: when further windows are wanted, or one that was
// refused, or the leases end.
func (p *Plan) Next(now time.Time) time.Time {
	times := []time.Time{p.due(now), p.Deadline(now)}
	for _, o := range p.asked {
		if !o.retry.IsZero() {
			times = append(times, o.retry)
		}
	}
	lived := p.started.Add(p.window)
	if now.Before(lived) { // from then on more windows are wanted: see LastWanted
		times = append(times, lived.Add(rand.N(p.window/2)))
	}
	return slices.MinFunc(times, time.Time.Compare)
}

// due returns a moment of the next window in which a window without a lease is wanted. It is random,
// so that processes don't call at once.
func (p *Plan) due(now time.Time) time.Time {
	gap := p.gap(now)
	begin := p.start(p.windowOf(now) + 1)
	for p.LastWanted(begin) < gap {
		begin = begin.Add(p.window)
	}
	span := p.window
	if p.LastWanted(begin) == gap {
		span = span * 3 / 4 // the leases may end with this window: the rest of it is left to try again
	}
	return begin.Add(rand.N(span))
}

// Clone returns a plan of the same outcomes.
func (p *Plan) Clone() *Plan {
	clone := *p
	clone.asked = maps.Clone(p.asked)
	return &clone
}

// Len returns how many windows have an outcome.
func (p *Plan) Len() int { return len(p.asked) }

func (p *Plan) windowOf(t time.Time) int64 { return t.Unix() / int64(p.window/time.Second) }

// start returns the first second of a window.
func (p *Plan) start(window int64) time.Time {
	return time.Unix(window*int64(p.window/time.Second), 0).UTC()
}
