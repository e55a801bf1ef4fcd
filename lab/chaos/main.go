// Command chaos runs real worker processes on real stores, breaks things, and checks that nothing is given twice.
// README.md says how. It needs Linux, and for some faults the right to mount a file system.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/lab/etcd"
)

func main() {
	etcdtest.Main()
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		var c worker.Config
		err := json.Unmarshal([]byte(os.Args[2]), &c)
		if err == nil {
			err = worker.Run(c)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// flags are what the user asks for.
type flags struct {
	engines, faults string
	list            bool
	seed            uint64
	short           bool
	ids             uint64
	bug             string
	parallel        int
	window          time.Duration // zero for the usual ones
}

func parse(args []string, out io.Writer) (f flags, err error) {
	set := flag.NewFlagSet("chaos", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.engines, "engine", "all", "`names` of engines, with commas: "+strings.Join(engine.Names, ", "))
	set.StringVar(&f.faults, "fault", "all", "`names` of faults, with commas; -list tells them")
	set.BoolVar(&f.list, "list", false, "list the faults and where they can happen")
	set.Uint64Var(&f.seed, "seed", 0, "`number` that all times and choices come from (default from the clock)")
	set.BoolVar(&f.short, "short", false, "do each fault once, and within it everything fewer times")
	set.Uint64Var(&f.ids, "ids", 0, "make at least so `many` IDs over all faults, which are repeated until then")
	set.StringVar(&f.bug, "bug", "", fmt.Sprintf("`name` of a bug to plant, which must be found: %v", worker.Bugs))
	set.IntVar(&f.parallel, "parallel", 8, "`number` of runs at a time; they mostly wait")
	set.DurationVar(&f.window, "window", 0, "`duration` of windows, and of the most by which clocks differ, in place of what each fault has")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	switch {
	case f.window < 0 || f.window%time.Second != 0:
		return f, fmt.Errorf("-window %v: want whole seconds", f.window)
	case set.NArg() > 0 || f.parallel < 1:
		return f, fmt.Errorf("arguments %q: want flags only, and -parallel of 1 or more", args)
	case f.bug != "" && !slices.Contains(worker.Bugs, worker.Bug(f.bug)):
		return f, fmt.Errorf("-bug %s: want one of %v", f.bug, worker.Bugs)
	case f.seed == 0:
		f.seed = uint64(time.Now().UnixNano())
	}
	return f, nil
}

// plan returns the jobs that f asks for.
func (f flags) plan() (jobs []job, err error) {
	names := make([]string, len(faults))
	for i, one := range faults {
		names[i] = one.name
	}
	engines, err := choose("-engine", f.engines, engine.Names)
	if err != nil {
		return nil, err
	}
	chosen, err := choose("-fault", f.faults, names)
	if err != nil {
		return nil, err
	}
	for i, one := range faults {
		for _, name := range one.on() {
			if slices.Contains(chosen, one.name) && slices.Contains(engines, name) {
				jobs = append(jobs, job{engine: name, fault: &faults[i]})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("-fault %s can't happen with -engine %s: see -list", f.faults, f.engines)
	}
	return jobs, nil
}

// choose returns the names that a flag asks for.
func choose(flag, asked string, names []string) ([]string, error) {
	if asked == "all" {
		return names, nil
	}
	chosen := strings.Split(asked, ",")
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s %s: want some of %s", flag, name, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

// run does what args ask for. It returns an error unless all went as expected.
func run(ctx context.Context, args []string, out io.Writer) error {
	f, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.list {
		for _, one := range faults {
			fmt.Fprintf(out, "%s (%s)\n    %s.\n", one.name, strings.Join(one.on(), ", "), one.does)
		}
		return nil
	}
	jobs, err := f.plan()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, %d runs\n", f.seed, len(jobs))
	began := time.Now()
	outcomes, err := carryOut(ctx, f, jobs, out)
	if err != nil {
		return err
	}
	failed := writeTable(out, outcomes)
	fmt.Fprintf(out, "%d runs in %v\n", len(outcomes), time.Since(began).Round(time.Second))
	if f.bug != "" {
		return found(f.bug, outcomes)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs were not as expected", failed, len(outcomes))
	}
	return nil
}

// found returns an error unless the checks found the planted bug.
func found(bug string, outcomes []outcome) error {
	for _, o := range outcomes {
		if o.result.Shared > 0 || o.result.Outside > 0 || o.result.Duplicates > 0 && !o.fault.repeats {
			return nil
		}
	}
	return fmt.Errorf("the planted bug %s was not found", bug)
}
