// Command moves moves spaces between stores while processes make IDs, and makes spaces again by hand, and compares all IDs.
//
// It moves a space between each two of four stores, in each direction, while three processes that have lived three windows
// make IDs at 100 a second. The move is killed before each call of its engines and after it, and run again. Then three new
// processes start, and all go on to a window beyond the floor. On two stores, all data is wiped under the processes of ten
// spaces, and each space is made again by hand. The processes are goroutines, each with a handle of its own; windows have
// 2 s, and MaxSkew is 1 s. The run fails if an ID was made twice, if an old process is refused while it has leases, or if
// its leases end before all new ones have made an ID.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lease"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "moves:", err)
		os.Exit(1)
	}
}

// limits are those of all spaces: short, so that a scene takes half a minute.
var limits = lease.Limits{
	Window:  2 * time.Second,
	Ahead:   5,
	MaxSkew: time.Second,
}

// The engines that spaces move between, and those whose data is wiped, so that spaces are made again by hand.
var (
	moved = []string{"file", "sqlite", "postgres", "redis"}
	wiped = []string{"file", "redis"}
)

// runs is how many spaces are made again on each engine.
const runs = 10

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "randflake-moves-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	engines := map[string]*engine.Engine{}
	for _, name := range moved {
		setup := engine.Setup{Dir: filepath.Join(dir, name), Limits: limits}
		if err := os.Mkdir(setup.Dir, 0o755); err != nil {
			return err
		}
		e, err := engine.Start(ctx, name, setup)
		defer e.Stop()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		engines[name] = e
	}

	var results []result
	for _, from := range moved {
		results = append(results, movesFrom(ctx, engines, from)...)
	}
	writeMoves(out, results)
	var remade []result
	for _, name := range wiped {
		remade = append(remade, makeAgain(ctx, name, engines[name])...)
	}
	writeRemade(out, remade)

	var errs []error
	for _, r := range append(results, remade...) {
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.what, err))
		}
	}
	return errors.Join(errs...)
}

// movesFrom moves a space from one engine to each other one, side by side.
func movesFrom(ctx context.Context, engines map[string]*engine.Engine, from string) []result {
	others := slices.DeleteFunc(slices.Clone(moved), func(name string) bool { return name == from })
	results := make([]result, len(others))
	var all sync.WaitGroup
	for i, to := range others {
		r := &results[i]
		r.what = from + " to " + to
		s := newScene(from + "-" + to)
		all.Go(func() { s.move(ctx, engines[from], engines[to], r) })
	}
	all.Wait()
	return results
}

// A result is what came of a scene.
type result struct {
	what    string
	kills   int           // of a move
	first   time.Duration // until the last new process has made an ID
	left    time.Duration // after that, until the first old process is without a lease
	refused int           // calls of old processes before their leases had ended
	ids     int
	equal   int // IDs that were made before
	err     error
}

func (r result) check() error {
	switch {
	case r.err != nil:
		return r.err
	case r.equal > 0:
		return fmt.Errorf("%d IDs were made twice", r.equal)
	case r.refused > 0:
		return fmt.Errorf("old processes were refused %d times while they had leases", r.refused)
	case r.kills > 0 && r.left <= 0:
		return fmt.Errorf("an old process had no lease for %v before the last new one made an ID", -r.left)
	}
	return nil
}

func writeMoves(out io.Writer, results []result) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "moved\tkilled\tnew ones make IDs after\told ones go on for\trefused\tIDs\tequal")
	for _, r := range results {
		first := r.first.Round(100 * time.Millisecond)
		left := r.left.Round(100 * time.Millisecond)
		fmt.Fprintf(table, "%s\t%d times\t%v\t%v\t%d\t%d\t%d\n", r.what, r.kills, first, left, r.refused, r.ids, r.equal)
	}
	table.Flush()
}

// writeRemade writes a line for each engine.
func writeRemade(out io.Writer, results []result) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "made again by hand\truns\tnew ones make IDs after\tIDs\tequal")
	for len(results) > 0 {
		sum := result{what: results[0].what}
		for _, r := range results[:runs] {
			sum.first = max(sum.first, r.first)
			sum.ids += r.ids
			sum.equal += r.equal
		}
		fmt.Fprintf(table, "%s\t%d\t%v\t%d\t%d\n", sum.what, runs, sum.first.Round(100*time.Millisecond), sum.ids, sum.equal)
		results = results[runs:]
	}
	table.Flush()
}
