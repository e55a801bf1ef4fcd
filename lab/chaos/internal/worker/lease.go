package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/client"
)

// This file is all of chaos that knows how leases are taken and kept.

// open opens the worker's space, with the bug if it is one of engines.
func (w *worker) open(ctx context.Context) (*lease.Space, error) {
	if w.Bug != Forget {
		return url.Open(ctx, w.Store, lease.Config{})
	}
	engine, _, err := url.Engine(ctx, w.Store)
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, forgetful{engine}, lease.Config{})
}

// leases returns those of a space, or of the service's replicas, with notes of what they grant.
func (w *worker) leases(ctx context.Context, space *lease.Space) (source lease.Source, err error) {
	if space != nil {
		source = space
	} else if source, err = client.New(ctx, Space, w.Replicas, client.WithToken(w.Token), client.WithPlaintext()); err != nil {
		return nil, err
	}
	n := &noted{Source: source, worker: w}
	if w.Adopt != nil {
		if err := json.Unmarshal(w.Adopt, &n.adopt); err != nil {
			return nil, err
		}
	}
	if w.Bug == Outlive {
		return outliving{n}, nil
	}
	return n, nil
}

// keep takes leases, and keeps a generator in them.
func (w *worker) keep(ctx context.Context, source lease.Source) (*lease.Keeper[*randflake.Generator], error) {
	return lease.Keep(ctx, source, w.secret, lease.WithNodes(w.Nodes), lease.WithOutage(w.Outage))
}

// noted notes each lease before the keeper learns of it.
type noted struct {
	lease.Source
	*worker

	mu    sync.Mutex
	held  []randflake.Lease
	adopt []randflake.Lease // what Take returns without a call, in a copy of another process
}

func (n *noted) Take(ctx context.Context, window int64, nodes uint32) (randflake.Lease, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.adopt, func(l randflake.Lease) bool { return n.Limits().WindowOf(l.Start) == window })
	if i >= 0 {
		return n.note(n.adopt[i], true)
	}
	l, err := n.Source.Take(ctx, window, nodes)
	switch {
	case err == nil:
		return n.note(l, false)
	case errors.Is(err, lease.ErrLoss):
		n.page.Lost.Add(1)
	case KindOf(err) == Unreachable:
		n.page.Unknown.Add(1)
	}
	return l, err
}

func (n *noted) note(l randflake.Lease, adopted bool) (randflake.Lease, error) {
	n.held = append(slices.DeleteFunc(n.held, func(l randflake.Lease) bool { return time.Until(l.End) < -time.Minute }), l)
	state, err := json.Marshal(n.held)
	if err == nil {
		err = n.journal.Note(check.Event{Kind: check.Granted, Lease: fmt.Sprintf("%d-%d", l.Start.Unix(), l.FirstNode), FirstNode: l.FirstNode, LastNode: l.LastNode,
			Start: l.Start.Unix(), End: l.End.Unix(), Adopted: adopted, State: state})
	}
	if err != nil {
		return randflake.Lease{}, err
	}
	n.page.End.Store(l.End.Unix())
	n.page.Grants.Add(1)
	return l, nil
}

// outliving leases have the bug Outlive: they are used for a window longer.
type outliving struct{ lease.Source }

func (o outliving) Take(ctx context.Context, window int64, nodes uint32) (randflake.Lease, error) {
	l, err := o.Source.Take(ctx, window, nodes)
	l.End = l.End.Add(o.Limits().Window)
	return l, err
}
