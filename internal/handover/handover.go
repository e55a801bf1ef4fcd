// Package handover is how the leases of a generator follow one another: a keeper of package lease
// adds them to a Queue, and Leases puts each in force when its time comes.
package handover

// A Key is what Leases of a generator wants, so that packages of this module alone can call it. It
// has a field, as anybody could pass a struct{}{} for a type without one.
type Key struct{ _ struct{} }

// A Queue is what a generator shows its keeper. Its methods return at once and are safe for concurrent use.
type Queue[Lease any] interface {
	// Add adds a lease. The generator goes on to it when it has no other lease for the present, and forgets
	// it when it is over.
	Add(Lease) error

	// Drop ends all leases: until the next Add, callers get ErrLeaseEnded. This process is a copy
	// of another one that uses them.
	Drop()

	// Ready returns nil if an ID can be made now, and otherwise the error that a caller would get.
	Ready() error

	// Counts returns how many IDs were handed out, late and not quite all, and how many calls had
	// to wait for one.
	Counts() (made, waited uint64)

	// OnRefusal sets a function that is called with each error that a caller gets in place of an ID, and with
	// why a caller goes on waiting. OnRefusal must come before the first ID.
	OnRefusal(func(err error, waiting bool))
}
