package lease

import (
	"time"

	"github.com/randflake/randflake"
)

// A Holder makes IDs under a lease, and lets a [Keeper] see to the lease. The methods are safe for
// concurrent use. All but Try are those of randflake.Generator, and promise what those promise.
type Holder interface {
	// Lease returns the lease in force.
	Lease() randflake.Lease

	// Extend moves the end of the lease to a later one.
	Extend(end time.Time) error

	// Replace goes on with another lease, and returns the last second that IDs made under the
	// old one carry, now or ever, or the second before its start when there are none. When it
	// fails the old lease stays in force.
	Replace(lease randflake.Lease) (lastUsed time.Time, err error)

	// Close ends the making of IDs. It returns what Replace does; another Close returns the same
	// second and randflake.ErrClosed.
	Close() (lastUsed time.Time, err error)

	// Issued returns how many IDs were made.
	Issued() uint64

	// Try finds out whether an ID can be made at present, if need be by making one that nobody
	// gets. It waits for nothing, and reports a refusal to onRefusal before it returns it.
	Try() error
}

// randflakes is the Holder of Keep.
type randflakes struct{ *randflake.Generator }

func (r randflakes) Try() error {
	_, err := r.Generate()
	return err
}
