package page

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A Kind is the kind of a refusal, told by the error that the worker got.
type Kind int

// The kinds of refusals. The first ones are the generator's, the next ones come from a store that was to be
// opened or asked for a first lease; Forgotten and RateUsed are those of counters.
const (
	Exhausted Kind = iota
	NotStarted
	Ended
	Backward
	EndOfLife
	NoRange
	NoStore
	Corrupt
	WrongClock
	WrongSecret
	Invalid
	Forgotten
	RateUsed
	Denied      // by a service
	Unreachable // any error that is none of package lease's or store's: the store can't be reached, or does not know the outcome
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
	EndOfLife:   {"end of life", randflake.ErrEndOfLife},
	NoRange:     {"no range", lease.ErrNoRange},
	NoStore:     {"no store", store.ErrNoStore},
	Corrupt:     {"corrupt", store.ErrCorrupt},
	WrongClock:  {"wrong clock", store.ErrClock},
	WrongSecret: {"wrong secret", store.ErrWrongSecret},
	Invalid:     {"invalid request", lease.ErrInvalidRequest},
	Forgotten:   {"forgotten", counter.ErrForgotten},
	RateUsed:    {"rate used up", counter.ErrRate},
	Denied:      {"denied", nil},
	Unreachable: {"store unreachable", nil},
}

// String returns a few words for tables.
func (k Kind) String() string {
	if k < 0 || k >= Kinds {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kinds[k].name
}

// KindOf returns the kind of an error.
func KindOf(err error) Kind {
	for k, kind := range kinds {
		if kind.err != nil && errors.Is(err, kind.err) {
			return Kind(k)
		}
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		return Denied
	}
	return Unreachable
}
