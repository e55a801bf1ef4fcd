package snowflake_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// A setClock goes with a bubble's and can be set apart from it.
type setClock struct{ skew atomic.Int64 }

func (c *setClock) Now() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) }

func (c *setClock) step(by time.Duration) { c.skew.Add(int64(by)) }

// A shop is what the tests of Keep play in: a store and its clock, which the keepers share.
type shop struct {
	*testing.T
	clock setClock
	store *leasetest.Leases
}

// inShop runs f in a bubble, where time passes when everybody waits, in 2026.
func inShop(t *testing.T, f func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		s := &shop{T: t}
		s.store = leasetest.NewLeases(store.DefaultLimits(), s.clock.Now)
		f(s)
	})
}

// leaveThePast leaves the year 2000, where a bubble's time begins.
func leaveThePast() { time.Sleep(time.Until(time.Unix(randflake.Epoch, 0).AddDate(2, 0, 0))) }

// keptLayout returns a layout of 1 ms with 16 IDs a unit.
func keptLayout(t testing.TB, workerBits int) *snowflake.Layout {
	return layoutOf(t, time.Millisecond, snowflake.Time(41), snowflake.Static("worker", workerBits), snowflake.Rollback(2), snowflake.Sequence(4))
}

func layoutOf(t testing.TB, unit time.Duration, parts ...snowflake.Part) *snowflake.Layout {
	t.Helper()
	l, err := snowflake.NewLayout("kept", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), unit, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var quiet = snowflake.Leasing(lease.WithLogger(slog.New(slog.DiscardHandler)))

func (s *shop) tryKeep(layout *snowflake.Layout, options ...snowflake.Option) (*lease.Keeper[*snowflake.Generator], error) {
	k, err := snowflake.Keep(s.Context(), s.store, layout, append([]snowflake.Option{snowflake.WithClock(s.clock.Now), quiet}, options...)...)
	if err == nil {
		s.Cleanup(func() { k.Close() })
	}
	return k, err
}

func (s *shop) keep(layout *snowflake.Layout, options ...snowflake.Option) *lease.Keeper[*snowflake.Generator] {
	s.Helper()
	k, err := s.tryKeep(layout, options...)
	if err != nil {
		s.Fatalf("Keep: %v", err)
	}
	return k
}

// generate wants an ID, and returns it and its worker.
func (s *shop) generate(k *lease.Keeper[*snowflake.Generator]) (snowflake.ID, snowflake.Fields) {
	s.Helper()
	id, err := k.Generator().Generate()
	if err != nil {
		s.Fatalf("Generate: %v; %+v", err, k.Status())
	}
	p, err := k.Generator().Layout().Inspect(id)
	if err != nil {
		s.Fatal(err)
	}
	return id, p
}

// wantRefused wants err instead of an ID, and lets the keeper act on it.
func (s *shop) wantRefused(k *lease.Keeper[*snowflake.Generator], want error) {
	s.Helper()
	if id, err := k.Generator().Generate(); !errors.Is(err, want) {
		s.Errorf("Generate: %v, %v; want error %v", id, err, want)
	}
	synctest.Wait()
}

// wantSwaps checks how often a keeper went on as another worker.
func (s *shop) wantSwaps(k *lease.Keeper[*snowflake.Generator], want uint64) {
	s.Helper()
	synctest.Wait() // the keeper gives the old worker back after it has replaced it
	if st := k.Status(); st.Replaced != want || st.Released != want || st.Held != 1 {
		s.Errorf("status %+v: want %d replacements", st, want)
	}
}

// A larger step swaps the worker. The old one is back in the store up to the last second that it was
// used for, and serves somebody else from the next one on.
func TestKeepSwapsWorkerWhenTheClockStepsBack(t *testing.T) {
	inShop(t, func(s *shop) {
		layout := keptLayout(t, 1)
		told := 0
		k := s.keep(layout, snowflake.OnRefusal(func(error, bool) { told++ }))
		_, first := s.generate(k)
		used := s.clock.Now().Unix()

		s.clock.step(-time.Minute)
		begin := time.Now()
		s.wantRefused(k, snowflake.ErrClockBackward)
		_, second := s.generate(k)
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("waited for %v, want no time at all", waited)
		}
		if first.Static["worker"] != 0 || second.Static["worker"] != 1 || second.Time.After(s.clock.Now()) {
			t.Errorf("%+v after %+v: want worker 1 after 0, at the clock's present time", second, first)
		}
		s.wantSwaps(k, 1)
		records, err := s.store.List(t.Context())
		if err != nil || len(records) != 2 || records[0].Owner != (lease.Token{}) || records[0].HighWater != used {
			t.Fatalf("records %+v, %v; want worker 0 released up to %d", records, err, used)
		}

		other := s.keep(layout)
		if got := other.Generator().Lease(); got.FirstNode != 0 || got.Start.Unix() != used+1 {
			t.Errorf("lease %+v, want worker 0 from %d on", got, used+1)
		}
		if _, err := s.tryKeep(layout); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("Keep with all workers taken: %v, want ErrNoRange", err)
		}
		s.wantRefused(other, snowflake.ErrLeaseNotStarted)
		if told != 1 {
			t.Errorf("told of %d refusals of the first keeper, want 1", told)
		}
	})
}

