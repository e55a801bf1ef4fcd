// Package handover is how package lease hands leases to generators, which is not for others.
package handover

// A Key can be made in this module alone.
type Key struct{}

// A Queue is what a generator shows its keeper. Its methods return at once and are safe for concurrent use.
type Queue[Lease any] interface {
	// Add adds a lease. The generator goes on to it when it has no other lease for the present, and drops it when it is over.
	Add(Lease) error

	// Drop ends all leases: until Add, who wants an ID gets ErrLeaseEnded. This process is a copy of another one that uses them.
	Drop()

	// Ready returns nil if an ID can be made now, and otherwise the error that a caller would get.
	Ready() error

	// Counts returns how many IDs were handed out, without the latest of them, and how many calls had to wait for one.
	Counts() (claimed, waited uint64)

	// OnRefusal sets what is called with the error whenever a caller gets one in place of an ID, and when one goes on waiting.
	// It comes before the first ID.
	OnRefusal(func(err error, waiting bool))
}
