package etcdstore

import (
	"context"
	"math/rand/v2"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// Acquire implements [lease.Store]. It reads everything and stores its choice in a transaction that
// fails if somebody else was faster; that answers with everything as it is then, so each further
// attempt is one more round trip. Attempts choose at random among more and more candidates, so
// that clients which start at once get out of each other's way.
func (s *Store) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	v, err := s.settle(ctx, lease.Record{}, s.readEverything)
	if err != nil {
		return lease.Record{}, err
	}
	for spread := 1; ; spread = min(4*spread, randflake.MaxNode+1) {
		next, err := s.choose(v, req, spread)
		if err != nil {
			return lease.Record{}, err
		}
		var granted bool
		v, granted, err = s.swap(ctx, v, next, s.unchanged(v, next), s.everything())
		if err != nil {
			return lease.Record{}, err
		}
		accepted := s.accept(&v, lease.Record{})
		if accepted && granted {
			return next, nil
		}
		if !accepted {
			if v, err = s.settle(ctx, lease.Record{}, s.readEverything); err != nil {
				return lease.Record{}, err
			}
		}
	}
}

// choose grants one of the spread best ranges for req, as things stand in v.
func (s *Store) choose(v view, req lease.Request, spread int) (lease.Record, error) {
	now := s.clock().Unix()
	rules, notBefore := v.meta.Rules, v.meta.NotBefore
	if spread > 1 {
		candidates := rules.Candidates(v.records, req, now, spread)
		if n := len(candidates); n > 0 {
			if next, err := rules.GrantOn(candidates[rand.IntN(n)], req, now, notBefore); err == nil {
				return next, nil
			}
		}
	}
	return rules.Grant(v.records, req, now, notBefore)
}

// unchanged is the condition that next's range still has the record that it has in v, or that its
// nodes still have none.
func (s *Store) unchanged(v view, next lease.Record) []clientv3.Cmp {
	current := v.find(next)
	if current.Version == 0 {
		return s.keys.noneNewer(next, v.revision)
	}
	return []clientv3.Cmp{s.stored(current)}
}

// stored is the condition that the store has the record r.
func (s *Store) stored(r lease.Record) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(s.keys.record(r)), "=", encodeRecord(r))
}

// swap stores next if the conditions hold and neither the meta changed since v nor the store went
// back in time, all in one transaction. Otherwise it reads again.
func (s *Store) swap(ctx context.Context, v view, next lease.Record, conditions []clientv3.Cmp, otherwise []clientv3.Op) (after view, swapped bool, err error) {
	key, before := s.keys.record(next), v.before
	conditions = append(conditions,
		clientv3.Compare(clientv3.Value(s.keys.meta()), "=", encodeMeta(*v.meta)),
		clientv3.Compare(clientv3.ModRevision(before.newest.key), ">", before.newest.revision-1))
	resp, err := s.client.Txn(ctx).If(conditions...).Then(clientv3.OpPut(key, encodeRecord(next))).Else(otherwise...).Commit()
	if err != nil {
		return view{}, false, s.failed("write", err)
	}
	if !resp.Succeeded {
		after, err = s.parse(before, resp.Header, contents(resp)...)
		return after, false, err
	}
	return view{
		before:   before,
		revision: resp.Header.GetRevision(),
		cluster:  resp.Header.GetClusterId(),
		meta:     v.meta,
		newest:   position{key, resp.Header.GetRevision()},
		reread:   before.newest.revision,
	}, true, nil
}
