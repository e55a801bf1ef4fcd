package etcdstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// A sighting is what a handle remembers of its store: the newest state that it saw.
type sighting struct {
	meta     meta
	revision int64    // etcd's
	newest   position // the store's newest change
	lost     bool     // a loss of data was noticed, and the floor is not raised yet
	healed   int      // how many losses the handle made good
}

// A position is a key and its mod revision. As no key is ever deleted, a key whose mod revision
// is lower than it was went back in time, and the store with it. A condition on it notices that also
// when etcd's revision has since overtaken the lost ones, as that of a busy cluster soon does.
type position struct {
	key      string
	revision int64
}

// accept reports whether v may follow what the handle knew when it asked, and remembers it then.
// If not, either v shows that data was lost or went back in time, which is kept in mind until
// ready makes it good, or that was done since; the caller starts over either way.
func (s *Store) accept(v *view, held lease.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.healed != v.before.healed {
		return false
	}
	if s.seen.lost || v.showsLoss(held, s.trustRecovery, s.clock().Unix()) {
		s.seen.lost = true
		return false
	}
	if v.revision >= s.seen.revision {
		s.seen.revision, s.seen.meta = v.revision, *v.meta
	}
	if v.newest.revision > s.seen.newest.revision {
		s.seen.newest = v.newest
	}
	v.before = s.seen
	return true
}

// showsLoss reports whether v can't follow what was known before. A holder who knows a higher
// version of its record than the store does is a witness too, as long as its lease is not older
// than a loss that was made good already. One whose lease starts after any floor that could be set
// was granted it by a wrong clock, and would raise the floor again and again.
func (v *view) showsLoss(held lease.Record, trustRecovery bool, now int64) bool {
	switch {
	case v.meta == nil || v.meta.Incarnation != v.before.meta.Incarnation:
		return true
	case v.revision < v.before.revision || v.reread < v.before.newest.revision:
		return true
	case v.meta.Cluster != v.cluster && !trustRecovery:
		return true
	}
	return held.Owner != lease.Owner{} && held.Version > v.find(held).Version &&
		held.Start >= v.meta.NotBefore && held.Start < v.meta.Rules.NotBefore(now)
}

// ready returns what the handle knows, after it made good for each loss that was noticed.
func (s *Store) ready(ctx context.Context) (sighting, error) {
	if err := s.usable(ctx); err != nil {
		return sighting{}, err
	}
	for {
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		if !seen.lost {
			return seen, nil
		}
		if err := s.heal(ctx); err != nil {
			return sighting{}, s.failed("data was lost or went back in time: raise the floor", err)
		}
	}
}

// heal raises the floor so far that every lease that was forgotten will have ended, and goes by
// the state that it finds from then on.
func (s *Store) heal(ctx context.Context) error {
	select {
	case s.healing <- struct{}{}:
		defer func() { <-s.healing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		if !seen.lost {
			return nil // another goroutine was first
		}
		done, err := s.raiseFloor(ctx, seen)
		if err != nil || done {
			return err
		}
	}
}

// raiseFloor makes one attempt at heal, which is not done when the meta changes meanwhile. It fails when
// the store goes back in time meanwhile: the floor then came too early to count for that loss.
func (s *Store) raiseFloor(ctx context.Context, seen sighting) (done bool, err error) {
	resp, err := s.client.Get(ctx, s.keys.meta())
	if err != nil {
		return false, err
	}
	v, err := s.parse(seen, resp.Header, resp.Kvs)
	if err != nil {
		return false, err
	}
	raised, err := s.raised(v, seen)
	if err != nil {
		return false, err
	}
	if v.meta != nil && *v.meta == raised {
		s.adopt(raised, v.revision, v.newest)
		return true, nil
	}
	unchanged := clientv3.Compare(clientv3.CreateRevision(s.keys.meta()), "=", 0)
	if v.meta != nil {
		unchanged = clientv3.Compare(clientv3.Value(s.keys.meta()), "=", encodeMeta(*v.meta))
	}
	txn, err := s.client.Txn(ctx).If(unchanged).Then(clientv3.OpPut(s.keys.meta(), encodeMeta(raised))).Commit()
	if err != nil || !txn.Succeeded {
		return false, err
	}
	if txn.Header.GetRevision() <= v.revision || txn.Header.GetClusterId() != v.cluster {
		return false, errors.New("it went back once more meanwhile: are all endpoints members of one cluster?")
	}
	s.adopt(raised, txn.Header.Revision, position{s.keys.meta(), txn.Header.Revision})
	return true, nil
}

// raised returns the meta of v with the floor raised. Where there is none any more, it is that of
// another incarnation with the rules that the handle knew. Where there is that of another store,
// the floor goes by the wider of both rules, as what was lost was granted by the old ones.
func (s *Store) raised(v view, seen sighting) (meta, error) {
	now := s.clock().Unix()
	m := seen.meta
	if v.meta != nil {
		m = *v.meta
	} else {
		rand.Read(m.Incarnation[:]) // never fails, by its contract
	}
	for _, rules := range []lease.Rules{m.Rules, seen.meta.Rules} {
		floor, err := setup.Floor(rules, now)
		if err != nil {
			return meta{}, err
		}
		m.NotBefore = max(m.NotBefore, floor)
	}
	m.Cluster = v.cluster
	return m, nil
}

// adopt makes the state with the floor raised the one that the handle goes by.
func (s *Store) adopt(m meta, revision int64, newest position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sighting{meta: m, revision: revision, newest: newest, healed: s.seen.healed + 1}
}

// suspect notes that data was lost, on somebody's word.
func (s *Store) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.lost = true
}

// rounds is how many losses one call makes good before it gives up.
const rounds = 8

// settle asks etcd until the answer may follow what the handle knows.
func (s *Store) settle(ctx context.Context, held lease.Record, ask func(context.Context, sighting) (view, error)) (view, error) {
	for range rounds {
		before, err := s.ready(ctx)
		if err != nil {
			return view{}, err
		}
		v, err := ask(ctx, before)
		if err != nil {
			return view{}, err
		}
		if s.accept(&v, held) {
			return v, nil
		}
	}
	return view{}, fmt.Errorf("etcdstore: %s: data went back in time %d times during one call: are all endpoints members of one cluster?", s.where, rounds)
}
