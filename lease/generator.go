package lease

import (
	"time"

	"github.com/randflake/randflake"
)

// A Generator makes IDs under a lease that a [Keeper] keeps. The methods are safe for concurrent use, and promise what
// those of randflake.Generator promise.
type Generator interface {
	// Lease returns the lease in force.
	Lease() randflake.Lease

	// Extend moves the end of the lease to a later one.
	Extend(end time.Time) error

	// Replace switches to another lease. It returns the last second that IDs made under the old lease carry, now or ever,
	// or the second before its start if there are none. After an error the old lease stays in force.
	Replace(lease randflake.Lease) (lastUsed time.Time, err error)

	// Close closes the generator. It returns the same second as Replace; another Close returns that second and
	// randflake.ErrClosed.
	Close() (lastUsed time.Time, err error)

	// Freeze ends the use of this lease at once: until Replace, every request for an ID gets randflake.ErrLeaseEnded.
	Freeze()

	// Issued returns the number of IDs made.
	Issued() uint64

	// Ready returns nil if an ID can be made now, and otherwise the error that a request for one would get. It makes no ID,
	// does not wait, and does not count as a refusal.
	Ready() error
}

var _ Generator = (*randflake.Generator)(nil)
