package worker

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A Kind is the kind of a refusal, told by the error that the worker got.
type Kind int

// The kinds of refusals.
const (
	Exhausted Kind = iota
	NotStarted
	Ended
	Backward
	Full
	Loss
	Ahead
	NoSpace
	Corrupt
	WrongClock
	Forgotten
	Unreachable // any other error: the store can't be reached, or does not know the outcome
	Kinds       = iota
)

var kinds = [Kinds]error{
	Exhausted:  randflake.ErrExhausted,
	NotStarted: randflake.ErrLeaseNotStarted,
	Ended:      randflake.ErrLeaseEnded,
	Backward:   randflake.ErrClockBackward,
	Full:       lease.ErrFull,
	Loss:       lease.ErrLoss,
	Ahead:      lease.ErrAhead,
	NoSpace:    lease.ErrNoSpace,
	Corrupt:    lease.ErrCorrupt,
	WrongClock: lease.ErrClock,
	Forgotten:  lease.ErrCounter,
}

// String returns a few words for messages.
func (k Kind) String() string {
	if k == Unreachable {
		return "unreachable"
	}
	return kinds[k].Error()
}

// KindOf returns the kind of an error.
func KindOf(err error) Kind {
	for k, reason := range kinds {
		if reason != nil && errors.Is(err, reason) {
			return Kind(k)
		}
	}
	return Unreachable
}
