// Command chaos runs real worker processes that make IDs under leases from a real store, breaks things, and
// checks that no ID is ever made twice.
//
//	go run . -list
//	go run . -store file,etcd -fault kill,pause
//	go run . -short -once
//	go run . -store all -fault all -short
//
// It needs Linux, and for some faults the right to mount a file system.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/lab/etcd"
)

func main() {
	etcdtest.Main()
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		work(os.Args[2])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// work is what this program does as a worker process.
func work(config string) {
	var c worker.Config
	err := json.Unmarshal([]byte(config), &c)
	if err == nil {
		err = worker.Run(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// flags are what the user asks for.
type flags struct {
	stores, faults string
	list           bool
	seed           uint64
	short, once    bool
	ids            uint64
	bug            string
	results        string
	keep           bool
	parallel       int
}

func parse(args []string, out io.Writer) (f flags, err error) {
	set := flag.NewFlagSet("chaos", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.stores, "store", "all", "`names` of stores, with commas: "+strings.Join(storeNames(), ", ")+", or remote for all of these, or all, which leaves out "+fault.Memory+", and all remote ones but "+fault.RemoteEtcd+" with -short")
	set.StringVar(&f.faults, "fault", "all", "`names` of faults, with commas, or all")
	set.BoolVar(&f.list, "list", false, "list the faults and where they can happen")
	set.Uint64Var(&f.seed, "seed", 0, "`number` that all times and choices come from (default from the clock)")
	set.BoolVar(&f.short, "short", false, "do everything fewer times")
	set.BoolVar(&f.once, "once", false, "do each fault on one of its stores only, which take turns")
	set.Uint64Var(&f.ids, "ids", 0, "make at least so `many` IDs over all faults, which are repeated until then")
	set.StringVar(&f.bug, "bug", "", "`name` of a bug to plant, which must be found: "+strings.Join(bugNames(), ", "))
	set.StringVar(&f.results, "results", "", "`file` for a table of the results, in Markdown")
	set.BoolVar(&f.keep, "keep", false, "keep the files of all runs, and not just of those that fail")
	set.IntVar(&f.parallel, "parallel", 8, "`number` of runs at a time; they mostly wait")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("argument %q: want flags only", set.Arg(0))
	}
	if f.parallel < 1 {
		return f, fmt.Errorf("-parallel %d: want at least 1", f.parallel)
	}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	return f, nil
}

// run does what args ask for. It returns an error unless everything had the expected outcome.
func run(ctx context.Context, args []string, out io.Writer) error {
	f, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.list {
		return list(out)
	}
	plan, err := newPlan(f)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, %d runs\n", f.seed, len(plan))
	began := time.Now()
	outcomes, err := carryOut(ctx, f, plan, out)
	if err != nil {
		return err
	}
	total := sum(outcomes)
	fmt.Fprintf(out, "%d runs in %v: %s\n", len(outcomes), time.Since(began).Round(time.Second), total)
	if f.results != "" {
		if err := writeResults(f, outcomes); err != nil {
			return err
		}
	}
	if f.bug != "" {
		return found(f.bug, outcomes)
	}
	if total.Made < f.ids {
		return fmt.Errorf("%d IDs were made, want %d: the last round made none", total.Made, f.ids)
	}
	if total.Failed > 0 {
		return fmt.Errorf("%d of %d runs had an outcome that was not expected", total.Failed, len(outcomes))
	}
	return nil
}

func bugNames() (names []string) {
	for _, b := range broken.Bugs {
		names = append(names, string(b))
	}
	return names
}

// list prints all faults.
func list(out io.Writer) error {
	for _, f := range fault.All {
		fmt.Fprintf(out, "%s (%s)\n\t%s:\n\t%s\n", f.Name, strings.Join(f.Stores, ", "), f.Does, f.Expect)
	}
	return nil
}

// seeded returns a source of random numbers for one run.
func seeded(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, name))))
}
