package snowflake

import (
	"fmt"
	"time"
)

// A policy is what a generator does when a unit of time has no ID left, and when the clock steps
// back. Whatever that is, no ID is made twice, and no unit has more IDs than its sequence has numbers.
type policy struct {
	wait     time.Duration // how long a call waits when a unit is used up; 0 not at all
	ahead    time.Duration // how far ahead of the clock units may be used
	reaction reaction
	backWait time.Duration // how long a call waits for a clock that stepped back, under waitBack
	scatter  uint64        // units begin at a random sequence below this, when not 0
}

// A reaction is what happens when the clock steps back.
type reaction int

const (
	holdUnit reaction = iota
	waitBack
	stepBack
)

const (
	// defaultWait is how long a call waits for IDs of the next unit.
	defaultWait = time.Second

	// clockTolerance is how far the clock may step back under HoldUnit before ErrClockBackward.
	clockTolerance = 10 * time.Second

	// catchUp is how late a unit may still be used in full after one was used up. It is several
	// times what timers are late, so that those who wait for the next unit lose none.
	catchUp = 20 * time.Millisecond
)

var defaultPolicy = policy{wait: defaultWait, reaction: holdUnit}

// WaitNext has Generate and Fill wait when all IDs of a unit are used up. A call returns
// ErrExhausted when it can't have its next ID within limit, which is positive; less than a unit of the
// layout is taken for one. This is what generators do without an option, with a limit of one second.
//
// Waiting is a timer, and timers are late. So that no unit is lost by that, those after a used-up
// one may be used in full for 20 ms after their time, or for one unit where that is longer: IDs then
// carry a time that is late by as much. The same holds for callers who try again after ErrExhausted.
// While unit after unit is used up, a call waits for 7 ms rather than for each unit, which costs no ID
// and spares the processor.
func WaitNext(limit time.Duration) Option {
	return func(s *settings) {
		s.require(limit > 0, "WaitNext", limit, "more than 0")
		s.policy.wait = limit
	}
}

// RefuseWhenUsedUp has Generate and Fill return ErrExhausted at once when all IDs of a unit are used
// up.
func RefuseWhenUsedUp() Option {
	return func(s *settings) { s.policy.wait = 0 }
}

// RunAhead has the generator go on in the following units when all IDs of a unit are used up, until
// the next one is more than limit ahead of the clock, or at the end of the lease. Only then it waits
// or refuses, as WaitNext and RefuseWhenUsedUp have it. Limit is at least a unit of the layout, or 0.
//
// The IDs carry times that are yet to come. A clock that steps back by what is left of the limit
// goes unnoticed. A generator that replaces one which ran ahead on the same worker has to start where
// that one's time ended: keep the limit below the time that a restart may take.
func RunAhead(limit time.Duration) Option {
	return func(s *settings) {
		s.require(limit >= 0, "RunAhead", limit, "0 or more")
		s.policy.ahead = limit
	}
}

// HoldUnit has the generator keep the newest unit used while the clock is behind it, by 10 seconds
// at most: it uses up what is left of that unit. Then a call waits where the clock comes back to the
// unit within the limit of WaitNext, and returns ErrClockBackward otherwise. This is what generators
// do without an option.
func HoldUnit() Option {
	return func(s *settings) { s.policy.reaction = holdUnit }
}

// WaitBack has Generate and Fill wait when the clock has stepped back behind the newest unit used,
// until it is there again. Where that would take longer than limit, they return ErrClockBackward at
// once. Limits of about 15 ms are common: servers of time don't agree better than that.
func WaitBack(limit time.Duration) Option {
	return func(s *settings) {
		s.require(limit >= 0, "WaitBack", limit, "0 or more")
		s.policy.reaction, s.policy.backWait = waitBack, limit
	}
}

// StepBack has the generator go along with a clock that steps back behind the newest unit used, by
// raising the rollback field, which the layout must have. The field's range bounds how often that
// is possible under one lease: 3 times for 2 bits. After that the generator returns
// ErrClockBackward until the clock is back, or another lease replaces this one; extending the lease
// does not help. IDs from after a step sort before those of the same time from before it.
func StepBack() Option {
	return func(s *settings) { s.policy.reaction = stepBack }
}

// RandomStart has each new unit's sequence begin at random in [0, n), so that what shards by the
// lowest bits of an ID is not skewed when few IDs are made: without it most end in sequence 0. It
// costs the IDs below the start: half of n in each unit on the average. A unit that follows a
// used-up one begins at 0 all the same. At most, n is the number of sequence numbers.
func RandomStart(n uint64) Option {
	return func(s *settings) {
		s.require(n > 0, "RandomStart", n, "at least 1")
		s.policy.scatter = n
	}
}

// check returns an error that wraps ErrInvalidOption when a policy does not go with a layout.
func (p policy) check(l *Layout) error {
	switch {
	case p.ahead > 0 && p.ahead < l.Unit():
		return invalidOption("RunAhead", p.ahead, fmt.Sprintf("0 or at least %s, the unit of layout %s", l.Unit(), l.name))
	case p.scatter > l.sequence.max()+1:
		return invalidOption("RandomStart", p.scatter, fmt.Sprintf("at most %d, the sequence numbers of layout %s", l.sequence.max()+1, l.name))
	case p.reaction == stepBack && l.rollback.bits == 0:
		return invalidOption("StepBack", l, "a layout with a rollback field")
	}
	return nil
}

// patience returns how long a call waits where it would return err otherwise.
func (p policy) patience(err error, unit time.Duration) time.Duration {
	wait := p.wait
	if wait > 0 {
		wait = max(wait, unit)
	}
	switch {
	case err == ErrExhausted:
		return wait
	case err != ErrClockBackward:
		return 0
	case p.reaction == waitBack:
		return p.backWait
	case p.reaction == holdUnit:
		return min(wait, clockTolerance)
	}
	return 0
}
