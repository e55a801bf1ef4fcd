package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/snowflake"
)

// A shop is what the tests of Keep play in: a space and its clock, which the keepers share.
type shop struct {
	*testing.T
	skew  atomic.Int64 // of the clock
	space *lease.Space
}

func (s *shop) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

func (s *shop) step(by time.Duration) { s.skew.Add(int64(by)) }

// inShop runs f in a bubble, where time passes when everybody waits, in 2026.
func inShop(t *testing.T, limits lease.Limits, f func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		s := &shop{T: t}
		var err error
		limits.MaxSkew = time.Hour
		s.space, err = lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{Clock: s.now, Limits: limits, NeverUsed: true})
		require.NoError(t, err)
		f(s)
	})
}

// leaveThePast leaves the year 2000, where a bubble's time begins.
func leaveThePast() {
	time.Sleep(time.Until(time.Unix(randflake.Epoch, 0).AddDate(2, 0, 0).Truncate(time.Minute)))
}

func layoutOf(t testing.TB, parts string) *snowflake.Layout {
	t.Helper()
	l, err := snowflake.ParseLayout("kept: time 41, " + parts + "; 1ms since 2025-01-01T00:00:00Z")
	require.NoError(t, err)
	return l
}

// keptLayout returns a layout with 16 IDs a millisecond.
func keptLayout(t testing.TB, workerBits int) *snowflake.Layout {
	return layoutOf(t, fmt.Sprintf("worker %d, rollback 2, sequence 4", workerBits))
}

func (s *shop) keep(layout *snowflake.Layout, options ...snowflake.Option) (*lease.Keeper[*snowflake.Generator], error) {
	quiet := snowflake.Leasing(lease.WithLogger(slog.New(slog.DiscardHandler)))
	k, err := snowflake.Keep(s.Context(), s.space, layout, append([]snowflake.Option{snowflake.WithClock(s.now), quiet}, options...)...)
	if err == nil {
		s.Cleanup(func() { k.Close() })
	}
	return k, err
}

// generate wants an ID.
func (s *shop) generate(k *lease.Keeper[*snowflake.Generator]) snowflake.Fields {
	s.Helper()
	id, err := k.Generator().Generate()
	if err != nil {
		s.Fatalf("Generate: %v; %+v", err, k.Status())
	}
	f, err := k.Generator().Layout().Inspect(id)
	require.NoError(s, err)
	return f
}

// While the clock was a window ahead for a moment, the generator left the present one's lease: the
// keeper takes another.
func TestKeepAfterAMomentAhead(t *testing.T) {
	inShop(t, lease.Limits{Nodes: 4}, func(s *shop) {
		k, err := s.keep(keptLayout(t, 2))
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		s.generate(k)
		s.step(time.Minute)
		k.Status() // which asks whether an ID could be made, and makes none
		s.step(-time.Minute)
		require.Refuses(t, randflake.ErrLeaseNotStarted, "back again")(k.Generator().Generate())
		time.Sleep(time.Millisecond) // to the next unit
		s.generate(k)
	})
}

// A large step of the clock is a reason to go on as another worker of the same window. Once all
// workers are taken the keeper says so, and the next window has them again.
func TestKeep(t *testing.T) {
	inShop(t, lease.Limits{Nodes: 2}, func(s *shop) {
		k, err := s.keep(keptLayout(t, 1))
		require.NoError(t, err)
		time.Sleep(40 * time.Second)
		f := s.generate(k)
		require.That(t, f.Static["worker"] == 0, "%+v, want worker 0", f)
		s.step(-20 * time.Second)
		require.Refuses(t, randflake.ErrClockBackward, "the clock is back")(k.Generator().Generate())
		synctest.Wait()
		if f := s.generate(k); f.Static["worker"] != 1 || f.Time.After(s.now()) {
			t.Errorf("%+v, want worker 1 at the clock's present time", f)
		}
		other, err := s.keep(keptLayout(t, 1))
		require.NoError(t, err)
		require.Refuses(t, randflake.ErrLeaseNotStarted, "all workers of this window are taken")(other.Generator().Generate())
		require.Refuses(t, lease.ErrFull, "all workers of two windows are taken")(s.keep(keptLayout(t, 1)))
		if time.Sleep(40 * time.Second); s.generate(k).Static["worker"] == s.generate(other).Static["worker"] {
			t.Error("in the next window they have the same worker")
		}
	})
}

