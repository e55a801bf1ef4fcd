package snowflake

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// ErrInvalidLayout says that parts don't make a valid layout, or that no layout has that name or text; the
// error that wraps it says why. The other errors of this package are, or wrap, those of package randflake.
var ErrInvalidLayout = errors.New("snowflake: invalid layout")

var (
	errInvalidID     = alike.Error("snowflake: invalid ID", randflake.ErrInvalidID)
	errInvalidOption = alike.Error("snowflake: invalid option", randflake.ErrInvalidOption)
	errInvalidLease  = alike.Error("snowflake: invalid lease", randflake.ErrInvalidLease)
	errEndOfLife     = randflake.ErrEndOfLife // of a layout: see Layout.Expires

	errExhausted = alike.Error("snowflake: no ID left in this unit of time: "+
		"wait for the next one, run ahead of the clock, or use more workers",
		randflake.ErrExhausted)
	errLeaseNotStarted = alike.Error("snowflake: lease of the worker has not started: "+
		"wait until its start, or set the clock right if it is behind",
		randflake.ErrLeaseNotStarted)
	errLeaseEnded    = alike.Error("snowflake: lease of the worker has ended: get another one", randflake.ErrLeaseEnded)
	errClockBackward = alike.Error("snowflake: clock is behind the newest ID: "+
		"wait until it has caught up, or go on as another worker",
		randflake.ErrClockBackward)
	errClosed = alike.Error("snowflake: generator is closed", randflake.ErrClosed)

	// The machine was copied since the generator was made, or last dropped its leases.
	errCopied = alike.Error("snowflake: this machine is a copy of another one, whose lease it is: get another lease",
		errLeaseEnded)
)
