package snowflake

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is]. If the root
// package has an error of the same name, the error here wraps it.
var (
	// ErrInvalidLayout says that parts don't make a valid layout, or that no layout has that name or text; the error
	// that wraps it says why.
	ErrInvalidLayout = errors.New("snowflake: invalid layout")

	// ErrInvalidID says that a value or a text is not an ID, or that no ID has the given fields or times.
	ErrInvalidID = alike.Error("snowflake: invalid ID", randflake.ErrInvalidID)

	// ErrInvalidOption says that an option can't be used, with this layout or at all; the error that wraps it says why.
	ErrInvalidOption = alike.Error("snowflake: invalid option", randflake.ErrInvalidOption)

	// ErrEndOfLife says that a layout can't express a time, because the layout has ended by then. See [Layout.Expires].
	ErrEndOfLife = randflake.ErrEndOfLife
)

// The errors of a generator.
var (
	// ErrExhausted says that the present unit of time has no sequence number left, or that callers of Wait and FillWait
	// are first in line for the rest. The next unit has new numbers.
	ErrExhausted = alike.Error("snowflake: no ID left in this unit of time: wait for the next one, run ahead of the clock, or use more workers", randflake.ErrExhausted)

	// ErrLeaseNotStarted says that the clock is before the lease's first unit.
	ErrLeaseNotStarted = alike.Error("snowflake: lease of the worker has not started: wait until its start, or set the clock right", randflake.ErrLeaseNotStarted)

	// ErrLeaseEnded says that the clock has reached the end of the lease.
	ErrLeaseEnded = alike.Error("snowflake: lease of the worker has ended: get another one", randflake.ErrLeaseEnded)

	// ErrClockBackward says that the clock stepped back behind the newest ID, further than the generator allows.
	ErrClockBackward = alike.Error("snowflake: clock is behind the newest ID: wait until it has caught up, or go on as another worker", randflake.ErrClockBackward)

	// ErrClosed says that the generator was closed.
	ErrClosed = alike.Error("snowflake: generator is closed", randflake.ErrClosed)

	// ErrInvalidLease says that a lease can't be used; the error that wraps it says why.
	ErrInvalidLease = alike.Error("snowflake: invalid lease", randflake.ErrInvalidLease)
)

// errCopied says that the machine was copied since the lease was granted: it is the original's.
var errCopied = alike.Error("snowflake: this machine is a copy of another one, whose lease it is: get another lease", ErrLeaseEnded)

// An endError is ErrEndOfLife with the name and the end of a layout.
type endError struct {
	layout string
	end    time.Time
}

func (e *endError) Error() string {
	return fmt.Sprintf("snowflake: end of life: layout %s ends at %s: want an earlier time, or another layout", e.layout, e.end.Format(time.RFC3339Nano))
}

func (e *endError) Unwrap() error { return ErrEndOfLife }
