package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/store"
)

// This file is all of chaos that knows how leases are taken and kept.

// leaseErrors are the refusals of leases.
var leaseErrors = map[Kind]error{NoRange: lease.ErrNoRange, Invalid: lease.ErrInvalidRequest}

// A keeper keeps a generator's lease.
type keeper interface {
	Generator() *randflake.Generator
	Close() error
}

// leases returns those of a space, or of the service's replicas, with notes of what they grant.
func (w *worker) leases(space *store.Space) (source lease.Source, err error) {
	if space != nil {
		source = lease.On(space)
	} else if source, err = client.New(Space, w.Replicas, client.WithToken(w.Token)); err != nil {
		return nil, err
	}
	n := &noted{Source: source, worker: w}
	if w.Adopt != nil {
		n.adopt = new(lease.Record)
		if err := json.Unmarshal(w.Adopt, n.adopt); err != nil {
			return nil, err
		}
	}
	if w.Bug == Outlive {
		return outliving{n}, nil
	}
	return n, nil
}

// keep takes a lease, and keeps it.
func (w *worker) keep(ctx context.Context, source lease.Source) (keeper, error) {
	return lease.Keep(ctx, source, w.secret, lease.WithNodes(w.Nodes), lease.WithTTL(w.TTL))
}

// noted notes each grant before the keeper learns of it, and each return before the store does.
type noted struct {
	lease.Source
	*worker

	mu    sync.Mutex
	adopt *lease.Record // what the first Acquire returns, without a call, in a copy of another process
}

func (n *noted) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	n.mu.Lock()
	adopt := n.adopt
	n.adopt = nil
	n.mu.Unlock()
	if adopt != nil {
		return n.note(*adopt, nil, true)
	}
	rec, err := n.Source.Acquire(ctx, req)
	return n.note(rec, err, false)
}

func (n *noted) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	rec, err := n.Source.Renew(ctx, held, renewal)
	return n.note(rec, err, false)
}

func (n *noted) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	rec, err := n.Source.Lookup(ctx, held)
	return n.note(rec, err, false)
}

func (n *noted) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	if err := n.journal.Note(check.Event{Kind: check.Returned, Lease: held.Owner.String(), End: lastUsed.Unix() + 1}); err != nil {
		return err
	}
	return n.Source.Release(ctx, held, lastUsed)
}

func (n *noted) note(rec lease.Record, err error, adopted bool) (lease.Record, error) {
	switch {
	case errors.Is(err, lease.ErrLost):
		n.page.Lost.Add(1)
	case err != nil && KindOf(err) == Unreachable:
		n.page.Unknown.Add(1)
	}
	if err != nil {
		return lease.Record{}, err
	}
	state, err := json.Marshal(rec)
	if err == nil {
		err = n.journal.Note(check.Event{Kind: check.Granted, Lease: rec.Owner.String(), FirstNode: rec.FirstNode, LastNode: rec.LastNode,
			Start: rec.Start, End: rec.HighWater + 1, Adopted: adopted, State: state})
	}
	if err != nil {
		return lease.Record{}, err
	}
	n.page.FirstNode.Store(rec.FirstNode)
	n.page.LastNode.Store(rec.LastNode)
	n.page.End.Store(rec.HighWater + 1)
	n.page.Grants.Add(1)
	return rec, nil
}

// outliving leases have the bug Outlive: a renewal that failed is taken for one that went well.
type outliving struct{ lease.Source }

func (o outliving) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	rec, err := o.Source.Renew(ctx, held, renewal)
	if err != nil && ctx.Err() == nil || errors.Is(err, context.DeadlineExceeded) {
		rec, err = held, nil
		rec.HighWater, rec.Change = time.Now().Add(renewal.TTL).Unix(), renewal.Token
	}
	return rec, err
}
