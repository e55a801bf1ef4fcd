package measure

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake/bench/internal/peers"
)

func TestThroughput(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for _, p := range peers.Available() {
		if p.AtLimit {
			continue
		}
		cost, err := Throughput(t.Context(), Load{Peer: p, Processors: 2, Goroutines: 3, Slice: 2 * time.Millisecond})
		if err != nil || cost.IDs == 0 || cost.Nanoseconds <= 0 {
			t.Errorf("%s: %+v, %v", p.Name, cost, err)
		}
	}
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("GOMAXPROCS is %d, and was %d", n, before)
	}
}

// TestThroughputAtLimit: one node can't give more than 131,072 IDs for each second that has begun.
func TestThroughputAtLimit(t *testing.T) {
	load := Load{Peer: peers.Named("randflake Wait")[0], Processors: 2, Goroutines: 2, Slice: time.Second}
	cost, err := Throughput(t.Context(), load)
	const chunks = 2 * 16 // what is under way when the second ends
	if most := int64(1<<17*(cost.Nanoseconds*float64(cost.IDs)/1e9) + chunks); err != nil || cost.IDs > most {
		t.Errorf("%d IDs, %v; want at most %d", cost.IDs, err, most)
	}
}

func TestFailuresAreTold(t *testing.T) {
	broken := errors.New("broken")
	p := peers.Peer{Name: "broken", Open: func() (peers.Maker, error) {
		return peers.Maker{Source: func() peers.Source {
			return peers.Source{Next: func() (high, low uint64, err error) { return 0, 0, broken }}
		}}, nil
	}}
	if _, err := Throughput(t.Context(), Load{Peer: p, Processors: 1, Goroutines: 1, Slice: time.Millisecond}); !errors.Is(err, broken) {
		t.Errorf("throughput: %v", err)
	}
	if err := NewLatencies().Add(t.Context(), p, time.Millisecond); !errors.Is(err, broken) {
		t.Errorf("latency: %v", err)
	}
}

func TestLatencies(t *testing.T) {
	for _, p := range peers.Named("randflake Generate", "randflake Fill", "the loop") {
		l := NewLatencies()
		if err := l.Add(t.Context(), p, 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if l.Calls.TotalCount() != 16*l.Batches.TotalCount() || l.Calls.TotalCount() == 0 || l.MedianOfBatches() <= 0 {
			t.Errorf("%s: %d calls, %d batches, median %v", p.Name, l.Calls.TotalCount(), l.Batches.TotalCount(), l.MedianOfBatches())
		}
	}
}

func TestAnEndIsHeeded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewLatencies().Add(ctx, peers.Named("the loop")[0], time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("latency: %v", err)
	}
	load := Load{Peer: peers.Named("the loop")[0], Processors: 1, Goroutines: 1, Slice: time.Hour}
	if _, err := Throughput(ctx, load); !errors.Is(err, context.Canceled) {
		t.Errorf("throughput: %v", err)
	}
	if err := Until(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("sleep: %v", err)
	}
}

func TestClock(t *testing.T) {
	if rate := TicksPerNanosecond(); rate <= 0 {
		t.Errorf("%v ticks in a nanosecond", rate)
	}
	if step, reading := Resolution(); step <= 0 || reading <= 0 {
		t.Errorf("step %v, reading %v", step, reading)
	}
}

func TestDoubling(t *testing.T) {
	for last, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := Doubling(last); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, not %v", last, got, want)
		}
	}
}