// Keep asks for one node that the parts which are not pinned can hold, and for none if the options are wrong.
func TestKeepAsksForAWorkerNumber(t *testing.T) {
	datacenter, worker := snowflake.Static("datacenter", 5), snowflake.Static("worker", 4)
	for _, tt := range []struct {
		statics []snowflake.Part
		option  snowflake.Option
		below   uint32
		err     error
	}{
		{nil, quiet, 1, nil},
		{[]snowflake.Part{datacenter, worker}, quiet, 512, nil},
		{[]snowflake.Part{datacenter, worker}, snowflake.Pin("datacenter", 3), 16, nil},
		{[]snowflake.Part{datacenter, worker}, snowflake.Pin("worker", 3), 32, nil},
		{[]snowflake.Part{worker}, snowflake.Pin("worker", 3), 1, nil},
		{[]snowflake.Part{snowflake.Static("worker", 18)}, quiet, randflake.MaxNode + 1, nil},
		{[]snowflake.Part{worker}, snowflake.Leasing(lease.WithNodes(7), lease.WithBelow(8)), 16, nil},
		{[]snowflake.Part{worker}, snowflake.Option{}, 0, snowflake.ErrInvalidOption},
		{[]snowflake.Part{worker}, snowflake.Pin("worker", 16), 0, snowflake.ErrInvalidOption},
		{[]snowflake.Part{worker}, snowflake.StepBack(), 0, snowflake.ErrInvalidOption},
		{[]snowflake.Part{worker}, snowflake.Leasing(lease.Option{}), 0, lease.ErrInvalidRequest},
	} {
		inShop(t, func(s *shop) {
			layout := layoutOf(t, time.Millisecond, slices.Concat([]snowflake.Part{snowflake.Time(41)}, tt.statics, []snowflake.Part{snowflake.Sequence(4)})...)
			source := &asked{Source: s.store}
			k, err := snowflake.Keep(t.Context(), source, layout, snowflake.WithClock(s.clock.Now), quiet, tt.option)
			if !errors.Is(err, tt.err) || len(source.requests) != int(min(tt.below, 1)) {
				t.Errorf("%v: %v, want %v; asked for %+v", layout, err, tt.err, source.requests)
			}
			if err != nil {
				return
			}
			defer k.Close()
			if req := source.requests[0]; req.Nodes != 1 || req.Below != tt.below || !req.Until.Equal(layout.Expires()) {
				t.Errorf("%v: request %+v, want below %d", layout, req, tt.below)
			}
			s.generate(k)
		})
	}
}

// An asked store notes the requests.
type asked struct {
	lease.Source
	requests []lease.Request
}

func (a *asked) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	a.requests = append(a.requests, req)
	return a.Source.Acquire(ctx, req)
}

// Three keepers on one store, with a clock that steps and keepers that end at random, never make the same ID.
func TestKeepIsUnique(t *testing.T) {
	policies := []snowflake.Option{snowflake.RunAhead(0), snowflake.StepBack(), snowflake.RunAhead(3 * time.Second), snowflake.RandomStart(4)}
	total, swapped := 0, uint64(0)
	for seed := range uint64(8) {
		inShop(t, func(s *shop) {
			random := rand.New(rand.NewPCG(seed, 1))
			made := make(map[snowflake.ID]bool)
			var keepers [3]*lease.Keeper[*snowflake.Generator]
			for range 2000 {
				i := random.IntN(3)
				if random.IntN(20) == 0 {
					s.clock.step(time.Duration(random.IntN(40)-25) * []time.Duration{time.Millisecond, time.Second, time.Minute}[random.IntN(3)])
				}
				if k := keepers[i]; k == nil {
					keepers[i], _ = s.tryKeep(keptLayout(t, 2), policies[random.IntN(4)])
				} else if random.IntN(100) == 0 {
					k.Close()
					swapped += k.Status().Replaced
					keepers[i] = nil
				} else {
					ids := make([]snowflake.ID, 1+random.IntN(20))
					n, _ := k.Generator().Fill(ids)
					for _, id := range ids[:n] {
						if made[id] {
							t.Fatalf("seed %d: %d made twice", seed, id)
						}
						made[id] = true
					}
				}
				time.Sleep(time.Duration(random.IntN(5)) * 250 * time.Millisecond)
			}
			total += len(made)
		})
	}
	if total < 10_000 || swapped < 10 {
		t.Errorf("%d IDs, %d swaps, want more", total, swapped)
	}
}
