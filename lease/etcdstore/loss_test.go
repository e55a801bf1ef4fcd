package etcdstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// wantFloor checks that no lease may start before second, 0 for no bound, by what is stored.
func wantFloor(t *testing.T, s *Store, second int64) {
	t.Helper()
	_, notBefore, err := s.Limits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := int64(0)
	if !notBefore.IsZero() {
		got = notBefore.Unix()
	}
	if got != second {
		t.Errorf("no lease before %d, want %d", got, second)
	}
}

// wantLost checks that a renewal is refused.
func wantLost(t *testing.T, s *Store, held lease.Record) {
	t.Helper()
	if got, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: %+v, %v; want ErrLost", got, err)
	}
}

// wantGrants checks that the handles grant nothing until the floor is near, and then from there.
func wantGrants(t *testing.T, clock *leasetest.Clock, floor int64, handles ...*Store) {
	t.Helper()
	now := clock.Now()
	defer clock.Set(now)
	for _, h := range handles {
		clock.Set(now)
		if rec, err := h.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("long before the floor: %+v, %v; want ErrNoRange", rec, err)
		}
		clock.Set(time.Unix(floor-60, 0))
		if rec := acquire(t, h, oneMinute); rec.Start != floor {
			t.Errorf("granted from %d, want %d", rec.Start, floor)
		}
	}
}

// edit changes the keys of a store behind its back.
func edit(t *testing.T, s *Store, ops ...clientv3.Op) {
	t.Helper()
	if _, err := s.client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestNoLoss is the negative control: what many handles do to one another is no loss.
func TestNoLoss(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	handles := []*Store{s, open(t, url, clock), open(t, url, clock)}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			h := handles[i%len(handles)]
			held := acquire(t, h, lease.Request{Nodes: 1 + i%4, TTL: time.Minute})
			for j := range 10 {
				h = handles[j%len(handles)]
				held = renew(t, h, held)
				h.List(t.Context())
			}
			h.Renew(t.Context(), lease.Record{FirstNode: held.FirstNode, LastNode: held.LastNode, Owner: lease.Owner{1}, Version: 1}, time.Minute)
			if err := h.Release(t.Context(), held, noon); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
	wg.Wait()
	for _, h := range handles {
		wantFloor(t, h, 0)
		if h.seen.healed != 0 || h.seen.lost {
			t.Errorf("a handle noticed a loss: %+v", h.seen)
		}
	}
}

// TestRollback: the member's data is replaced by an older copy.
func TestRollback(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		cluster := startCluster(t, 1, nil)
		url := urlOf(cluster, "/randflake/")
		s, clock := create(t, url)
		old := acquire(t, s, oneMinute)
		backup := t.TempDir()
		if err := cluster.Copy(backup); err != nil {
			t.Fatal(err)
		}
		var forgotten lease.Record
		eventually(t, "Acquire", func(ctx context.Context) (err error) {
			forgotten, err = s.Acquire(ctx, oneMinute)
			return err
		})
		if err := cluster.Restore(backup); err != nil {
			t.Fatal(err)
		}
		clock.Advance(5 * time.Second)
		floor := noon.Unix() + 5 + floorSpan
		raw := rawClient(t, cluster.Members[0].Client)
		for i := 0; overtaken && i < 100; i++ { // other programs write to etcd
			eventually(t, "put", func(ctx context.Context) error {
				_, err := raw.Put(ctx, "/other", "x")
				return err
			})
		}
		eventually(t, "Renew of a lease that is older than the loss", func(ctx context.Context) error {
			_, err := s.Renew(ctx, old, time.Minute)
			if errors.Is(err, lease.ErrLost) {
				return nil
			}
			return errors.Join(err, errors.New("not lost"))
		})
		wantFloor(t, s, floor)
		wantLost(t, s, forgotten)
		if got, err := s.Lookup(t.Context(), old); err != nil || got != old {
			t.Errorf("Lookup: %+v, %v; want %+v", got, err, old)
		}
		wantGrants(t, clock, floor, s, open(t, url, clock))
		if err := s.Release(t.Context(), old, noon); err != nil {
			t.Errorf("Release of a lease that is older than the loss: %v", err)
		}
		wantFloor(t, s, floor)
	}
}

