package journal

import (
	"context"
	"time"

	"github.com/randflake/randflake/lease"
)

// Store returns inner with every call noted in w, before it begins and before its caller learns how
// it ended: what a process knows of its leases is in its journal, wherever it is killed. A call that
// can't be noted is not made, or fails with an unknown outcome.
func Store(inner lease.Source, w *Writer) lease.Source { return &notedStore{inner, w} }

// List, Limits and ReportLoss, which no worker calls, are the inner store's.
type notedStore struct {
	lease.Source
	w *Writer
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
		result.Record, result.Error = nil, err.Error()
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
	err = s.do(Event{Op: Acquire, Token: req.Owner, Nodes: req.Nodes, TTL: seconds(req.TTL)}, returning(&rec, func() (lease.Record, error) {
		return s.Source.Acquire(ctx, req)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (rec lease.Record, err error) {
	err = s.do(Event{Op: Renew, Held: &held, Token: renewal.Token, TTL: seconds(renewal.TTL)}, returning(&rec, func() (lease.Record, error) {
		return s.Source.Renew(ctx, held, renewal)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = s.do(Event{Op: Lookup, Held: &held}, returning(&rec, func() (lease.Record, error) {
		return s.Source.Lookup(ctx, held)
	}))
	return orNothing(rec, err)
}

func (s *notedStore) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return s.do(Event{Op: Release, Held: &held, LastUsed: lastUsed.Unix()}, func(*Event) error {
		return s.Source.Release(ctx, held, lastUsed)
	})
}

// orNothing returns rec without an error, and nothing but the error with one.
func orNothing(rec lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return lease.Record{}, err
	}
	return rec, nil
}
