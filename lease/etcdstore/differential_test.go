package etcdstore

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A twin is a lease that both stores granted; their owners differ.
type twin struct{ ours, model lease.Record }

// TestAgainstModel does the same random things to a store and to the model of all stores, on the same
// clock, and wants the same of both, but for the owners.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, clock := create(t, newURL())
		model := leasetest.NewMemory(testRules, clock.Now)
		var held []twin
		var notBefore int64
		for step := range 150 {
			clock.Advance(time.Duration(rng.IntN(20_000)-3_000) * time.Millisecond)
			op, ttl := rng.IntN(20), time.Duration(rng.IntN(102))*time.Second
			if op < 6 || len(held) == 0 {
				req := lease.Request{Nodes: []int{1, 1, 3, 4, 7, 40_000, 90_000, 0}[rng.IntN(8)], TTL: ttl}
				if rng.IntN(2) == 0 {
					req.Below = []uint32{1, 5, 12, 50_000, randflake.MaxNode + 1, randflake.MaxNode + 2}[rng.IntN(6)]
				}
				ours, err := s.Acquire(t.Context(), req)
				want, wantErr := model.Acquire(t.Context(), req)
				wantSame(t, seed, step, "Acquire", ours, want, err, wantErr)
				if err == nil {
					held = append(held, twin{ours, want})
				}
				continue
			}
			i := rng.IntN(len(held))
			h := &held[i]
			switch {
			case op < 12:
				ours, err := s.Renew(t.Context(), h.ours, ttl)
				want, wantErr := model.Renew(t.Context(), h.model, ttl)
				wantSame(t, seed, step, "Renew", ours, want, err, wantErr)
				if err == nil && rng.IntN(4) > 0 { // or go on with what is out of date
					*h = twin{ours, want}
				}
			case op < 15:
				lastUsed := clock.Now().Add(time.Duration(rng.IntN(100)-50) * time.Second)
				err := s.Release(t.Context(), h.ours, lastUsed)
				wantErr := model.Release(t.Context(), h.model, lastUsed)
				wantSame(t, seed, step, "Release", nobody, nobody, err, wantErr)
			case op < 19:
				ours, err := s.Lookup(t.Context(), h.ours)
				want, wantErr := model.Lookup(t.Context(), h.model)
				wantSame(t, seed, step, "Lookup", ours, want, err, wantErr)
			case step%3 == 0:
				notBefore = max(notBefore, clock.Now().Unix()+floorSpan)
				model.SetNotBefore(notBefore)
				if err := s.Distrust(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		ours, err := s.List(t.Context())
		want, _ := model.List(t.Context())
		if err != nil || len(ours) != len(want) || len(want) < 5 {
			t.Fatalf("seed %d: List: %d records, %v; want %d, at least 5", seed, len(ours), err, len(want))
		}
		for i := range ours {
			wantSame(t, seed, -1, "List", ours[i], want[i], nil, nil)
		}
	}
}

func wantSame(t *testing.T, seed uint64, step int, what string, got, want lease.Record, err, wantErr error) {
	t.Helper()
	for _, kind := range []error{lease.ErrLost, lease.ErrNoRange, lease.ErrInvalidRequest, randflake.ErrEndOfLife} {
		if errors.Is(err, kind) != errors.Is(wantErr, kind) {
			t.Fatalf("seed %d, step %d: %s: error %v, want %v", seed, step, what, err, wantErr)
		}
	}
	if got.Owner == (lease.Owner{}) == (want.Owner == lease.Owner{}) {
		got.Owner = want.Owner
	}
	if got != want || (err == nil) != (wantErr == nil) {
		t.Fatalf("seed %d, step %d: %s: %+v, %v; want %+v, %v", seed, step, what, got, err, want, wantErr)
	}
}