// TestRevisionGoesBack: etcd answers with a lower revision than the handle saw, but nothing that it
// knows of this store is missing. Each call makes that good before it answers.
func TestRevisionGoesBack(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, s *Store, held lease.Record){
		"Renew": wantLostOf,
		"Release": func(t *testing.T, s *Store, held lease.Record) {
			if err := s.Release(t.Context(), held, noon); err != nil {
				t.Errorf("Release: %v", err)
			}
		},
		"Lookup": func(t *testing.T, s *Store, held lease.Record) {
			if got, err := s.Lookup(t.Context(), held); err != nil || got != held {
				t.Errorf("Lookup: %+v, %v; want %+v", got, err, held)
			}
		},
		"Acquire": func(t *testing.T, s *Store, held lease.Record) {
			if rec, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
				t.Errorf("Acquire: %+v, %v; want ErrNoRange", rec, err)
			}
		},
		"List, then Renew": func(t *testing.T, s *Store, held lease.Record) {
			s.List(t.Context())
			wantFloor(t, s, 0)
			wantLostOf(t, s, held)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := create(t, newURL())
			held := acquire(t, s, oneMinute)
			s.seen.revision += 1_000_000
			call(t, s, held)
			wantFloor(t, s, noon.Unix()+floorSpan)
			if s.seen.healed != 1 || s.seen.revision > 1_000_000 {
				t.Errorf("the handle goes by %+v", s.seen)
			}
		})
	}
}

func wantLostOf(t *testing.T, s *Store, held lease.Record) { wantLost(t, s, held) }

// TestRaisedInVain: the renewal that went through before the loss was noticed is not told to the holder
// later either.
func TestRaisedInVain(t *testing.T) {
	s, clock := create(t, newURL())
	held := acquire(t, s, oneMinute)
	clock.Advance(10 * time.Second)
	s.seen.revision += 1_000_000
	wantLost(t, s, held)
	records, err := s.List(t.Context())
	if err != nil || records[0].HighWater != held.HighWater+10 || records[0].Version != held.Version+1 {
		t.Fatalf("the renewal did not go through: %+v, %v", records, err)
	}
	got, err := s.Lookup(t.Context(), held)
	if err != nil || got.HighWater != held.HighWater || got.Version != held.Version+1 {
		t.Errorf("Lookup: %+v, %v; want the end that is known already, %d", got, err, held.HighWater)
	}
	if err := s.Release(t.Context(), got, noon); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// TestKeysLost: keys vanish under a handle that has seen them.
func TestKeysLost(t *testing.T) {
	for name, lose := range map[string]func(s *Store) clientv3.Op{
		"meta":       func(s *Store) clientv3.Op { return clientv3.OpDelete(s.keys.meta()) },
		"everything": func(s *Store) clientv3.Op { return clientv3.OpDelete(s.keys.prefix, clientv3.WithPrefix()) },
		"records": func(s *Store) clientv3.Op {
			return clientv3.OpDelete(s.keys.prefix+rangeName, clientv3.WithPrefix())
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := newURL()
			s, clock := create(t, url)
			other := open(t, url, clock)
			held := acquire(t, s, oneMinute)
			before := s.seen.meta.Incarnation
			edit(t, s, lose(s))
			clock.Advance(time.Second)
			floor := noon.Unix() + 1 + floorSpan

			if name != "records" {
				if _, err := s.List(t.Context()); !errors.Is(err, lease.ErrNoStore) {
					t.Errorf("List: error %v, want ErrNoStore", err)
				}
				if _, err := Open(t.Context(), url); !errors.Is(err, lease.ErrNoStore) {
					t.Errorf("Open: error %v, want ErrNoStore", err)
				}
			}
			wantLost(t, s, held)
			wantFloor(t, s, floor)
			if changed := s.seen.meta.Incarnation != before; changed != (name != "records") {
				t.Errorf("another incarnation: %v", changed)
			}
			if s.seen.meta.Rules != testRules {
				t.Errorf("rules are now %+v", s.seen.meta.Rules)
			}
			wantLost(t, s, held)
			wantFloor(t, s, floor)
			wantGrants(t, clock, floor, s, other, open(t, url, clock))
		})
	}
}

