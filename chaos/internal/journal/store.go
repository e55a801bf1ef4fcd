package journal

import (
	"context"
	"time"

	"github.com/randflake/randflake/lease"
)

// Store returns inner with every call noted in w, before it begins and before its caller learns how
// it ended: what a process knows of its leases is in its journal, wherever it is killed. A call that
// can't be noted is not made, or fails with an unknown outcome.
func Store(inner lease.Store, w *Writer) lease.Store { return &notedStore{inner, w} }

type notedStore struct {
	inner lease.Store
	w     *Writer
}

// do notes one call. The function f makes it and fills in what the store returned.
func (s *notedStore) do(call Event, f func(result *Event) error) error {
	call.Kind, call.Call = Call, s.w.calls.Add(1)
	call.At = Now()
	if err := s.w.note(call); err != nil {
		return err
	}
	result := Event{Kind: Return, Call: call.Call, Op: call.Op}
	err := f(&result)
	result.At = Now()
	result.Outcome = OutcomeOf(err)
	if err != nil {
		result.Record, result.Records, result.Error = nil, nil, err.Error()
	}
	if noteErr := s.w.note(result); noteErr != nil {
		return noteErr
	}
	return err
}

// returning keeps the record that a call returned, for its caller and for the journal.
func returning(rec *lease.Record, call func() (lease.Record, error)) func(*Event) error {
	return func(result *Event) (err error) {
		*rec, err = call()
		result.Record = rec
		return err
	}
}

func (s *notedStore) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	err = s.do(Event{Op: Acquire, Nodes: req.Nodes, TTL: seconds(req.TTL)}, returning(&rec, func() (lease.Record, error) {
		return s.inner.Acquire(ctx, req)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (rec lease.Record, err error) {
	err = s.do(Event{Op: Renew, Held: &held, TTL: seconds(ttl)}, returning(&rec, func() (lease.Record, error) {
		return s.inner.Renew(ctx, held, ttl)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = s.do(Event{Op: Lookup, Held: &held}, returning(&rec, func() (lease.Record, error) {
		return s.inner.Lookup(ctx, held)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return s.do(Event{Op: Release, Held: &held, LastUsed: lastUsed.Unix()}, func(*Event) error {
		return s.inner.Release(ctx, held, lastUsed)
	})
}

func (s *notedStore) List(ctx context.Context) (records []lease.Record, err error) {
	err = s.do(Event{Op: List}, func(result *Event) (err error) {
		records, err = s.inner.List(ctx)
		result.Records = records
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

func (s *notedStore) Close() error { return s.inner.Close() }

// orNothing returns rec without an error, and nothing but the error with one.
func orNothing(rec lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return lease.Record{}, err
	}
	return rec, nil
}
