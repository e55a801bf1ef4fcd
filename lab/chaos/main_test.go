// Package chaos runs real worker processes on real stores, breaks things, and checks that nothing is given twice.
// README.md says how. It needs Linux, and for some faults the right to mount a file system.
package chaos

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

var (
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "`number` that all times and choices come from")
	ids    = flag.Uint64("ids", 0, "`number` of IDs that all faults together make at least, again and again")
	window = flag.Duration("window", 0, "`duration` of windows, and of the most by which clocks differ, in place of what each fault has")
)

// TestMain runs the tests, or is a worker.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "worker" {
		os.Exit(m.Run())
	}
	var c workerConfig
	err := json.Unmarshal([]byte(os.Args[2]), &c)
	if err == nil {
		err = runWorker(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// interruptible returns a context for runs, which clean up after an interrupt, and of which no more begin then.
func interruptible(t *testing.T) context.Context {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	return ctx
}

// TestFaults has each fault happen on its engines, once or until its part of the IDs is made.
func TestFaults(t *testing.T) {
	require.Must(t, *window >= 0 && *window%time.Second == 0, "-window %v: want whole seconds", *window)
	ctx := interruptible(t)
	t.Logf("seed %d", *seed)
	var total atomic.Uint64
	t.Cleanup(func() { t.Logf("%d IDs by all", total.Load()) })
	share := *ids / uint64(makers())
	for i := range faults {
		f := &faults[i]
		for _, engine := range strings.Fields(f.engines) {
			t.Run(f.name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				t.Log(f.does)
				j := job{engine: engine, fault: f, rate: rate(share)}
				for made := uint64(0); j.round == 0 || made < share && f.makesIDs(); j.round++ {
					o := j.patiently(ctx)
					made += o.result.IDs
					total.Add(o.result.IDs)
					t.Logf("%d IDs, %d numbers, %d duplicates, refused %d times", o.result.IDs, o.result.Numbers, o.result.Duplicates, o.refused)
					require.NoError(t, o.err)
				}
			})
		}
	}
}

// makers returns how many runs make IDs.
func makers() (n int) {
	for _, f := range faults {
		if f.makesIDs() {
			n += len(strings.Fields(f.engines))
		}
	}
	return n
}

// rate returns how many IDs a worker makes in a second: a run has some three workers for some twenty seconds, or more
// with longer windows.
func rate(share uint64) int {
	perSecond := max(50_000, int(share/60))
	if testing.Short() {
		perSecond = max(10_000, int(share/30))
	}
	if *window > usualWindow {
		perSecond = int(int64(perSecond) * int64(usualWindow) / int64(*window))
	}
	return perSecond
}

// TestPlantedBugs is the negative control: what must not happen is found when it does.
func TestPlantedBugs(t *testing.T) {
	ctx := interruptible(t)
	for _, tt := range []struct {
		bug    bug
		faults []string // on a directory
	}{
		{forget, []string{"killed", "count-killed"}},
		{outlive, []string{"stopped"}},
		{repeat, []string{"count-killed"}},
	} {
		t.Run(string(tt.bug), func(t *testing.T) {
			t.Parallel()
			found := false
			for _, name := range tt.faults {
				j := job{engine: "file", fault: faultNamed(name), rate: rate(0), bug: tt.bug}
				r := j.run(ctx).result
				found = found || r.Shared > 0 || r.Outside > 0 || r.Duplicates > 0 || r.TwiceGiven > 0
			}
			require.That(t, found, "the planted bug was not found")
		})
	}
}
