package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func TestConformance(t *testing.T) {
	leasetest.Run(t, leasetest.Harness{
		New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
			url := newPlace()
			s, err := Create(t.Context(), url, WithRules(rules), WithClock(clock), ForNewSecret())
			mustDo(t, err)
			mustDo(t, s.Close())
			return func() (lease.Store, error) { return Open(t.Context(), url, WithClock(clock)) }
		},
	})
}

func TestConformanceByServerClock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for real seconds")
	}
	leasetest.Run(t, leasetest.Harness{
		OwnClock: "it is the server's",
		New: func(t *testing.T, rules lease.Rules, _ func() time.Time) func() (lease.Store, error) {
			url := newPlace()
			s, err := Create(t.Context(), url, WithRules(rules), ForNewSecret())
			mustDo(t, err)
			mustDo(t, s.Close())
			return func() (lease.Store, error) { return Open(t.Context(), url) }
		},
	})
}

// TestDecidesAsRules drives the store and one that decides by lease.Rules with the same calls, and
// compares all that they return except owners.
func TestDecidesAsRules(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, clock := create(t, newPlace())
			d := differential{t, rand.New(rand.NewPCG(seed, 7)), clock, s, leasetest.NewMemory(testRules, clock.Now), nil, 0}
			for range 500 {
				d.step()
			}
			if d.granted() < 50 {
				t.Errorf("only %d ranges were granted", d.granted())
			}
		})
	}
}

type differential struct {
	*testing.T
	rng   *rand.Rand
	clock *leasetest.Clock
	store *Store
	model *leasetest.Memory
	held  [][2]lease.Record // as the store and the model have them
	floor int64
}

func (d *differential) granted() int { return len(d.held) }

// step makes one random call of both. Sizes make ranges scarce, and the clock sometimes errs.
func (d *differential) step() {
	switch d.rng.IntN(12) {
	case 0:
		d.clock.Advance(time.Duration(d.rng.IntN(90)) * time.Second)
	case 1:
		d.clock.Advance(-time.Duration(d.rng.IntN(30)) * time.Second)
	case 2:
		d.clock.Set(noon.Add(time.Duration(d.rng.IntN(2000)-1000) * time.Second))
	case 3, 4, 5:
		d.clock.Advance(time.Second)
	case 6:
		if d.rng.IntN(25) == 0 {
			d.floor = max(d.floor, d.clock.Now().Unix()+floorAhead)
			d.model.SetNotBefore(d.floor)
			mustDo(d, d.store.Distrust(d.Context()))
		}
	}
	ttl := time.Duration(1+d.rng.IntN(100)) * time.Second
	ctx := d.Context()
	if len(d.held) == 0 || d.rng.IntN(3) == 0 {
		req := lease.Request{Nodes: []int{1, 2, 3, 9000, 20000, 40000}[d.rng.IntN(6)], TTL: ttl}
		if d.rng.IntN(4) == 0 {
			req.Below = []uint32{1, 6, 20000, 70000, randflake.MaxNode + 1, randflake.MaxNode + 2}[d.rng.IntN(6)]
		}
		got, err := d.store.Acquire(ctx, req)
		want, wantErr := d.model.Acquire(ctx, req)
		if d.same("Acquire", got, want, err, wantErr) {
			d.held = append(d.held, [2]lease.Record{got, want})
		}
		return
	}
	i := d.rng.IntN(len(d.held))
	if d.rng.IntN(2) == 0 {
		i = len(d.held) - 1 - d.rng.IntN(min(4, len(d.held))) // a recent one, not lost yet most likely
	}
	pair := &d.held[i]
	switch d.rng.IntN(4) {
	case 0, 1:
		got, err := d.store.Renew(ctx, pair[0], ttl)
		want, wantErr := d.model.Renew(ctx, pair[1], ttl)
		if d.same("Renew", got, want, err, wantErr) && d.rng.IntN(5) > 0 { // or go on with what is out of date
			*pair = [2]lease.Record{got, want}
		}
	case 2:
		got, err := d.store.Lookup(ctx, pair[0])
		want, wantErr := d.model.Lookup(ctx, pair[1])
		d.same("Lookup", got, want, err, wantErr)
	case 3:
		used := time.Unix(pair[0].Start+d.rng.Int64N(120)-10, 0)
		err, wantErr := d.store.Release(ctx, pair[0], used), d.model.Release(ctx, pair[1], used)
		d.same("Release", lease.Record{}, lease.Record{}, err, wantErr)
	}
	d.sameRecords()
}

