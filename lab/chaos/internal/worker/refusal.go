package worker

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
)

// A Kind is the kind of a refusal, told by the error that the worker got.
type Kind int

// The kinds of refusals.
const (
	Exhausted Kind = iota
	NotStarted
	Ended
	Backward
	NoRange
	NoStore
	Corrupt
	WrongClock
	Invalid
	Forgotten
	Unreachable // any other error: the store can't be reached, or does not know the outcome
	Kinds       = iota
)

var kinds = [Kinds]struct {
	name string
	err  error
}{
	Exhausted:   {"exhausted", randflake.ErrExhausted},
	NotStarted:  {"not started", randflake.ErrLeaseNotStarted},
	Ended:       {"lease ended", randflake.ErrLeaseEnded},
	Backward:    {"clock backward", randflake.ErrClockBackward},
	NoRange:     {"no range", leaseErrors[NoRange]},
	NoStore:     {"no store", store.ErrNoStore},
	Corrupt:     {"corrupt", store.ErrCorrupt},
	WrongClock:  {"wrong clock", store.ErrClock},
	Invalid:     {"invalid request", leaseErrors[Invalid]},
	Forgotten:   {"forgotten", counter.ErrForgotten},
	Unreachable: {"unreachable", nil},
}

// String returns a few words for messages.
func (k Kind) String() string { return kinds[k].name }

// KindOf returns the kind of an error.
func KindOf(err error) Kind {
	for k, kind := range kinds {
		if kind.err != nil && errors.Is(err, kind.err) {
			return Kind(k)
		}
	}
	return Unreachable
}
