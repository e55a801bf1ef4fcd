//go:build linux

package pgstore

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func harness(t *testing.T, ownClock string) leasetest.Harness {
	server := sharedServer(t)
	return leasetest.Harness{
		OwnClock: ownClock,
		New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
			var opts []Option
			if clock != nil {
				opts = append(opts, WithClock(clock))
			}
			url := newURL(t, server)
			s, err := Create(t.Context(), url, append(opts, WithRules(rules), ForNewSecret())...)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			return func() (lease.Store, error) {
				s, err := Open(t.Context(), url, opts...)
				if err != nil {
					return nil, err
				}
				return s, nil
			}
		},
	}
}

func TestConformance(t *testing.T) { leasetest.Run(t, harness(t, "")) }

func TestConformanceOfServersClock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for real seconds")
	}
	leasetest.Run(t, harness(t, "it is the server's"))
}

// A twin is a store and the model of it, which must agree in all but the tokens of owners.
type twin struct {
	*testing.T
	store *Store
	model *leasetest.Memory
	clock *leasetest.Clock
	rng   *rand.Rand
	floor int64

	stored, modelled []lease.Record // what was granted, side by side
}

// TestLikeTheRules drives a store and the rules' own model through the same random history.
func TestLikeTheRules(t *testing.T) {
	server := sharedServer(t)
	granted := 0
	for seed := range uint64(8) {
		clock, withClock := atNoon()
		tw := &twin{
			T:     t,
			store: create(t, newURL(t, server), withClock),
			model: leasetest.NewMemory(testRules, clock.Now),
			clock: clock,
			rng:   rand.New(rand.NewPCG(seed, 1)),
		}
		for step := range 250 {
			granted += tw.step()
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
	if granted < 150 {
		t.Errorf("%d leases: that shows little", granted)
	}
}

// step does one thing to both, and returns how many leases that made.
func (tw *twin) step() (granted int) {
	tw.move()
	if i := tw.rng.IntN(len(tw.stored) + 1); i < len(tw.stored) && tw.rng.IntN(3) > 0 {
		tw.use(i)
	} else {
		granted = tw.acquire()
	}
	if tw.rng.IntN(40) == 0 {
		tw.distrust()
	}
	there, err := tw.store.List(tw.Context())
	want, _ := tw.model.List(tw.Context())
	if err != nil || len(there) != len(want) {
		tw.Fatalf("List: %d records, %v; want %d", len(there), err, len(want))
	}
	for i := range want {
		tw.same("List", there[i], want[i], nil, nil)
	}
	return granted
}

func (tw *twin) move() {
	switch tw.rng.IntN(30) {
	case 0:
		tw.clock.Advance(-time.Duration(tw.rng.IntN(200)) * time.Second)
	case 1:
		tw.clock.Set(noon.AddDate(0, 0, tw.rng.IntN(40)))
	case 2:
		tw.clock.Set(time.Unix(randflake.Epoch-1+int64(tw.rng.IntN(3)), 0))
	case 3:
		tw.clock.Set(time.Unix(randflake.MaxTimestamp-int64(tw.rng.IntN(200)), 0))
	case 4:
		tw.clock.Set(noon)
	default:
		tw.clock.Advance(time.Duration(tw.rng.IntN(15000)) * time.Millisecond)
	}
}

func (tw *twin) acquire() int {
	sizes := []int{1, 2, 3, 5, 30000, 40000, randflake.MaxNode + 1, 0}
	req := lease.Request{Nodes: sizes[tw.rng.IntN(len(sizes))], TTL: time.Duration(tw.rng.IntN(102)) * time.Second}
	if tw.rng.IntN(4) == 0 {
		bounds := []uint32{1, 4, 9, 30000, 80000, randflake.MaxNode + 1, randflake.MaxNode + 2}
		req.Below = bounds[tw.rng.IntN(len(bounds))]
	}
	got, err := tw.store.Acquire(tw.Context(), req)
	want, wantErr := tw.model.Acquire(tw.Context(), req)
	tw.same("Acquire", got, want, err, wantErr)
	if err != nil {
		return 0
	}
	tw.stored, tw.modelled = append(tw.stored, got), append(tw.modelled, want)
	return 1
}

// use renews, reads or releases a lease, in its newest known state or in an older one.
func (tw *twin) use(i int) {
	got, want := tw.stored[i], tw.modelled[i]
	var err, wantErr error
	switch tw.rng.IntN(4) {
	case 0, 1:
		ttl := time.Duration(tw.rng.IntN(102)) * time.Second
		got, err = tw.store.Renew(tw.Context(), got, ttl)
		want, wantErr = tw.model.Renew(tw.Context(), want, ttl)
		tw.same("Renew", got, want, err, wantErr)
	case 2:
		got, err = tw.store.Lookup(tw.Context(), got)
		want, wantErr = tw.model.Lookup(tw.Context(), want)
		tw.same("Lookup", got, want, err, wantErr)
	case 3:
		lastUsed := time.Unix(got.Start+int64(tw.rng.IntN(100))-10, 0)
		err = tw.store.Release(tw.Context(), got, lastUsed)
		wantErr = tw.model.Release(tw.Context(), want, lastUsed)
		tw.same("Release", lease.Record{}, lease.Record{}, err, wantErr)
		return
	}
	if err == nil && tw.rng.IntN(5) > 0 {
		tw.stored[i], tw.modelled[i] = got, want
	}
}

// distrust sets the floor of both.
func (tw *twin) distrust() {
	if err := tw.store.Distrust(tw.Context()); err != nil {
		if now := tw.clock.Now().Unix(); now >= randflake.Epoch && !errors.Is(err, randflake.ErrEndOfLife) {
			tw.Errorf("Distrust: %v", err)
		}
		return
	}
	_, notBefore, err := tw.store.Limits(tw.Context())
	if least := testRules.NotBefore(tw.clock.Now().Unix()); err != nil || notBefore.Unix() < least {
		tw.Errorf("after Distrust: floor %v, %v; want %d at least", notBefore, err, least)
	}
	tw.floor = notBefore.Unix()
	tw.model.SetNotBefore(tw.floor)
}

// same compares results, and errors by their text.
func (tw *twin) same(what string, got, want lease.Record, err, wantErr error) {
	tw.Helper()
	got.Owner, want.Owner = ownedBySomebody(got), ownedBySomebody(want)
	if got != want {
		tw.Errorf("%s: %+v, want %+v", what, got, want)
	}
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		tw.Errorf("%s: error %v, want %v", what, err, wantErr)
	}
}

func ownedBySomebody(rec lease.Record) (o lease.Owner) {
	if rec.Owner != (lease.Owner{}) {
		o[0] = 1
	}
	return o
}

// TestRenewBeyondTheRules: the store's own limits hold for a handle that remembers wider ones.
func TestRenewBeyondTheRules(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	s := create(t, newURL(t, server), withClock)
	held := acquire(t, s)
	run(t, server, "UPDATE "+s.names.of("meta")+" SET max_ttl = 70")
	if rec, err := s.Renew(t.Context(), held, 80*time.Second); !errors.Is(err, lease.ErrInvalidRequest) {
		t.Errorf("Renew: %+v, %v; want ErrInvalidRequest", rec, err)
	}
}