// TestAnotherStore: the store was removed and made anew, as one for a new secret with narrower
// rules. The floor goes by the rules under which the lost leases were granted.
func TestAnotherStore(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	held := acquire(t, s, lease.Request{Nodes: 1, TTL: 100 * time.Second})
	edit(t, s, clientv3.OpDelete(s.keys.prefix, clientv3.WithPrefix()))
	next, err := Create(t.Context(), url, ForNewSecret(), WithRules(lease.Rules{MaxTTL: time.Second}), WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	wantFloor(t, next, 0)
	if _, err := s.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Second}); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire: error %v, want ErrNoRange", err)
	}
	wantFloor(t, s, noon.Unix()+floorSpan)
	if s.seen.meta.Incarnation != next.seen.meta.Incarnation {
		t.Error("the new store was replaced")
	}
	if _, err := s.Lookup(t.Context(), held); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Lookup: error %v, want ErrLost", err)
	}
}

// TestHolderKnowsBetter: the store's record has a lower version than its holder.
func TestHolderKnowsBetter(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, s *Store, held lease.Record){
		"Renew": wantLostOf,
		"Lookup": func(t *testing.T, s *Store, held lease.Record) {
			if got, err := s.Lookup(t.Context(), held); err != nil || got.Version >= held.Version {
				t.Errorf("Lookup: %+v, %v; want the older version", got, err)
			}
		},
		"Release": func(t *testing.T, s *Store, held lease.Record) {
			if err := s.Release(t.Context(), held, noon); !errors.Is(err, lease.ErrLost) {
				t.Errorf("Release: error %v, want ErrLost", err)
			}
		},
	} {
		url := newURL()
		s, clock := create(t, url)
		old := acquire(t, s, oneMinute)
		held := renew(t, s, old)
		edit(t, s, clientv3.OpPut(s.keys.record(old), encodeRecord(old)))
		fresh := open(t, url, clock)
		call(t, fresh, held)
		wantFloor(t, fresh, noon.Unix()+floorSpan)
		clock.Advance(time.Second)
		call(t, fresh, held)
		wantFloor(t, fresh, noon.Unix()+floorSpan)
		if fresh.seen.healed != 1 {
			t.Errorf("%s: one loss was made good %d times", name, fresh.seen.healed)
		}
	}
}

// TestHolderFromTheFuture: a lease that a clock far ahead granted, and of which the store knows nothing,
// does not raise the floor, which could never get past its start.
func TestHolderFromTheFuture(t *testing.T) {
	s, clock := create(t, newURL())
	clock.Advance(time.Hour)
	held := acquire(t, s, oneMinute)
	edit(t, s, clientv3.OpDelete(s.keys.record(held)), clientv3.OpPut(s.keys.meta(), encodeMeta(s.seen.meta)))
	clock.Set(noon)
	s = open(t, urlOf(shared, s.keys.prefix), clock)
	for range 3 {
		wantLost(t, s, held)
		clock.Advance(time.Second)
	}
	wantFloor(t, s, 0)
}

// lagging is an etcd that goes back in time between the first read and the write after it.
type lagging struct {
	clientv3.KV
	reads, writes int
	meanwhile     func()
}

func (l *lagging) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := l.KV.Get(ctx, key, opts...)
	if l.reads++; l.reads == 1 && err == nil {
		resp.Header.Revision += 1_000_000
	}
	return resp, err
}

func (l *lagging) Txn(ctx context.Context) clientv3.Txn {
	if l.writes++; l.writes == 1 {
		l.meanwhile()
	}
	return l.KV.Txn(ctx)
}

// TestLossWhileTheFloorIsRaised: the floor that was computed before a loss does not count for it.
func TestLossWhileTheFloorIsRaised(t *testing.T) {
	s, clock := create(t, newURL())
	held := acquire(t, s, oneMinute)
	s.client.KV = &lagging{KV: s.client.KV, meanwhile: func() { clock.Advance(time.Hour) }}
	if err := s.Distrust(t.Context()); err == nil {
		t.Error("no error of the floor that came too early")
	}
	wantLost(t, s, held)
	wantFloor(t, s, clock.Now().Unix()+floorSpan)
}

