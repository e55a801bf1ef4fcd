package randflake

import (
	"errors"

	"github.com/randflake/randflake/internal/alike"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is].
var (
	// ErrExhausted says that the leased nodes have no ID left in the current second. The next
	// second brings new ones; more nodes in the lease bring more for each second.
	ErrExhausted = errors.New("randflake: no ID left in this second: wait for the next one or lease more nodes")

	// ErrLeaseNotStarted says that the clock is before the lease's first second: there is no lease
	// until then, as for a minute after a loss of data, or the clock is behind.
	ErrLeaseNotStarted = errors.New("randflake: lease has not started: " +
		"wait until its start, or set the clock right if it is behind")

	// ErrLeaseEnded says that the clock has reached the end of the lease.
	ErrLeaseEnded = errors.New("randflake: lease has ended: get another one")

	// ErrClockBackward says that the clock is behind the newest ID by more than 10 seconds, or by
	// less while that ID's second is used up. It passes when the clock has caught up, or with
	// another lease. A processor that still has IDs of the second to which the clock went back hands
	// them out first.
	ErrClockBackward = errors.New("randflake: clock is behind the newest ID: " +
		"wait until it has caught up, or get another lease")

	// ErrClosed says that the generator was closed.
	ErrClosed = errors.New("randflake: generator is closed")

	// ErrInvalidLease says that a lease can't be used; the error that wraps it says why.
	ErrInvalidLease = errors.New("randflake: invalid lease")

	// ErrInvalidOption says that an option can't be used; the error that wraps it says why.
	ErrInvalidOption = errors.New("randflake: invalid option")

	// ErrInvalidSecret says that a text or bytes are not a secret, or that a secret is unset.
	// Neither text nor bytes are ever part of the error.
	ErrInvalidSecret = errors.New("randflake: invalid secret")

	// ErrInvalidID says that a value is not an ID, or that no ID has the given fields.
	ErrInvalidID = errors.New("randflake: invalid ID")

	// ErrImplausible says that an ID opens to a time or a node at which it can't have been made;
	// the error that wraps it says which field.
	ErrImplausible = errors.New("randflake: implausible ID: made up, or made with another secret or by a wrong clock")

	// ErrEndOfLife says that a time lies after 2058-11-05 17:10:23 UTC, the last second that the
	// format can hold.
	ErrEndOfLife = errors.New("randflake: the format ends at 2058-11-05T17:10:23Z")
)

// errCopied says that the machine was copied since the generator was made, or last dropped its
// leases. So the lease is the original's.
var errCopied = alike.Error("randflake: this machine is a copy of another one, whose lease it is: get another lease",
	ErrLeaseEnded)
