package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
)

// randflaked is where the program of replicas is built.
func randflaked(dir string) string { return filepath.Join(dir, "randflaked") }

// carryOut does the jobs, some at a time, and again until enough IDs are made. It returns an error only if it could not go
// on; outcomes have errors of their own.
func carryOut(ctx context.Context, f flags, jobs []job, out io.Writer) (outcomes []outcome, err error) {
	base, err := os.MkdirTemp("", "randflake-chaos-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(base) // unless a directory was kept
	if slices.ContainsFunc(jobs, func(j job) bool { return strings.HasPrefix(j.engine, "service-") }) {
		if err := engine.BuildRandflaked(ctx, randflaked(base)); err != nil {
			return nil, err
		}
		defer os.Remove(randflaked(base))
	}
	rate := max(50_000, int(f.ids)/len(jobs)/60) // a run has some three workers for some twenty seconds
	if f.short {
		rate = max(10_000, int(f.ids)/len(jobs)/30)
	}
	if f.window > usual { // and runs take as much longer
		rate = int(int64(rate) * int64(usual) / int64(f.window))
	}
	var made, before uint64
	for round := 0; round == 0 || made < f.ids && made > before; round++ {
		before = made
		if round == 1 { // those that make IDs
			jobs = slices.DeleteFunc(jobs, func(j job) bool { return strings.HasPrefix(j.fault.name, "count-") })
		}
		for o := range inParallel(ctx, f, jobs, round, base, rate) {
			if ctx.Err() == nil && o.err != nil {
				fmt.Fprintf(out, "FAIL %s on %s:\n    %s\n", o.fault.name, o.engine, strings.ReplaceAll(o.err.Error(), "\n", "\n    "))
			}
			outcomes = append(outcomes, o)
			made += o.result.IDs
		}
		if ctx.Err() != nil {
			return outcomes, fmt.Errorf("interrupted: %w", ctx.Err())
		}
	}
	return outcomes, nil
}

// inParallel does the jobs and sends their outcomes as they come.
func inParallel(ctx context.Context, f flags, jobs []job, round int, base string, rate int) <-chan outcome {
	queue := make(chan job)
	outcomes := make(chan outcome)
	var workers sync.WaitGroup
	for range f.parallel {
		workers.Go(func() {
			for j := range queue {
				j.round = round
				outcomes <- j.doPatiently(ctx, f, filepath.Join(base, j.name()), rate)
			}
		})
	}
	go func() {
		for _, j := range jobs {
			if ctx.Err() == nil {
				queue <- j
			}
		}
		close(queue)
		workers.Wait()
		close(outcomes)
	}()
	return outcomes
}
