package snowflake

import (
	"fmt"
	"hash/maphash"
	"time"
)

// A policy decides what a generator does if a unit of time has no ID left, or if the clock steps back. Under
// every policy, no ID is made twice, and no unit has more IDs than there are sequence numbers.
type policy struct {
	ahead    time.Duration // how far ahead of the clock units may be used
	stepBack bool          // follow a clock that steps back, instead of holding the newest unit
	random   maphash.Seed  // of the sequences at which units begin; zero if they begin at 0
}

const (
	// clockTolerance is how far the clock may step back while the newest unit is held.
	clockTolerance = 10 * time.Second

	// catchUp is how late a unit may still be used up after callers waited for it. It is several times
	// longer than timers are late, so callers that wait for the next unit don't miss one.
	catchUp = 20 * time.Millisecond
)

// check returns an error that wraps randflake.ErrInvalidOption if a policy does not fit a layout.
func (p policy) check(l *Layout) error {
	switch {
	case p.ahead > 0 && p.ahead < l.tick():
		return invalidOption("RunAhead", p.ahead, fmt.Sprintf("0 or at least %s, the unit of layout %s", l.tick(), l.name))
	case p.stepBack && l.rollback.bits == 0:
		return invalidOption("StepBack", l, "a layout with a rollback part")
	}
	return nil
}

// RunAhead lets the generator continue in the following units when all IDs of a unit are used up.
// It stops when the next unit is more than limit ahead of the clock, or at the end of the lease:
// only then does it return an error, or wait. limit is 0 or at least one unit of the layout.
//
// IDs made ahead carry times in the future. If the clock steps back by no more than the unused part of the
// limit, the generator is not affected. A generator that replaces another one on the same worker must start
// after the last time that the other one used, so keep limit shorter than a restart takes.
func RunAhead(limit time.Duration) Option {
	return Option{func(s *settings) error {
		if limit < 0 {
			return invalidOption("RunAhead", limit, "0 or more")
		}
		s.policy.ahead = limit
		return nil
	}}
}

// StepBack lets the generator follow a clock that steps back behind the newest unit used. It then raises the
// rollback field, which the layout must have. The field's range limits how often that is possible under one
// lease: 3 times for 2 bits. After that the generator returns randflake.ErrClockBackward until the clock has
// caught up, or until it has another lease. IDs made after a step have earlier times, so they can sort before
// IDs made before it.
func StepBack() Option {
	return Option{func(s *settings) error {
		s.policy.stepBack = true
		return nil
	}}
}

// RandomStart lets each unit of time begin at a random sequence in the lowest quarter, from which
// it counts up, so that the sequences of IDs made at a low rate differ in their lowest bits. Order and
// uniqueness stay, but a unit has up to a quarter fewer IDs.
func RandomStart() Option {
	return Option{func(s *settings) error {
		s.policy.random = maphash.MakeSeed()
		return nil
	}}
}