func (d *differential) sameRecords() {
	got, err := d.store.List(d.Context())
	mustDo(d, err)
	want, err := d.model.List(d.Context())
	mustDo(d, err)
	if !slices.EqualFunc(got, want, sameButOwner) {
		d.Fatalf("records %+v, want %+v", got, want)
	}
}

// same reports whether both calls succeeded, and fails the test where they differ.
func (d *differential) same(what string, got, want lease.Record, err, wantErr error) bool {
	d.Helper()
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		d.Fatalf("%s at %d: error %v, want %v", what, d.clock.Now().Unix(), err, wantErr)
	}
	if !sameButOwner(got, want) {
		d.Fatalf("%s at %d: %+v, want %+v", what, d.clock.Now().Unix(), got, want)
	}
	return err == nil
}

func sameButOwner(a, b lease.Record) bool {
	if (a.Owner == lease.Owner{}) != (b.Owner == lease.Owner{}) {
		return false
	}
	a.Owner, b.Owner = lease.Owner{}, lease.Owner{}
	return a == b
}

// TestCandidates sets up one range of each kind that the rules choose among, and checks the choice.
func TestCandidates(t *testing.T) {
	const all = randflake.MaxNode + 1
	s, clock := create(t, newPlace())
	model := leasetest.NewMemory(testRules, clock.Now)
	d := differential{t, nil, clock, s, model, nil, 0}
	take := func(nodes int, ttl time.Duration) [2]lease.Record {
		t.Helper()
		req := lease.Request{Nodes: nodes, TTL: ttl}
		got, err := s.Acquire(t.Context(), req)
		want, wantErr := model.Acquire(t.Context(), req)
		d.same("Acquire", got, want, err, wantErr)
		return [2]lease.Record{got, want}
	}
	release := func(pair [2]lease.Record, used int64) {
		t.Helper()
		err := s.Release(t.Context(), pair[0], time.Unix(used, 0))
		wantErr := model.Release(t.Context(), pair[1], time.Unix(used, 0))
		d.same("Release", lease.Record{}, lease.Record{}, err, wantErr)
	}
	now := clock.Now().Unix()
	small, medium, other := take(10, time.Minute), take(20, time.Minute), take(20, time.Minute)
	rest := take(all-50, time.Minute)
	take(1, time.Minute) // nothing is left: refused
	release(medium, now+5)
	release(other, now+3)
	release(small, now+4)
	take(10, time.Minute) // released later than now, the earliest first, though it is larger
	take(10, time.Minute)
	take(15, time.Minute)
	take(15, time.Minute)
	clock.Advance(70 * time.Second)
	take(20, time.Second) // free by now
	take(5, time.Second)
	clock.Advance(2 * time.Second)
	take(20, time.Second) // the one that is unused for longest
	take(5, time.Minute)
	take(11, time.Minute)
	take(11, time.Minute)
	take(11, time.Minute)
	_ = rest
	d.sameRecords()
}

