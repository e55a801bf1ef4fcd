package snowflake

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// The errors of this package. Those that carry more detail wrap one of these, so compare with
// [errors.Is].
var (
	// ErrInvalidLayout says that fields can't make up a layout, or that a layout hasn't the field or
	// the name that was asked for; the error that wraps it says which, and what was expected.
	ErrInvalidLayout = errors.New("snowflake: invalid layout")

	// ErrInvalidID says that a value or a text is not an ID, or that no ID has the given fields or
	// times.
	ErrInvalidID = errors.New("snowflake: invalid ID")

	// ErrEnding says that a layout can't express the time five years from now any more. Its IDs
	// are as good as ever; whoever begins something new takes another layout.
	ErrEnding = errors.New("snowflake: layout ends within five years")
)

// The errors that this package shares with the root package, so that [errors.Is] finds them by either
// name. Their texts speak of Randflake IDs where no other error wraps them.
var (
	// ErrExhausted says that the sequence has no number left, and that the policy is not to wait.
	ErrExhausted = randflake.ErrExhausted

	// ErrLeaseNotStarted says that the clock is before the lease's first second.
	ErrLeaseNotStarted = randflake.ErrLeaseNotStarted

	// ErrLeaseEnded says that the clock has reached the end of the lease.
	ErrLeaseEnded = randflake.ErrLeaseEnded

	// ErrClockBackward says that the clock stepped back further than the policy goes along with.
	ErrClockBackward = randflake.ErrClockBackward

	// ErrClosed says that the generator was closed.
	ErrClosed = randflake.ErrClosed

	// ErrInvalidLease says that a lease can't be used; the error that wraps it says why.
	ErrInvalidLease = randflake.ErrInvalidLease

	// ErrEndOfLife says that a layout can't express a time, because it has ended by then. See
	// [Layout.Expires].
	ErrEndOfLife = randflake.ErrEndOfLife
)

// An endError is ErrEndOfLife in the words of a layout.
type endError struct {
	layout string
	end    time.Time
}

func (e *endError) Error() string {
	return fmt.Sprintf("snowflake: end of life: layout %s ends at %s: expected an earlier time, or another layout", e.layout, e.end.Format(time.RFC3339Nano))
}

func (e *endError) Unwrap() error { return ErrEndOfLife }
