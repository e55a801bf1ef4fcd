package broken

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
)

// A Store is a lease.Store in memory, with a bug or without.
type Store struct {
	bug   Bug
	rules lease.Rules
	clock func() time.Time

	mu       sync.Mutex
	records  []lease.Record // ordered by FirstNode
	durable  []lease.Record // what a crash leaves; with the bug LateSync only
	unsynced int            // changes that it lacks
}

var _ lease.Store = (*Store)(nil)

// syncEvery is how many changes a store with the bug LateSync makes durable at once.
const syncEvery = 10

// NewStore returns an empty store. A nil clock stands for time.Now.
func NewStore(bug Bug, rules lease.Rules, clock func() time.Time) *Store {
	if clock == nil {
		clock = time.Now
	}
	return &Store{bug: bug, rules: rules, clock: clock}
}

// Crash makes the store forget what is not durable: nothing, but with the bug LateSync up to nine
// changes.
func (s *Store) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bug == LateSync {
		s.records, s.unsynced = slices.Clone(s.durable), 0
	}
}

// Acquire implements lease.Store.
func (s *Store) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	err = s.do(ctx, func(now int64) error {
		rec, err = s.grant(req, now)
		if err != nil {
			return err
		}
		s.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

func (s *Store) grant(req lease.Request, now int64) (lease.Record, error) {
	if s.bug == IgnoreHighWater {
		if err := s.rules.CheckRequest(req); err != nil {
			return lease.Record{}, err
		}
		if i := slices.IndexFunc(s.records, func(r lease.Record) bool {
			return r.Owner == lease.Owner{} && r.Nodes() >= req.Nodes
		}); i >= 0 {
			forgetful := s.records[i]
			forgetful.HighWater = now - 1
			return s.rules.GrantOn(forgetful, req, now, 0)
		}
	}
	rec, err := s.rules.Grant(s.records, req, now, 0)
	if s.bug == StartNow {
		rec.Start = now
	}
	return rec, err
}

// Renew implements lease.Store.
func (s *Store) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (rec lease.Record, err error) {
	err = s.do(ctx, func(now int64) error {
		rec, err = s.rules.Renew(s.find(held), held, ttl, now, 0)
		if err != nil {
			return err
		}
		s.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

// Lookup implements lease.Store.
func (s *Store) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = s.do(ctx, func(int64) error {
		rec = s.find(held)
		if held.Owner == (lease.Owner{}) || rec.Owner != held.Owner {
			return fmt.Errorf("%w: nodes %d to %d", lease.ErrLost, held.FirstNode, held.LastNode)
		}
		return nil
	})
	return orNothing(rec, err)
}

// Release implements lease.Store.
func (s *Store) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return s.do(ctx, func(int64) error {
		current := s.find(held)
		if s.bug == ReleaseAnyway {
			held = current
		}
		rec, err := s.rules.Release(current, held, lastUsed)
		if err != nil {
			return err
		}
		s.put(rec)
		return nil
	})
}

// List implements lease.Store.
func (s *Store) List(ctx context.Context) (records []lease.Record, err error) {
	err = s.do(ctx, func(int64) error {
		records = slices.Clone(s.records)
		return nil
	})
	return records, err
}

// Close does nothing: the store is the data, and outlives those who use it.
func (s *Store) Close() error { return nil }

// do runs one operation under the lock.
func (s *Store) do(ctx context.Context, operation func(now int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock().Unix()
	if s.bug == Expiry {
		s.records = slices.DeleteFunc(s.records, func(r lease.Record) bool {
			return r.Owner == lease.Owner{} || r.HighWater < now
		})
	}
	return operation(now)
}

// find returns the record of held's range, or the zero Record, which nobody holds.
func (s *Store) find(held lease.Record) lease.Record {
	i, ok := s.search(held.FirstNode)
	if !ok || s.records[i].LastNode != held.LastNode {
		return lease.Record{}
	}
	return s.records[i]
}

// put stores rec, in place of the one of the same range if there is one.
func (s *Store) put(rec lease.Record) {
	if i, ok := s.search(rec.FirstNode); ok {
		s.records[i] = rec
	} else {
		s.records = slices.Insert(s.records, i, rec)
	}
	if s.unsynced++; s.bug == LateSync && s.unsynced == syncEvery {
		s.durable, s.unsynced = slices.Clone(s.records), 0
	}
}

func (s *Store) search(firstNode uint32) (int, bool) {
	return slices.BinarySearchFunc(s.records, firstNode, func(r lease.Record, first uint32) int {
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
