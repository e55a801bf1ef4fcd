package leasetest

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// Leases is a [lease.Source] that lives in memory and fails on demand, for tests. Nothing that it grants outlives it:
// it must never lease nodes for IDs that are kept. It is safe for concurrent use.
type Leases struct {
	lease.Source

	// Engine holds the data, and can lose them.
	Engine *Memory

	fault chan func(Op) Fault // of capacity 1
}

// An Op names a method of a store.
type Op string

// The operations that can be made to fail.
const (
	Acquire Op = "acquire"
	Renew   Op = "renew"
	Lookup  Op = "lookup"
	Release Op = "release"
)

// ErrInjected is what a call fails with when a [Fault] names no other error.
var ErrInjected = errors.New("storetest: injected fault")

// A Fault says how one call goes wrong. The zero Fault is none.
type Fault struct {
	// Err is what the call returns; nil means ErrInjected if After is set, and else that
	// nothing fails.
	Err error

	// After lets the call take effect before it fails, as when the reply gets lost. If the
	// store refuses the call anyway, the caller still gets the fault, not the refusal.
	After bool

	// Hang makes the call block until its context is done and then return the context's error,
	// wrapped together with Err. With After, it has taken effect before it blocks.
	Hang bool
}

// NewLeases returns an empty store for a new secret. A nil clock stands for time.Now. It panics if limits are
// unsound, as [store.Limits.Check] sees it.
func NewLeases(limits store.Limits, clock func() time.Time) *Leases {
	if clock == nil {
		clock = time.Now
	}
	data := NewMemory()
	space, err := store.Create(context.Background(), data.Connect(), store.WithLimits(limits), store.ForNewSecret(), store.WithClock(clock))
	if err != nil {
		panic("storetest: " + err.Error())
	}
	m := &Leases{Source: lease.On(space), Engine: data, fault: make(chan func(Op) Fault, 1)}
	m.fault <- func(Op) Fault { return Fault{} }
	return m
}

// Inject makes every later call ask fault how to go wrong; nil makes them work again. It is
// called once for each call of the store, before it takes effect, possibly by many goroutines
// at once; calls that block already go on blocking.
func (m *Leases) Inject(fault func(Op) Fault) {
	if fault == nil {
		fault = func(Op) Fault { return Fault{} }
	}
	<-m.fault
	m.fault <- fault
}

// Acquire implements [lease.Source].
func (m *Leases) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	return faulty(m, ctx, Acquire, func() (lease.Record, error) { return m.Source.Acquire(ctx, req) })
}

// Renew implements [lease.Source].
func (m *Leases) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	return faulty(m, ctx, Renew, func() (lease.Record, error) { return m.Source.Renew(ctx, held, renewal) })
}

// Lookup implements [lease.Source].
func (m *Leases) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	return faulty(m, ctx, Lookup, func() (lease.Record, error) { return m.Source.Lookup(ctx, held) })
}

// Release implements [lease.Source].
func (m *Leases) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	_, err := faulty(m, ctx, Release, func() (lease.Record, error) {
		return lease.Record{}, m.Source.Release(ctx, held, lastUsed)
	})
	return err
}

// faulty makes one call, and the fault that is due around it.
func faulty(m *Leases, ctx context.Context, op Op, call func() (lease.Record, error)) (lease.Record, error) {
	next := <-m.fault
	m.fault <- next
	fault := next(op)
	broken := fault.Err != nil || fault.After || fault.Hang
	if broken && !fault.After {
		return lease.Record{}, fault.fail(ctx)
	}
	rec, err := call()
	if broken {
		return lease.Record{}, fault.fail(ctx)
	}
	return rec, err
}

// fail returns the error of a fault that is due, after the wait that belongs to it.
func (f Fault) fail(ctx context.Context) error {
	if f.Hang {
		<-ctx.Done()
		return errors.Join(ctx.Err(), f.Err)
	}
	if f.Err == nil {
		return ErrInjected
	}
	return f.Err
}
