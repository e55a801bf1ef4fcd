package snowflake

import (
	"fmt"
	"time"
)

// A policy is what a generator does when a unit of time has no ID left, and when the clock steps back. Whatever that
// is, no ID is made twice, and no unit has more IDs than its sequence has numbers.
type policy struct {
	ahead    time.Duration // how far ahead of the clock units may be used
	stepBack bool          // go along with a clock that steps back, rather than hold the newest unit
	scatter  uint64        // units begin at a random sequence below this, when not 0
}

const (
	// clockTolerance is how far the clock may step back while the newest unit is held.
	clockTolerance = 10 * time.Second

	// catchUp is how late a unit may still be used in full after callers waited for it. It is several times what timers
	// are late, so that callers that wait for the next unit lose none.
	catchUp = 20 * time.Millisecond
)

// RunAhead has the generator go on in the following units when all IDs of a unit are used up, until the next one is
// more than limit ahead of the clock, or at the end of the lease. Only then it refuses, or waits. Limit is at least a
// unit of the layout, or 0.
//
// The IDs carry times that are yet to come. A clock that steps back by what is left of the limit goes unnoticed. A
// generator that replaces one which ran ahead on the same worker has to start where that one's time ended: keep the
// limit below the time that a restart may take.
func RunAhead(limit time.Duration) Option {
	return Option{func(s *settings) error {
		if limit < 0 {
			return invalidOption("RunAhead", limit, "0 or more")
		}
		s.policy.ahead = limit
		return nil
	}}
}

// StepBack has the generator go along with a clock that steps back behind the newest unit used, by raising the rollback
// field, which the layout must have. The field's range bounds how often that is possible under one lease: 3 times for 2
// bits. After that the generator refuses with ErrClockBackward until the clock is back, or another lease replaces this
// one; extending the lease does not help. IDs from after a step sort before those of the same time from before it.
func StepBack() Option {
	return Option{func(s *settings) error { s.policy.stepBack = true; return nil }}
}

// RandomStart has each new unit's sequence begin at random in [0, n), so that what shards by the lowest bits of an ID
// is not skewed when few IDs are made: without it most end in sequence 0. It costs the IDs below the start: half of n
// in each unit on the average. A unit that follows a used-up one begins at 0 all the same. At most, n is the number of
// sequence numbers.
func RandomStart(n uint64) Option {
	return Option{func(s *settings) error {
		if n == 0 {
			return invalidOption("RandomStart", n, "at least 1")
		}
		s.policy.scatter = n
		return nil
	}}
}

// check returns an error that wraps ErrInvalidOption when a policy does not go with a layout.
func (p policy) check(l *Layout) error {
	switch {
	case p.ahead > 0 && p.ahead < l.Unit():
		return invalidOption("RunAhead", p.ahead, fmt.Sprintf("0 or at least %s, the unit of layout %s", l.Unit(), l.name))
	case p.scatter > l.sequence.max()+1:
		return invalidOption("RandomStart", p.scatter, fmt.Sprintf("at most %d, the sequence numbers of layout %s", l.sequence.max()+1, l.name))
	case p.stepBack && l.rollback.bits == 0:
		return invalidOption("StepBack", l, "a layout with a rollback part")
	}
	return nil
}
