package broken

import (
	"context"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
)

// brokenLeases are leases with a bug.
type brokenLeases struct {
	lease.Source
	bug Bug

	mu   sync.Mutex
	mine map[lease.Token]lease.Token // the newest renewal, by owner
}

func (s *brokenLeases) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	rec, err := s.Source.Acquire(ctx, req)
	if err == nil && s.bug == StartNow {
		rec.Start = min(rec.Start, rec.Changed)
	}
	return rec, err
}

func (s *brokenLeases) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	s.mu.Lock()
	if s.mine == nil {
		s.mine = make(map[lease.Token]lease.Token)
	}
	s.mine[held.Owner] = renewal.Token
	s.mu.Unlock()
	if s.bug == RenewOthers || s.bug == NoReport {
		found, err := s.find(ctx, held)
		if err != nil {
			return lease.Record{}, err
		}
		if s.bug == NoReport && found.Version < held.Version {
			return lease.Record{}, &lease.LostError{FirstNode: held.FirstNode, LastNode: held.LastNode, Why: "it is not in the store"}
		}
		held = found
	}
	return s.Source.Renew(ctx, held, renewal)
}

func (s *brokenLeases) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	rec, err := s.Source.Lookup(ctx, held)
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine, ok := s.mine[held.Owner]; ok && err == nil && s.bug == AnyChange {
		rec.Change = mine
	}
	return rec, err
}

func (s *brokenLeases) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	if s.bug == ReleaseAnyway {
		found, err := s.find(ctx, held)
		if err != nil {
			return err
		}
		held = found
	}
	return s.Source.Release(ctx, held, lastUsed)
}

// find returns the record of held's nodes, whoever has them.
func (s *brokenLeases) find(ctx context.Context, held lease.Record) (lease.Record, error) {
	records, err := s.Source.List(ctx)
	for _, r := range records {
		if r.FirstNode == held.FirstNode && r.LastNode == held.LastNode {
			held = r
		}
	}
	return held, err
}