// hollow is an etcd whose answers have nothing in them.
type hollow struct{ clientv3.KV }

func (hollow) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return &clientv3.GetResponse{}, nil
}
func (hollow) Txn(context.Context) clientv3.Txn { return hollowTxn{} }

type hollowTxn struct{}

func (t hollowTxn) If(...clientv3.Cmp) clientv3.Txn  { return t }
func (t hollowTxn) Then(...clientv3.Op) clientv3.Txn { return t }
func (t hollowTxn) Else(...clientv3.Op) clientv3.Txn { return t }
func (hollowTxn) Commit() (*clientv3.TxnResponse, error) {
	return &clientv3.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{{}}}, nil
}

// TestHollowAnswers: an answer that says nothing is no success.
func TestHollowAnswers(t *testing.T) {
	s, _ := create(t, newURL())
	held := acquire(t, s, oneMinute)
	s.client.KV = hollow{s.client.KV}
	for name, call := range map[string]func() error{
		"Acquire":  func() error { _, err := s.Acquire(t.Context(), oneMinute); return err },
		"Renew":    func() error { _, err := s.Renew(t.Context(), held, time.Minute); return err },
		"Lookup":   func() error { _, err := s.Lookup(t.Context(), held); return err },
		"Release":  func() error { return s.Release(t.Context(), held, noon) },
		"List":     func() error { _, err := s.List(t.Context()); return err },
		"Distrust": func() error { return s.Distrust(t.Context()) },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestAnotherCluster: all keys come to another cluster, as with a restored snapshot. A handle that never
// saw the first cluster knows by the lineage.
func TestAnotherCluster(t *testing.T) {
	from, to := startCluster(t, 1, nil), startCluster(t, 1, nil)
	s, clock := create(t, urlOf(from, "/randflake/"))
	held := acquire(t, s, oneMinute)
	resp, err := s.client.Get(t.Context(), "/randflake/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	raw := rawClient(t, to.Members[0].Client)
	for _, kv := range resp.Kvs {
		if _, err := raw.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	trusting, err := Open(t.Context(), urlOf(to, "/randflake/")+"&recovery=trusted", WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer trusting.Close()
	held = renew(t, trusting, held)
	wantFloor(t, trusting, 0)

	fresh := open(t, urlOf(to, "/randflake/"), clock)
	wantFloor(t, fresh, 0)
	wantLost(t, fresh, held)
	wantFloor(t, fresh, noon.Unix()+floorSpan)
	clock.Advance(time.Second)
	later := open(t, urlOf(to, "/randflake/"), clock)
	wantGrants(t, clock, noon.Unix()+floorSpan, later)
	wantFloor(t, later, noon.Unix()+floorSpan)
}

func TestDistrust(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	other := open(t, url, clock)
	held := acquire(t, other, oneMinute)
	if err := s.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFloor(t, s, noon.Unix()+floorSpan)
	wantLost(t, other, held)
	wantGrants(t, clock, noon.Unix()+floorSpan, other)
	if other.seen.healed != 0 {
		t.Error("another handle took a raised floor for a loss")
	}
	clock.Advance(-time.Hour)
	if err := s.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFloor(t, s, noon.Unix()+floorSpan) // never lowered
}

// TestFloorMustBeRaised: as long as the floor can't be raised, nothing is granted, also not when
// nothing strange shows any more.
func TestFloorMustBeRaised(t *testing.T) {
	s, clock := create(t, newURL())
	held := acquire(t, s, oneMinute)
	s.seen.revision += 1_000_000
	s.List(t.Context())
	s.seen.revision -= 1_000_000
	clock.Set(time.Unix(randflake.Epoch-1, 0))
	for range 2 {
		_, err := s.Renew(t.Context(), held, time.Minute)
		if err == nil || errors.Is(err, lease.ErrLost) {
			t.Errorf("Renew with a clock that can't be right: error %v", err)
		}
	}
	clock.Set(noon)
	wantLost(t, s, held)
	wantFloor(t, s, noon.Unix()+floorSpan)
}

// TestManyNotice: many handles notice the same loss at once.
func TestManyNotice(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	handles := []*Store{s}
	for range 5 {
		handles = append(handles, open(t, url, clock))
	}
	for _, h := range handles {
		acquire(t, h, oneMinute)
	}
	edit(t, s, clientv3.OpDelete(s.keys.prefix, clientv3.WithPrefix()))
	floor := noon.Unix() + floorSpan
	wantNone(t, handles)
	clock.Set(time.Unix(floor-60, 0))
	var h leasetest.History
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			rec := acquire(t, handles[i%len(handles)], oneMinute)
			h.Granted(rec)
			if rec.Start != floor {
				t.Errorf("granted from %d, want %d", rec.Start, floor)
			}
		})
	}
	wg.Wait()
	if err := h.Check(); err != nil || h.Len() != 24 {
		t.Errorf("%d leases, %v", h.Len(), err)
	}
	for _, handle := range handles {
		if handle.seen.healed != 1 {
			t.Errorf("a handle made %d losses good", handle.seen.healed)
		}
	}
}

// wantNone checks that nobody grants anything, each handle asked several times at once.
func wantNone(t *testing.T, handles []*Store) {
	var wg sync.WaitGroup
	for i := range 4 * len(handles) {
		wg.Go(func() {
			if rec, err := handles[i%len(handles)].Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
				t.Errorf("Acquire: %+v, %v; want ErrNoRange", rec, err)
			}
		})
	}
	wg.Wait()
}

// TestLateAnswer: an answer that was asked for before a loss was made good does not count any more.
func TestLateAnswer(t *testing.T) {
	s, _ := create(t, newURL())
	v, err := s.settle(t.Context(), nobody, s.readEverything)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.revision = 1_000_000 // etcd was there before it went back
	if s.accept(&v, nobody) || s.seen.revision == v.revision || s.seen.lost {
		t.Errorf("the handle goes by %+v", s.seen)
	}
	v.meta = nil
	if s.accept(&v, nobody) || s.seen.lost {
		t.Error("one loss was noticed twice")
	}
}

// TestCorrupt: what can't be decoded is refused and left as it is.
func TestCorrupt(t *testing.T) {
	good := encodeRecord(lease.Record{FirstNode: 5, LastNode: 5, Version: 1, Start: noon.Unix(), HighWater: noon.Unix()})
	wide := encodeRecord(lease.Record{FirstNode: 0, LastNode: 3, Version: 1, Start: noon.Unix(), HighWater: noon.Unix()})
	for name, damage := range map[string]func(s *Store) (key, value string){
		"meta":             func(s *Store) (string, string) { return s.keys.meta(), "x" },
		"record":           func(s *Store) (string, string) { return s.keys.atNode(0, 5), good[:59] + "x" },
		"record elsewhere": func(s *Store) (string, string) { return s.keys.atNode(0, 6), good },
		"overlap":          func(s *Store) (string, string) { return s.keys.atNode(2, 0), wide },
	} {
		url := newURL()
		s, _ := create(t, url)
		acquire(t, s, oneMinute)
		key, value := damage(s)
		edit(t, s, clientv3.OpPut(key, value))
		before, _ := s.client.Get(t.Context(), s.keys.prefix, clientv3.WithPrefix())
		_, err := s.Acquire(t.Context(), oneMinute)
		_, listErr := s.List(t.Context())
		if !errors.Is(err, lease.ErrCorrupt) || !errors.Is(listErr, lease.ErrCorrupt) {
			t.Errorf("%s: Acquire: %v, List: %v; want ErrCorrupt", name, err, listErr)
		}
		if name == "meta" {
			_, err := Open(t.Context(), url)
			_, renewErr := s.Renew(t.Context(), lease.Record{Owner: lease.Owner{1}}, time.Minute)
			if !errors.Is(err, lease.ErrCorrupt) || !errors.Is(renewErr, lease.ErrCorrupt) {
				t.Errorf("Open: %v, Renew: %v; want ErrCorrupt", err, renewErr)
			}
		}
		after, _ := s.client.Get(t.Context(), s.keys.prefix, clientv3.WithPrefix())
		if !slices.EqualFunc(before.Kvs, after.Kvs, func(a, b *mvccpb.KeyValue) bool { return a.String() == b.String() }) {
			t.Errorf("%s: the store was changed", name)
		}
	}
}
