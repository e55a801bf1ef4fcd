package etcdstore

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lease"
)

// Renew implements [lease.Store], in one round trip unless the record is not what held says.
func (s *Store) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (lease.Record, error) {
	return s.update(ctx, held, func(current lease.Record, m meta) (lease.Record, error) {
		return m.Rules.Renew(current, held, ttl, s.clock().Unix(), m.NotBefore)
	})
}

// Release implements [lease.Store], in one round trip unless the record is not what held says.
func (s *Store) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	_, err := s.update(ctx, held, func(current lease.Record, m meta) (lease.Record, error) {
		return m.Rules.Release(current, held, lastUsed)
	})
	return err
}

// Lookup implements [lease.Store]. A linearizable read finds only what a majority has on disk.
func (s *Store) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	if err := s.usable(ctx); err != nil {
		return lease.Record{}, err
	}
	if !isRange(held) {
		return lease.Record{}, lost(held)
	}
	v, err := s.settle(ctx, held, s.readOne(held))
	if err != nil {
		return lease.Record{}, err
	}
	return v.meta.Rules.Lookup(v.find(held), held, v.meta.NotBefore)
}

// update stores what decide makes of the record of held's range. It first tries on the guess
// that the record is what held says and that the meta is the one known, and reads both when that
// was wrong or refused.
func (s *Store) update(ctx context.Context, held lease.Record, decide func(lease.Record, meta) (lease.Record, error)) (lease.Record, error) {
	before, err := s.ready(ctx)
	if err != nil {
		return lease.Record{}, err
	}
	if !isRange(held) {
		return lease.Record{}, lost(held)
	}
	v, guessed := view{before: before, meta: &before.meta, records: []lease.Record{held}}, true
	for {
		current := v.find(held)
		next, err := decide(current, *v.meta)
		if err != nil && !guessed {
			return lease.Record{}, err
		}
		accepted := false
		if err == nil {
			var stored bool
			v, stored, err = s.swap(ctx, v, next, []clientv3.Cmp{s.stored(current)}, s.one(held, v.before))
			if err != nil {
				return lease.Record{}, err
			}
			if stored {
				return s.finish(ctx, v, current, next, decide)
			}
			accepted = s.accept(&v, held)
		}
		if !accepted {
			if v, err = s.settle(ctx, held, s.readOne(held)); err != nil {
				return lease.Record{}, err
			}
		}
		guessed = false
	}
}

// finish returns next, which was stored. If etcd's answer shows only now that data was lost, it
// raises the floor and returns what would have come of it had that been known: a mark that
// was raised in vain does no harm.
func (s *Store) finish(ctx context.Context, v view, current, next lease.Record, decide func(lease.Record, meta) (lease.Record, error)) (lease.Record, error) {
	if s.accept(&v, lease.Record{}) {
		return next, nil
	}
	now, err := s.ready(ctx)
	if err != nil {
		return lease.Record{}, err
	}
	if _, err := decide(current, now.meta); err != nil {
		return lease.Record{}, err
	}
	return next, nil
}

func lost(held lease.Record) error {
	return fmt.Errorf("%w: nodes %d to %d", lease.ErrLost, held.FirstNode, held.LastNode)
}
