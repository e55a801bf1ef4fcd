package counters

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/bench/internal/engines"
	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

func TestMain(m *testing.M) {
	engines.Main()
	os.Exit(m.Run())
}

// TestNoNumberTwice: no source, ours or another, gives a number twice to all callers at once, and each is measured.
func TestNoNumberTwice(t *testing.T) {
	systems, all, err := startAll(t.Context(), t.TempDir())
	for _, s := range systems {
		defer s.stop()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range systems {
		if all[i].Skipped != "" || all[i].Version == "" && y.name != "file" || len(y.sources) == 0 {
			t.Errorf("%+v has %d sources: make servers installs them", all[i], len(y.sources))
		}
		for _, s := range y.sources {
			if twice, err := s.twice(t.Context(), 3); twice || err != nil {
				t.Errorf("%s, %s: a number twice: %v, %v", y.name, s.name, twice, err)
			}
			if calls, took, err := s.draw(t.Context(), time.Millisecond); calls < int64(len(s.callers)) || took < time.Millisecond || err != nil {
				t.Errorf("%s, %s: %d calls in %v, %v", y.name, s.name, calls, took, err)
			}
		}
	}
}

func TestTwice(t *testing.T) {
	seven := func(context.Context) (int64, error) { return 7, nil }
	if twice, err := (source{callers: []caller{seven, seven}}).twice(t.Context(), 1); !twice || err != nil {
		t.Errorf("two callers get the same number: %v, %v", twice, err)
	}
}

// twice reports whether callers get a number twice that make so many calls each.
func (s source) twice(ctx context.Context, calls int) (twice bool, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := make(map[int64]bool)
	for _, take := range s.callers {
		wg.Go(func() {
			for range calls {
				n, failed := take(ctx)
				mu.Lock()
				err = errors.Join(err, failed)
				twice = twice || seen[n]
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return twice, err
}

// TestNotInstalled: a server that is not there is told as skipped, and does no harm.
func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := &system{name: "Redis"}
	defer s.stop()
	redis := engines.All()[2]
	if err := s.start(t.Context(), redis, t.TempDir()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without redis-server: %v", err)
	}
}

func TestInMemory(t *testing.T) {
	for _, p := range memory() {
		c, err := measure.Throughput(t.Context(), measure.Load{Peer: p, Processors: 1, Goroutines: 2, Slice: time.Millisecond})
		if err != nil || c.IDs == 0 {
			t.Errorf("%s: %+v, %v", p.Name, c, err)
		}
	}
}

// samples are of two rounds, the second at half of the speed: a server with our counters, and one that is careless.
func samples() (list []sample) {
	for _, s := range []sample{
		{Server: "A", Kind: blocks, Each: 1, Calls: 10},
		{Server: "A", Kind: strict, Each: 1, Calls: 300},
		{Server: "A", Kind: relaxed, Each: 1, Calls: 4_000_000},
		{Server: "A", Kind: peer, Source: "slow", Each: 1, Calls: 100},
		{Server: "A", Kind: peer, Source: "many", Each: 1000, Calls: 2000},
		{Server: "B", Kind: peer, Source: "fast", Each: 1, Calls: 5000},
	} {
		for round, seconds := range []float64{1, 2} {
			s.Round, s.Seconds = round+1, seconds
			list = append(list, s)
		}
	}
	return list
}

func TestTables(t *testing.T) {
	found := summarize(samples())
	engines := engineTable(found, []server{{"A", "1.2", ""}, {"C", "", "no program c"}}).Markdown()
	peers := peerTable(found).Markdown()
	for want, table := range map[string]string{
		"| A 1.2 | 7.50 | 225 | 3,000,000 |\n":         engines,
		"C was not measured: no program c.":            engines,
		"| A | slow | 1 | 75.0 | 3.00 x | 40,000 x |":  peers,
		"| A | many | 1,000 | 1,500,000 |  | 2.00 x |": peers,
		"| B | fast | 1 | 3,750 |  |  |":               peers,
		"slow of A is the fastest. Beside it, on any engine: strict numbers 3.00 to 3.00 x. relaxed numbers 40,000 to 40,000 x.": peers,
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%s is not in\n%s", want, table)
		}
	}
}

// TestRender makes all tables and pictures of made-up data, and again.
func TestRender(t *testing.T) {
	r, err := report.Open(t.TempDir(), "counters", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	costs := []cost{{yardstick, 1, 1, 10, 0}, {"ours", 1, 1, 25, 0}, {yardstick, 1, 2, 10, 0}, {"ours", 1, 2, 35, 0}}
	single := []calls{{yardstick, 20, 30, 40, 50}, {"ours", 20, 30, 400, 5000}}
	if err := errors.Join(r.CSV("memory", costs), r.CSV("calls", single), r.CSV("servers", []server{{"A", "1", ""}}), r.CSV("numbers", samples())); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(render(r), render(r.Verify())); err != nil {
		t.Fatal(err)
	}
	if table, err := r.File("counters-memory.md"); err != nil || !strings.Contains(string(table), "| ours | 30.0 | 3.00 | 0 | 20.0 ns | 30.0 ns | 400 ns | 5.00 µs |") {
		t.Errorf("%s, %v", table, err)
	}
}
