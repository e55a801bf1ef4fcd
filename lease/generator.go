package lease

import (
	"time"

	"github.com/randflake/randflake"
)

// A Generator makes IDs under a lease, and lets a [Keeper] see to the lease. The methods are safe for concurrent use.
// They are those of randflake.Generator, and promise what those promise.
type Generator interface {
	// Lease returns the lease in force.
	Lease() randflake.Lease

	// Extend moves the end of the lease to a later one.
	Extend(end time.Time) error

	// Replace goes on with another lease, and returns the last second that IDs made under the old one carry, now or
	// ever, or the second before its start when there are none. When it fails the old lease stays in force.
	Replace(lease randflake.Lease) (lastUsed time.Time, err error)

	// Close ends the making of IDs. It returns what Replace does; another Close returns the same second and
	// randflake.ErrClosed.
	Close() (lastUsed time.Time, err error)

	// Freeze ends the making of IDs under this lease at once, until Replace: each one is refused with
	// randflake.ErrLeaseEnded. Close and Replace return the last second that was used as ever.
	Freeze()

	// Issued returns how many IDs were made.
	Issued() uint64

	// Ready returns nil if an ID can be made at present, and otherwise the error that asking for one would end with. It
	// makes none, waits for nothing, and counts as no refusal.
	Ready() error
}

var _ Generator = (*randflake.Generator)(nil)
