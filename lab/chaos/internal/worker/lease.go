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
	n := &journaling{Source: source, worker: w}
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

// A journaling source of leases notes each of them before the keeper learns of it.
type journaling struct {
	lease.Source
	*worker

	mu    sync.Mutex
	held  []randflake.Lease
	adopt []randflake.Lease // what Take returns without a call, in a copy of another process
}

func (j *journaling) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if leases := j.adopted(from, to); leases != nil {
		return leases, j.note(leases, true)
	}
	j.page.Calling.Store(1)
	leases, err := j.Source.Take(ctx, from, to, nodes)
	j.page.Calling.Store(0)
	switch {
	case errors.Is(err, lease.ErrLoss):
		j.page.Lost.Add(1)
	case RefusalOf(err) == Unreachable:
		j.page.Unknown.Add(1)
	}
	if failed := j.note(leases, false); failed != nil {
		return nil, failed
	}
	return leases, err
}

// adopted returns the leases of the other process for some windows.
func (j *journaling) adopted(from, to int64) (leases []randflake.Lease) {
	for _, l := range j.adopt {
		window := j.Limits().WindowOf(l.Start)
		if from <= window && window <= to {
			leases = append(leases, l)
		}
	}
	return leases
}

func (j *journaling) note(leases []randflake.Lease, adopted bool) error {
	for _, l := range leases {
		j.held = append(slices.DeleteFunc(j.held, isOld), l)
		state, err := json.Marshal(j.held)
		if err != nil {
			return err
		}
		event := check.Event{
			What:      check.Granted,
			Lease:     fmt.Sprintf("%d-%d", l.Start.Unix(), l.FirstNode),
			FirstNode: l.FirstNode,
			LastNode:  l.LastNode,
			Start:     l.Start.Unix(),
			End:       l.End.Unix(),
			Adopted:   adopted,
			State:     state,
		}
		if err := j.journal.Note(event); err != nil {
			return err
		}
		j.page.End.Store(l.End.Unix())
		j.page.Grants.Add(1)
	}
	return nil
}

func isOld(l randflake.Lease) bool { return time.Until(l.End) < -time.Minute }

// outliving leases have the bug Outlive: they are used for a window longer.
type outliving struct{ lease.Source }

func (o outliving) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := o.Source.Take(ctx, from, to, nodes)
	for i := range leases {
		leases[i].End = leases[i].End.Add(o.Limits().Window)
	}
	return leases, err
}