// TestBelowManyOthers: a range below the bound is found behind any number of older ones beyond it.
func TestBelowManyOthers(t *testing.T) {
	const low, high = 3, 40 // more than are read at once
	s, clock := create(t, newPlace())
	var held []lease.Record
	for range low + high {
		held = append(held, acquire(t, s, oneMinute))
	}
	release := func(rec lease.Record, used time.Time) {
		t.Helper()
		mustDo(t, s.Release(t.Context(), rec, used))
	}
	ask := lease.Request{Nodes: 1, Below: low, TTL: time.Minute}
	want := func(node uint32) {
		t.Helper()
		if got := acquire(t, s, ask); got.FirstNode != node {
			t.Errorf("granted node %d, want %d, the only one that is free below %d", got.FirstNode, node, low)
		}
		if got, err := s.Acquire(t.Context(), ask); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("granted %+v, error %v; want ErrNoRange", got, err)
		}
	}
	for _, rec := range held[low:] {
		release(rec, noon)
	}
	clock.Advance(10 * time.Second)
	release(held[1], noon.Add(5*time.Second))
	want(1)
	for i := range held[low:] { // to be released in this very second, when no other node is left
		held[low+i] = acquire(t, s, oneMinute)
	}
	acquire(t, s, lease.Request{Nodes: randflake.MaxNode + 1 - low - high, TTL: time.Minute})
	for _, rec := range held[low:] {
		release(rec, clock.Now())
	}
	release(held[2], clock.Now().Add(time.Second))
	want(2)
}

// TestOrderOfEquals: among ranges that are equally old the lowest goes first, as a number.
func TestOrderOfEquals(t *testing.T) {
	const most = randflake.MaxNode + 1 - 60
	for _, sizes := range [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {20, 10, 30, most}, {10, 20, 30, most}} {
		s, clock := create(t, newPlace())
		var first []lease.Record
		for _, nodes := range sizes {
			first = append(first, acquire(t, s, lease.Request{Nodes: nodes, TTL: time.Minute}))
		}
		if sizes[0] == 1 {
			clock.Advance(time.Hour)
		} else {
			for _, rec := range first { // their next leases start in the future
				mustDo(t, s.Release(t.Context(), rec, noon))
			}
		}
		smallest := slices.Min(sizes)
		for _, want := range first {
			got := acquire(t, s, lease.Request{Nodes: smallest, TTL: time.Minute})
			if got.FirstNode != want.FirstNode {
				t.Errorf("sizes %v: granted nodes from %d on, want %d", sizes, got.FirstNode, want.FirstNode)
			}
		}
	}
}

// TestNobodyHolds: a range that was released is nobody's, not even of who claims to be nobody.
func TestNobodyHolds(t *testing.T) {
	s, _ := create(t, newPlace())
	mustDo(t, s.Release(t.Context(), acquire(t, s, oneMinute), noon))
	records, err := s.List(t.Context())
	mustDo(t, err)
	wantLost(t, s, records[0])
	if _, err := s.Lookup(t.Context(), records[0]); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Lookup: error %v, want ErrLost", err)
	}
	if err := s.Release(t.Context(), records[0], noon); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Release: error %v, want ErrLost", err)
	}
}

// TestManyAcquireAtOnce: all get a range, and none the same.
func TestManyAcquireAtOnce(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	handles := []*Store{s, open(t, url, clock), open(t, url, clock)}
	var h leasetest.History
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			rec, err := handles[i%len(handles)].Acquire(t.Context(), lease.Request{Nodes: 1 + i%5, TTL: time.Minute})
			if err != nil {
				t.Errorf("Acquire: %v", err)
				return
			}
			h.Granted(rec)
		})
	}
	wg.Wait()
	if err := h.Check(); err != nil || h.Len() != 200 {
		t.Errorf("%d leases, want 200: %v", h.Len(), err)
	}
}

func TestEndOfLifeAndWrongClock(t *testing.T) {
	for _, now := range []int64{0, -5, randflake.Epoch - 1, randflake.MaxTimestamp + 1} {
		s, clock := create(t, newPlace())
		held := acquire(t, s, oneMinute)
		clock.Set(time.Unix(now, 0))
		_, err := s.Acquire(t.Context(), oneMinute)
		if err == nil || now > randflake.Epoch && !errors.Is(err, randflake.ErrEndOfLife) {
			t.Errorf("at %d: error %v", now, err)
		}
		records, err := s.List(t.Context())
		if err != nil || len(records) != 1 || records[0] != held {
			t.Errorf("at %d: the store has %+v, %v, want %+v alone", now, records, err, held)
		}
	}
}
