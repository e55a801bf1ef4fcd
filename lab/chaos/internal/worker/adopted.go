package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
)

// adopted is a store whose first Acquire hands out a lease that another process holds, with nothing asked:
// what a process finds in its memory that was copied together with the machine it runs on. If a renewal was under way then,
// the first Renew is that one, whose reply does not come.
type adopted struct {
	lease.Source
	once    sync.Once
	record  lease.Record
	pending lease.Token // the token of the pending renewal in the store, or zero
	own     lease.Token // the token that this process uses for the same renewal
}

func (a *adopted) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	first := false
	a.once.Do(func() { first = true })
	if first {
		return a.record, nil
	}
	return a.Source.Acquire(ctx, req)
}

func (a *adopted) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	if a.pending != a.own && a.own == (lease.Token{}) {
		a.own = renewal.Token
		return lease.Record{}, errors.New("the connection is gone, as this is a copy")
	}
	if renewal.Token == a.own {
		renewal.Token = a.pending
	}
	rec, err := a.Source.Renew(ctx, a.sent(held), renewal)
	return a.known(rec), err
}

func (a *adopted) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	rec, err := a.Source.Lookup(ctx, a.sent(held))
	return a.known(rec), err
}

func (a *adopted) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return a.Source.Release(ctx, a.sent(held), lastUsed)
}

// sent returns a record as the store knows it, and known as the process does.
func (a *adopted) sent(r lease.Record) lease.Record { return changed(r, a.own, a.pending) }

func (a *adopted) known(r lease.Record) lease.Record { return changed(r, a.pending, a.own) }

func changed(r lease.Record, from, to lease.Token) lease.Record {
	if r.Change == from && from != (lease.Token{}) {
		r.Change = to
	}
	return r
}
