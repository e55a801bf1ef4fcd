package worker

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A Refusal is why a worker got nothing, told by the error that it got.
type Refusal int

const (
	Exhausted Refusal = iota
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
	Refusals    = iota
)

var reasons = [Refusals]error{
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
func (r Refusal) String() string {
	if r == Unreachable {
		return "unreachable"
	}
	return reasons[r].Error()
}

// RefusalOf returns what an error says.
func RefusalOf(err error) Refusal {
	for r, reason := range reasons {
		if reason != nil && errors.Is(err, reason) {
			return Refusal(r)
		}
	}
	return Unreachable
}
