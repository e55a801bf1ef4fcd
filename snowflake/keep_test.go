package snowflake_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A setClock goes with a bubble's and can be set apart from it.
type setClock struct{ skew atomic.Int64 }

func (c *setClock) Now() time.Time        { return time.Now().Add(time.Duration(c.skew.Load())) }
func (c *setClock) step(by time.Duration) { c.skew.Add(int64(by)) }

// A shop is what the tests of Keep play in: a store and its clock, which the keepers share.
type shop struct {
	*testing.T
	clock setClock
	store *storetest.Leases
}

// inShop runs f in a bubble, where time passes when everybody waits, in 2026.
func inShop(t *testing.T, f func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		s := &shop{T: t}
		s.store = storetest.NewLeases(store.DefaultLimits(), s.clock.Now)
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

// useUnit uses a unit up, and returns its last ID and the worker's.
func (s *shop) useUnit(k *lease.Keeper[*snowflake.Generator]) (snowflake.ID, snowflake.Fields) {
	s.Helper()
	for range 15 {
		s.generate(k)
	}
	return s.generate(k)
}

// As the articles on clocks that step back have it: wait for less than 15 ms, beyond that go on as
// another worker.
func TestKeepRidesOutSmallSteps(t *testing.T) {
	inShop(t, func(s *shop) {
		k := s.keep(keptLayout(t, 1))
		first, p := s.useUnit(k)
		s.clock.step(-10 * time.Millisecond)
		begin := time.Now()
		second, err := k.Generator().Wait(s.Context())
		if waited := time.Since(begin); waited < 10*time.Millisecond || waited > 15*time.Millisecond || err != nil {
			t.Errorf("waited for %v, %v, want 10 ms or a little more", waited, err)
		}
		q, _ := k.Generator().Layout().Inspect(second)
		if second <= first || q.Static["worker"] != p.Static["worker"] {
			t.Errorf("%+v after %+v: want the same worker, later", q, p)
		}
		s.wantSwaps(k, 0)
	})
}

// Beyond 15 ms Wait goes on as another worker, as soon as there is one, which is before the clock has caught up.
func TestKeepSwapsWorkerUnderWait(t *testing.T) {
	inShop(t, func(s *shop) {
		k := s.keep(keptLayout(t, 1))
		s.useUnit(k)
		s.clock.step(-20 * time.Millisecond)
		ctx, cancel := context.WithTimeout(s.Context(), 15*time.Millisecond)
		defer cancel()
		id, err := k.Generator().Wait(ctx)
		if p, _ := k.Generator().Layout().Inspect(id); err != nil || p.Static["worker"] != 1 {
			t.Errorf("Wait: %+v, %v, want worker 1", p, err)
		}
		s.wantSwaps(k, 1)
	})
}

// A larger step swaps the worker. The old one is back in the store up to the last second that it was
// used for, and serves somebody else from the next one on.
func TestKeepSwapsWorkerWhenTheClockStepsBack(t *testing.T) {
	inShop(t, func(s *shop) {
		layout := keptLayout(t, 1)
		k := s.keep(layout)
		made := make(map[snowflake.ID]bool)
		id, first := s.generate(k)
		made[id] = true
		used := s.clock.Now().Unix()

		s.clock.step(-time.Minute)
		begin := time.Now()
		s.wantRefused(k, snowflake.ErrClockBackward)
		id, second := s.generate(k)
		made[id] = true
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
		for range 100 {
			time.Sleep(time.Second)
			for _, k := range []*lease.Keeper[*snowflake.Generator]{k, other} {
				if id, err := k.Generator().Generate(); err == nil {
					if made[id] {
						t.Errorf("%d made twice", id)
					}
					made[id] = true
				}
			}
		}
		if len(made) < 102+39 {
			t.Errorf("%d IDs, want 102 of one keeper and 39 of the other", len(made))
		}
	})
}

// The generator goes on in the unit that it is in, and swaps the worker when that is used up.
func TestKeepSwapsWorkerWhenTheHeldUnitIsUsedUp(t *testing.T) {
	inShop(t, func(s *shop) {
		k := s.keep(keptLayout(t, 2))
		s.generate(k)
		s.clock.step(-5 * time.Second)
		ids := make([]snowflake.ID, 16)
		if n, err := k.Generator().Fill(ids); n != 15 || !errors.Is(err, snowflake.ErrClockBackward) {
			t.Errorf("Fill: %d, %v; want the 15 that are left and ErrClockBackward", n, err)
		}
		synctest.Wait()
		if _, p := s.generate(k); p.Static["worker"] != 1 {
			t.Errorf("%+v, want worker 1", p)
		}
		s.wantSwaps(k, 1)
	})
}

// The steps of the rollback field come first; the worker after it has them all again.
func TestKeepSwapsWorkerAfterTheLastStepBack(t *testing.T) {
	inShop(t, func(s *shop) {
		k := s.keep(keptLayout(t, 2), snowflake.StepBack())
		for worker := range uint64(2) {
			time.Sleep(10 * time.Second) // no step leads out of the lease, nor meets the keeper's pause
			s.generate(k)
			for step := range uint64(3) {
				s.clock.step(-time.Second)
				if _, p := s.generate(k); p.Static["worker"] != worker || p.Rollback != step+1 {
					t.Errorf("%+v, want worker %d, rollback %d", p, worker, step+1)
				}
			}
			s.wantSwaps(k, worker)
			s.clock.step(-time.Second)
			s.wantRefused(k, snowflake.ErrClockBackward)
		}
	})
}

// A refusal in the pause between two acts of the keeper is acted on after it, unless it has passed by
// then. The trial that tells is neither an ID nor a refusal.
func TestKeepTriesBeforeItSwaps(t *testing.T) {
	for _, passes := range []bool{false, true} {
		inShop(t, func(s *shop) {
			k := s.keep(keptLayout(t, 2))
			s.generate(k)
			s.clock.step(-time.Minute)
			s.wantRefused(k, snowflake.ErrClockBackward)
			s.generate(k)
			s.clock.step(-time.Minute)
			s.wantRefused(k, snowflake.ErrClockBackward)
			s.wantSwaps(k, 1)
			want := uint64(2)
			if passes {
				s.clock.step(2 * time.Minute)
				want = 1
			}
			time.Sleep(10 * time.Second)
			s.wantSwaps(k, want)
			if st := k.Status(); st.Refusals != 2 || st.Issued != 2 {
				t.Errorf("status %+v: want 2 refusals and 2 IDs", st)
			}
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

// Keep asks for one node that the parts which are not pinned can hold.
func TestKeepAsksForAWorkerNumber(t *testing.T) {
	pin := snowflake.Pin
	for _, tt := range []struct {
		name    string
		statics []snowflake.Part
		options []snowflake.Option
		below   uint32
	}{
		{"no part", nil, nil, 1},
		{"one part", []snowflake.Part{snowflake.Static("worker", 10)}, nil, 1024},
		{"two parts", []snowflake.Part{snowflake.Static("datacenter", 5), snowflake.Static("worker", 4)}, nil, 512},
		{"high part pinned", []snowflake.Part{snowflake.Static("datacenter", 5), snowflake.Static("worker", 4)}, []snowflake.Option{pin("datacenter", 3)}, 16},
		{"low part pinned", []snowflake.Part{snowflake.Static("datacenter", 5), snowflake.Static("worker", 4)}, []snowflake.Option{pin("worker", 3)}, 32},
		{"all pinned", []snowflake.Part{snowflake.Static("worker", 10)}, []snowflake.Option{pin("worker", 1000)}, 1},
		{"all nodes", []snowflake.Part{snowflake.Static("worker", 17)}, nil, randflake.MaxNode + 1},
		{"more than all nodes", []snowflake.Part{snowflake.Static("worker", 18)}, nil, randflake.MaxNode + 1},
		{"other options of leases", []snowflake.Part{snowflake.Static("worker", 10)}, []snowflake.Option{snowflake.Leasing(lease.WithNodes(7), lease.WithBelow(8))}, 1024},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inShop(t, func(s *shop) {
				store := &asked{Source: s.store}
				layout := layoutOf(t, time.Millisecond, slices.Concat([]snowflake.Part{snowflake.Time(41)}, tt.statics, []snowflake.Part{snowflake.Sequence(4)})...)
				options := append(tt.options, snowflake.WithClock(s.clock.Now), quiet, snowflake.Leasing(lease.WithTTL(30*time.Second)))
				k, err := snowflake.Keep(t.Context(), store, layout, options...)
				if err != nil {
					t.Fatal(err)
				}
				defer k.Close()
				got := store.requests[0]
				if want := (lease.Request{Nodes: 1, Below: tt.below, TTL: 30 * time.Second, Until: layout.Expires(), Owner: got.Owner, Label: lease.DefaultLabel()}); !reflect.DeepEqual(got, want) {
					t.Errorf("request %+v, want %+v", got, want)
				}
				s.generate(k)
			})
		})
	}
}

// All workers of a layout can be had, once each.
func TestKeepTakesEachWorkerOnce(t *testing.T) {
	inShop(t, func(s *shop) {
		layout := keptLayout(t, 2)
		seen := make(map[uint64]bool)
		for range 4 {
			_, p := s.generate(s.keep(layout))
			seen[p.Static["worker"]] = true
		}
		if _, err := s.tryKeep(layout); len(seen) != 4 || !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("workers %v, then %v; want all 4 and then ErrNoRange", seen, err)
		}
	})
}

// The keeper goes by the generator's clock, and whoever wants to know of refusals does as well.
func TestKeepSharesClockAndRefusals(t *testing.T) {
	inShop(t, func(s *shop) {
		var told []error
		k := s.keep(keptLayout(t, 2), snowflake.OnRefusal(func(err error, _ bool) { told = append(told, err) }))
		s.generate(k)
		left := k.Status().Left
		s.clock.step(time.Minute)
		if got := k.Status().Left; got != left-time.Minute {
			t.Errorf("%v left a minute after %v", got, left)
		}
		s.clock.step(-2 * time.Minute)
		s.wantRefused(k, snowflake.ErrClockBackward)
		if len(told) != 1 || !errors.Is(told[0], snowflake.ErrClockBackward) {
			t.Errorf("told %v, want ErrClockBackward", told)
		}
		s.wantSwaps(k, 1)
	})
}

// The lease is renewed for as long as the keeper lives, and given back by Close.
func TestKeepRenewsAndGivesBack(t *testing.T) {
	inShop(t, func(s *shop) {
		k := s.keep(keptLayout(t, 2))
		g := k.Generator()
		var last snowflake.ID
		for range 1000 {
			id, _ := s.generate(k)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
			time.Sleep(time.Second)
		}
		if st := k.Status(); !st.Healthy || st.Renewed < 9 || st.Issued != 1000 || k.Generator() != g {
			t.Errorf("status %+v", st)
		}
		if err := k.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		s.wantRefused(k, snowflake.ErrClosed)
		if records, err := s.store.List(t.Context()); err != nil || len(records) != 1 || records[0].Owner != (lease.Token{}) {
			t.Errorf("records %+v, %v; want one that is released", records, err)
		}
	})
}

func TestKeepRefuses(t *testing.T) {
	inShop(t, func(s *shop) {
		var calls []storetest.Op
		s.store.Inject(func(op storetest.Op) storetest.Fault {
			calls = append(calls, op)
			return storetest.Fault{}
		})
		layout := layoutOf(t, time.Millisecond, snowflake.Time(41), snowflake.Static("worker", 10), snowflake.Sequence(12))
		for _, tt := range []struct {
			name   string
			layout *snowflake.Layout
			option snowflake.Option
			err    error
		}{
			{"no layout", nil, quiet, snowflake.ErrInvalidLayout},
			{"the zero option", layout, snowflake.Option{}, snowflake.ErrInvalidOption},
			{"zero layout", new(snowflake.Layout), quiet, snowflake.ErrInvalidLayout},
			{"pin of no part", layout, snowflake.Pin("datacenter", 1), snowflake.ErrInvalidOption},
			{"pin too large", layout, snowflake.Pin("worker", 1024), snowflake.ErrInvalidOption},
			{"no rollback part", layout, snowflake.StepBack(), snowflake.ErrInvalidOption},
			{"the zero option of leases", layout, snowflake.Leasing(lease.Option{}), lease.ErrInvalidRequest},
			{"TTL too short", layout, snowflake.Leasing(lease.WithTTL(time.Second)), lease.ErrInvalidRequest},
		} {
			if k, err := s.tryKeep(tt.layout, tt.option); k != nil || !errors.Is(err, tt.err) {
				t.Errorf("%s: keeper %v, error %v; want %v", tt.name, k, err, tt.err)
			}
		}
		if k, err := snowflake.Keep(t.Context(), nil, layout); k != nil || !errors.Is(err, lease.ErrInvalidRequest) {
			t.Errorf("no store: keeper %v, error %v", k, err)
		}
		if len(calls) > 0 {
			t.Errorf("calls %v, want none", calls)
		}
		ended := layoutOf(t, time.Millisecond, snowflake.Time(30), snowflake.Static("worker", 10), snowflake.Sequence(12))
		if k, err := s.tryKeep(ended); k != nil || !errors.Is(err, snowflake.ErrEndOfLife) {
			t.Errorf("layout that ended: keeper %v, error %v", k, err)
		}
		if want := []storetest.Op{storetest.Acquire}; !slices.Equal(calls, want) {
			t.Errorf("layout that ended: calls %v, want %v", calls, want)
		}
	})
}
