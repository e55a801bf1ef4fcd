// Package handover is how generators get the leases that follow their first one: a keeper of
// package lease adds them to a Queue, and they are Pending until their time comes.
package handover

import "slices"

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
	Counts() (handedOut, waited uint64)

	// OnRefusal sets a function that is called with each error that a caller gets in place of an ID, and with
	// why a caller goes on waiting. OnRefusal must come before the first ID.
	OnRefusal(func(err error, waiting bool))
}

// Pending are the leases of a generator that aren't in force. Times are in whatever unit the
// generator counts.
type Pending[Lease any] struct{ terms []term[Lease] }

type term[Lease any] struct {
	first, end int64 // the lease is for [first, end)
	lease      Lease
}

// Add adds a lease for the units [first, end).
func (p *Pending[Lease]) Add(first, end int64, lease Lease) {
	p.terms = append(p.terms, term[Lease]{first, end, lease})
}

// Clear removes all leases.
func (p *Pending[Lease]) Clear() { p.terms = nil }

// Take removes and returns a lease of the present moment, and removes those that are over. If there
// is none, all stay, as the clock may be wrong.
func (p *Pending[Lease]) Take(now int64) (lease Lease, ok bool) {
	i := slices.IndexFunc(p.terms, func(t term[Lease]) bool { return t.first <= now && now < t.end })
	if i < 0 {
		return lease, false
	}
	lease = p.terms[i].lease
	p.terms = slices.Delete(p.terms, i, i+1)
	p.terms = slices.DeleteFunc(p.terms, func(t term[Lease]) bool { return t.end <= now })
	return lease, true
}

// Next returns the first unit of the next lease that begins after now, if there is one.
func (p *Pending[Lease]) Next(now int64) (first int64, ok bool) {
	for _, t := range p.terms {
		if t.first > now && (!ok || t.first < first) {
			first = t.first
			ok = true
		}
	}
	return first, ok
}
