package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
)

// How many IDs a second each worker makes, in either form, unless the user wants more of them.
const (
	usualRate = 50_000
	shortRate = 10_000
)

// randflaked is where the program is built that replicas run, beside the directories of jobs.
const randflaked = "randflaked"

// carryOut does the jobs of plan, some at a time, and again until enough IDs are made. It returns an error only
// if it could not go on; outcomes have errors of their own.
func carryOut(ctx context.Context, f flags, plan []job, out io.Writer) (outcomes []outcome, err error) {
	base, err := os.MkdirTemp("", "randflake-chaos-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(base) // unless a directory was kept
	if slices.ContainsFunc(plan, func(j job) bool { return fault.IsRemote(j.store) }) {
		program := filepath.Join(base, randflaked)
		if err := engine.BuildRandflaked(ctx, program); err != nil {
			return nil, err
		}
		defer os.Remove(program)
	}
	rate := rateFor(f, len(makingIDs(plan)))
	var made, before uint64
	for round := 0; round == 0 || made < f.ids && made > before; round++ {
		if before = made; round == 1 {
			plan = makingIDs(plan)
		}
		for i := range plan {
			plan[i].round = round
		}
		for o := range inParallel(ctx, f, plan, base, rate) {
			if ctx.Err() == nil {
				fmt.Fprintln(out, o)
			}
			outcomes = append(outcomes, o)
			made += o.Made
		}
		if ctx.Err() != nil {
			return outcomes, fmt.Errorf("interrupted: %w", ctx.Err())
		}
	}
	return outcomes, nil
}

// makingIDs returns the jobs whose workers do, and don't count.
func makingIDs(plan []job) []job {
	return slices.DeleteFunc(slices.Clone(plan), func(j job) bool { return j.fault.Counts })
}

// inParallel does the jobs of plan and sends their outcomes as they come.
func inParallel(ctx context.Context, f flags, plan []job, base string, rate int) <-chan outcome {
	jobs, outcomes := make(chan job), make(chan outcome)
	done := make(chan bool)
	for range f.parallel {
		go func() {
			for j := range jobs {
				outcomes <- patiently(ctx, f, j, filepath.Join(base, j.name()), rate)
			}
			done <- true
		}()
	}
	go func() {
		for _, j := range plan {
			if ctx.Err() == nil {
				jobs <- j
			}
		}
		close(jobs)
		for range f.parallel {
			<-done
		}
		close(outcomes)
	}()
	return outcomes
}

// patiently does a job, and once more where IDs were refused or something came too late, as on a machine that is busy
// with other things. An ID that should not have been made is never excused.
func patiently(ctx context.Context, f flags, j job, dir string, rate int) outcome {
	first := doIn(ctx, f, j, dir, rate)
	if !first.late || f.bug != "" || ctx.Err() != nil {
		return first
	}
	second := doIn(ctx, f, j, dir+"-again", rate)
	second.notes = append(second.notes, fmt.Sprintf("it was done again, as the first time: %v", first.err))
	return second
}

// doIn does a job in a directory of its own, which is kept if something was wrong.
func doIn(ctx context.Context, f flags, j job, dir string, rate int) outcome {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return outcome{job: j, err: err}
	}
	o := j.do(ctx, f, dir, rate)
	if o.err != nil && f.bug == "" && ctx.Err() == nil || f.keep {
		o.notes = append(o.notes, "files: "+dir)
		return o
	}
	if err := os.RemoveAll(dir); err != nil && o.err == nil {
		o.err = err
	}
	return o
}

// rateFor returns how many IDs a second each worker is to make, so that one round makes enough: a run has some
// three workers for some ten seconds, and for twenty in the full form.
func rateFor(f flags, runs int) int {
	runs = max(runs, 1)
	if f.short {
		return max(int(f.ids)/runs/30, shortRate)
	}
	return max(int(f.ids)/runs/60, usualRate)
}

// A total is the sum of outcomes.
type total struct {
	Made, Duplicates, Repeats uint64 // IDs; Repeats are the duplicates that a fault may cause
	Numbers                   uint64 // of counters
	Failed, Skipped           int    // runs
}

func sum(outcomes []outcome) (t total) {
	for _, o := range outcomes {
		t.Made += o.Made
		t.Numbers += o.numbers.Issued
		if o.fault.Repeats && o.err == nil {
			t.Repeats += o.Duplicates
		} else {
			t.Duplicates += o.Duplicates + o.numbers.Duplicates
		}
		if o.err != nil {
			t.Failed++
		}
		if o.skipped != nil {
			t.Skipped++
		}
	}
	return t
}

func (t total) String() string {
	return fmt.Sprintf("%d IDs and %d numbers of counters, %d duplicates (and %d while a copied process was not noticed), %d outcomes not as expected, %d skipped", t.Made, t.Numbers, t.Duplicates, t.Repeats, t.Failed, t.Skipped)
}

// found returns an error unless some run found the planted bug.
func found(bug string, outcomes []outcome) error {
	var by []string
	for _, o := range outcomes {
		if o.err != nil { // without the bug there is none
			by = append(by, o.fault.Name)
		}
	}
	if len(by) == 0 {
		return fmt.Errorf("the planted bug %s was not found", bug)
	}
	fmt.Printf("the planted bug %s was found by: %s\n", bug, strings.Join(by, ", "))
	return nil
}
