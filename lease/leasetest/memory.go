package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// Memory is a [lease.Store] that lives in memory and fails on demand, for tests. It makes the
// decisions of every store, those of [lease.Rules], but nothing that it grants outlives it: it
// must never lease nodes for IDs that are kept.
//
// It is safe for concurrent use. Handles on the same data are all the same Memory.
type Memory struct {
	rules lease.Rules
	clock func() time.Time

	mu        sync.Mutex
	records   []lease.Record // ordered by FirstNode
	notBefore int64
	fault     func(Op) Fault
}

// An Op names a method of a store.
type Op string

// The operations that can be made to fail.
const (
	Acquire Op = "acquire"
	Renew   Op = "renew"
	Lookup  Op = "lookup"
	Release Op = "release"
	List    Op = "list"
)

// ErrInjected is what a call fails with when a [Fault] names no other error.
var ErrInjected = errors.New("leasetest: injected fault")

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

// NewMemory returns an empty store. A nil clock stands for time.Now. It panics if rules are
// unsound, as [lease.Rules.Check] sees it.
func NewMemory(rules lease.Rules, clock func() time.Time) *Memory {
	if err := rules.Check(); err != nil {
		panic("leasetest: " + err.Error())
	}
	if clock == nil {
		clock = time.Now
	}
	return &Memory{rules: rules, clock: clock}
}

// Inject makes every later call ask fault how to go wrong; nil makes them work again. It is
// called once for each call of the store, before it takes effect, possibly by many goroutines
// at once; calls that block already go on blocking.
func (m *Memory) Inject(fault func(Op) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

// SetNotBefore makes m grant no lease that starts before second, in Unix seconds, and renew none
// that did, as a store does after it lost data.
func (m *Memory) SetNotBefore(second int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notBefore = second
}

// Distrust sets the bound of SetNotBefore as a store does that was told that it lost data: to
// [lease.Rules.NotBefore], and never to an earlier second than it is at.
func (m *Memory) Distrust(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	notBefore, err := setup.Floor(m.rules, m.clock().Unix())
	if err != nil {
		return fmt.Errorf("leasetest: distrust: %w", err)
	}
	m.notBefore = max(m.notBefore, notBefore)
	return nil
}

// Acquire implements [lease.Store].
func (m *Memory) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	err = m.do(ctx, Acquire, func(now int64) error {
		rec, err = m.rules.Grant(m.records, req, now, m.notBefore)
		if err != nil {
			return err
		}
		m.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

// Renew implements [lease.Store].
func (m *Memory) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (rec lease.Record, err error) {
	err = m.do(ctx, Renew, func(now int64) error {
		rec, err = m.rules.Renew(m.find(held), held, ttl, now, m.notBefore)
		if err != nil {
			return err
		}
		m.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

// Lookup implements [lease.Store].
func (m *Memory) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = m.do(ctx, Lookup, func(int64) error {
		rec, err = m.rules.Lookup(m.find(held), held, m.notBefore)
		return err
	})
	return orNothing(rec, err)
}

// Release implements [lease.Store].
func (m *Memory) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return m.do(ctx, Release, func(int64) error {
		rec, err := m.rules.Release(m.find(held), held, lastUsed)
		if err != nil {
			return err
		}
		m.put(rec)
		return nil
	})
}

// List implements [lease.Store].
func (m *Memory) List(ctx context.Context) (records []lease.Record, err error) {
	err = m.do(ctx, List, func(int64) error {
		records = slices.Clone(m.records)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// Close does nothing: m keeps its records and can be used on, as the data of a real store
// outlives a handle.
func (m *Memory) Close() error { return nil }

// do runs one operation under the lock, and the fault that is due around it.
func (m *Memory) do(ctx context.Context, op Op, apply func(now int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := m.next(op)
	if fault.broken() && !fault.After {
		return fault.fail(ctx)
	}
	m.mu.Lock()
	err := apply(m.clock().Unix())
	m.mu.Unlock()
	if fault.broken() {
		return fault.fail(ctx)
	}
	return err
}

// next asks the injected function, outside the lock, so that it may call m.
func (m *Memory) next(op Op) Fault {
	m.mu.Lock()
	fault := m.fault
	m.mu.Unlock()
	if fault == nil {
		return Fault{}
	}
	return fault(op)
}

func (f Fault) broken() bool { return f.Err != nil || f.After || f.Hang }

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

// find returns the record of held's range, or the zero Record, which nobody holds.
func (m *Memory) find(held lease.Record) lease.Record {
	i, ok := m.search(held.FirstNode)
	if !ok || m.records[i].LastNode != held.LastNode {
		return lease.Record{}
	}
	return m.records[i]
}

// put stores rec, in place of the one of the same range if there is one.
func (m *Memory) put(rec lease.Record) {
	i, ok := m.search(rec.FirstNode)
	if ok {
		m.records[i] = rec
		return
	}
	m.records = slices.Insert(m.records, i, rec)
}

func (m *Memory) search(firstNode uint32) (int, bool) {
	return slices.BinarySearchFunc(m.records, firstNode, func(r lease.Record, first uint32) int {
		return int(r.FirstNode) - int(first)
	})
}

// orNothing returns rec without an error, and nothing but the error with one.
func orNothing(rec lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return lease.Record{}, err
	}
	return rec, nil
}
