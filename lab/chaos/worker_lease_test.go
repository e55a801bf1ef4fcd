package chaos

import (
	"context"
	"errors"
	"sync"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/client"
)

// This file is all of chaos that knows how leases are taken and kept.

// open opens the worker's space, with the bug if it is one of engines.
func (w *worker) open(ctx context.Context) (*lease.Space, error) {
	if w.Bug != forget {
		return url.Open(ctx, w.Store, lease.Config{})
	}
	engine, _, err := url.Engine(ctx, w.Store)
	if err != nil {
		return nil, err
	}
	return lease.Open(ctx, forgetful{engine}, lease.Config{})
}

// lease makes IDs under leases until ctx ends. The last ones are made while the generator is being closed.
func (w *worker) lease(ctx context.Context, space *lease.Space) error {
	source, err := insist(ctx, w, func(ctx context.Context) (lease.Source, error) { return w.source(ctx, space) })
	if err != nil {
		return nil
	}
	k, err := insist(ctx, w, func(ctx context.Context) (*lease.Keeper[*randflake.Generator], error) {
		return lease.Keep(ctx, source, w.secret, lease.WithNodes(w.Nodes), lease.WithOutage(w.Outage), lease.WithWait(w.Wait))
	})
	if err != nil {
		return nil
	}
	w.page.Holding.Store(1)
	return w.makeAll(ctx, k.Generator(), func() { k.Close() })
}

// source returns the leases of a space, or of the service's replicas, with notes of what they grant.
func (w *worker) source(ctx context.Context, space *lease.Space) (source lease.Source, err error) {
	if space != nil {
		source = space
	} else if source, err = client.OpenLeases(ctx, spaceName, w.Replicas, client.WithToken(token), client.WithPlaintext()); err != nil {
		return nil, err
	}
	source = &noted{Source: source, worker: w}
	if w.Bug == outlive {
		return &outliving{Source: source}, nil
	}
	return source, nil
}

// A noted source of leases has each of them in the journal before the keeper learns of it.
type noted struct {
	lease.Source
	*worker
	mu sync.Mutex
}

func (s *noted) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leases := s.adopted(from, to); leases != nil {
		return leases, s.note(leases, true)
	}
	s.page.Calling.Store(1)
	leases, err := s.Source.Take(ctx, from, to, nodes)
	s.page.Calling.Store(0)
	switch {
	case errors.Is(err, lease.ErrLoss):
		s.page.Lost.Add(1)
	case refusalOf(err) == Unreachable:
		s.page.Unknown.Add(1)
	}
	if failed := s.note(leases, false); failed != nil {
		return nil, failed
	}
	return leases, err
}

// adopted returns the leases of the other process for some windows.
func (s *noted) adopted(from, to int64) (leases []randflake.Lease) {
	for _, l := range s.Adopt {
		window := s.Limits().WindowOf(l.Start)
		if from <= window && window <= to {
			leases = append(leases, l)
		}
	}
	return leases
}

func (s *noted) note(leases []randflake.Lease, adopted bool) error {
	for _, l := range leases {
		if err := s.journal.Encode(event{Granted: &l, Adopted: adopted}); err != nil {
			return err
		}
		s.page.End.Store(l.End.Unix())
		s.page.Grants.Add(1)
	}
	return nil
}
