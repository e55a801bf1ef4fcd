package snowflake

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// The errors of this package. Those that carry more detail wrap one of these, so compare with [errors.Is].
var (
	// ErrInvalidLayout says that parts can't make up a layout, or that a layout hasn't the part or the name that was
	// asked for; the error that wraps it says which, and what was expected.
	ErrInvalidLayout = errors.New("snowflake: invalid layout")

	// ErrInvalidID says that a value or a text is not an ID, or that no ID has the given fields or times.
	ErrInvalidID = errors.New("snowflake: invalid ID")

	// ErrInvalidOption says that an option can't be used, with this layout or at all; the error that wraps it says why.
	ErrInvalidOption = errors.New("snowflake: invalid option")

	// ErrEnding says that a layout can't express the time five years from now any more. Its IDs are as good as ever;
	// for something new take another layout.
	ErrEnding = errors.New("snowflake: layout ends within five years")

	// ErrEndOfLife says that a layout can't express a time, because it has ended by then. See [Layout.Expires].
	ErrEndOfLife = randflake.ErrEndOfLife
)

// The errors of a generator. Each wraps the one of the root package that has its name, so that [errors.Is] finds it by
// either.
var (
	// ErrExhausted says that the sequence has no number left, or none beside those for callers of Wait and FillWait that
	// came first. The next unit of time brings new ones.
	ErrExhausted error = &shared{"snowflake: no ID left in this unit of time: wait for the next one, run ahead of the clock, or use more workers", randflake.ErrExhausted}

	// ErrLeaseNotStarted says that the clock is before the lease's first unit.
	ErrLeaseNotStarted error = &shared{"snowflake: lease of the worker has not started: wait until its start, or set the clock right", randflake.ErrLeaseNotStarted}

	// ErrLeaseEnded says that the clock has reached the end of the lease.
	ErrLeaseEnded error = &shared{"snowflake: lease of the worker has ended: extend or replace it", randflake.ErrLeaseEnded}

	// ErrClockBackward says that the clock stepped back behind the newest ID, further than the generator goes along
	// with.
	ErrClockBackward error = &shared{"snowflake: clock is behind the newest ID: wait until it has caught up, or go on as another worker", randflake.ErrClockBackward}

	// ErrClosed says that the generator was closed.
	ErrClosed error = &shared{"snowflake: generator is closed", randflake.ErrClosed}

	// ErrInvalidLease says that a lease can't be used; the error that wraps it says why.
	ErrInvalidLease error = &shared{"snowflake: invalid lease", randflake.ErrInvalidLease}
)

// A shared error is one of the root package in the words of this one.
type shared struct {
	text string
	root error
}

func (e *shared) Error() string { return e.text }

func (e *shared) Unwrap() error { return e.root }

// An endError is ErrEndOfLife in the words of a layout.
type endError struct {
	layout string
	end    time.Time
}

func (e *endError) Error() string {
	return fmt.Sprintf("snowflake: end of life: layout %s ends at %s: expected an earlier time, or another layout", e.layout, e.end.Format(time.RFC3339Nano))
}

func (e *endError) Unwrap() error { return ErrEndOfLife }
