package chaos

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A refusal is why a worker got nothing, told by the error that it got.
type refusal int

const (
	Exhausted refusal = iota
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
	refusals    = iota
)

var reasons = [refusals]error{
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
	Forgotten:  lease.ErrCounterLost,
}

// String returns a few words for messages.
func (r refusal) String() string {
	if r == Unreachable {
		return "unreachable"
	}
	return reasons[r].Error()
}

// refusalOf returns what an error says.
func refusalOf(err error) refusal {
	for r, reason := range reasons {
		if reason != nil && errors.Is(err, reason) {
			return refusal(r)
		}
	}
	return Unreachable
}