// The nodes of the space have to be workers of the layout, and the options right.
func TestKeepChecks(t *testing.T) {
	for _, tt := range []struct {
		statics string
		option  snowflake.Option
		first   uint32 // of the part
		nodes   uint32
		err     error
		says    string
	}{
		{"", snowflake.RunAhead(0), 0, 1, nil, ""},
		{"", snowflake.RunAhead(0), 0, 2, snowflake.ErrInvalidLayout, "room for 1 workers"},
		{"datacenter 5, worker 4, ", snowflake.RunAhead(0), 0, 512, nil, ""},
		{"datacenter 5, worker 4, ", snowflake.RunAhead(0), 0, 513, snowflake.ErrInvalidLayout, "make a space with 512 nodes"},
		{"datacenter 5, worker 4, ", snowflake.Pin("datacenter", 3), 0, 16, nil, ""},
		{"datacenter 5, worker 4, ", snowflake.Pin("datacenter", 3), 0, 32, snowflake.ErrInvalidLayout, "room for 16"},
		{"worker 18, ", snowflake.RunAhead(0), 0, 0, nil, ""},
		{"worker 4, ", snowflake.Leasing(lease.WithNodes(7)), 0, 8, nil, ""}, // takes one
		{"worker 4, ", snowflake.RunAhead(0), 8, 8, nil, ""},
		{"worker 4, ", snowflake.RunAhead(0), 9, 8, snowflake.ErrInvalidLayout, "room for 16 workers, and"},
		{"worker 4, ", snowflake.RunAhead(0), 16, 1, snowflake.ErrInvalidLayout, "has nodes 16 to 16: make a space with 16 nodes, or a part of them"},
		{"worker 4, ", snowflake.Option{}, 0, 16, randflake.ErrInvalidOption, ""},
		{"worker 4, ", snowflake.Pin("worker", 16), 0, 1, randflake.ErrInvalidOption, ""},
		{"worker 4, ", snowflake.StepBack(), 0, 16, randflake.ErrInvalidOption, ""},
		{"worker 4, ", snowflake.Leasing(lease.Option{}), 0, 16, lease.ErrInvalid, ""},
	} {
		inShop(t, lease.Limits{FirstNode: tt.first, Nodes: tt.nodes}, func(s *shop) {
			layout := layoutOf(t, tt.statics+"sequence 4")
			k, err := s.keep(layout, tt.option)
			if !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, %d nodes: %v, want %v that says %q", layout, tt.nodes, err, tt.err, tt.says)
			}
			if err != nil {
				return
			}
			if worker := s.generate(k).Static["worker"]; tt.first > 0 && worker != uint64(tt.first) {
				t.Errorf("worker %d, want %d, the first of the part", worker, tt.first)
			}
		})
	}
}

// Keeper and generator have the same clock: a lease.WithClock among the options of Leasing has no
// effect, here outside of a bubble, where no clock is injected.
func TestKeepHasOneClock(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // Keep may go on trying until it ends
	defer cancel()
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	ahead := func() time.Time { return time.Now().Add(time.Hour) }
	leasing := snowflake.Leasing(lease.WithClock(ahead), lease.WithLogger(slog.New(slog.DiscardHandler)))
	k, err := snowflake.Keep(ctx, space, layoutOf(t, "worker 17, sequence 4"), leasing)
	require.NoError(t, err)
	defer k.Close()
	require.Done(t)(k.Generator().Generate())
}

// Three keepers on one space, with a clock that steps and keepers that end at random, never make the same ID.
func TestKeepIsUnique(t *testing.T) {
	policies := []snowflake.Option{snowflake.RunAhead(0), snowflake.StepBack(), snowflake.RunAhead(3 * time.Second)}
	total, taken := 0, uint64(0)
	for seed := range uint64(8) {
		inShop(t, lease.Limits{Nodes: 16}, func(s *shop) {
			random := rand.New(rand.NewPCG(seed, 1))
			made := make(map[snowflake.ID]bool)
			var keepers [3]*lease.Keeper[*snowflake.Generator]
			for range 2000 {
				i := random.IntN(3)
				if random.IntN(20) == 0 {
					s.step(time.Duration(random.IntN(40)-25) * []time.Duration{time.Millisecond, time.Second, time.Minute}[random.IntN(3)])
				}
				if k := keepers[i]; k == nil {
					keepers[i], _ = s.keep(keptLayout(t, 4), policies[random.IntN(len(policies))])
				} else if random.IntN(100) == 0 {
					k.Close()
					taken += k.Status().Taken
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
	require.That(t, total >= 10_000 && taken >= 100, "%d IDs, %d leases, want more", total, taken)
}
