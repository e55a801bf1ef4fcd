package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
)

// A job is one fault on one engine.
type job struct {
	engine string
	fault  *fault
	round  int // how often it was done before
}

// name tells a job from all others, and is the name of its directory.
func (j job) name() string { return fmt.Sprintf("%s-%s-%d", j.engine, j.fault.name, j.round) }

// seeded returns the source of all choices of one run.
func seeded(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), name...))))
}

// An outcome is what came of a job.
type outcome struct {
	job
	result  check.Result
	refused uint64
	err     error // what was not as expected
	late    bool  // err says that something came too late or was refused, and no more
}

// do runs a fault and checks what the workers noted. Its files are in dir.
func (j job) do(ctx context.Context, f flags, dir string, rate int) (o outcome) {
	o.job = j
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+20*f.window)
	defer cancel()
	w, err := newWorld(ctx, j, f, dir, rate)
	if err == nil {
		err = w.play(j.fault.script)
	}
	w.end()
	if err == nil {
		err = w.judge(j.fault)
	}
	for _, p := range w.processes {
		for k := range p.Refused {
			o.refused += p.Refused[k].Load()
		}
	}
	var wrong error
	o.result, wrong = w.check()
	if err == nil && j.fault.repeats && o.result.Duplicates == 0 {
		err = errors.New("the fault did not take place: no ID was repeated")
	}
	o.err, o.late = errors.Join(err, wrong), wrong == nil && err != nil
	return o
}

// judge returns an error if workers were refused for another reason than the fault gives, or the fault did not take place.
func (w *world) judge(f *fault) error {
	var errs []error
	var shown, made uint64
	for _, p := range w.processes {
		for k := range p.Refused {
			if n := p.Refused[k].Load(); n > 0 && !slices.Contains(f.may, worker.Refusal(k)) {
				errs = append(errs, fmt.Errorf("%s was refused %d times without a reason: %v: %s", p.name, n, worker.Refusal(k), p.lastWords()))
			}
		}
		made += p.made()
		if f.shows != nil {
			shown += f.shows(p)
		}
	}
	if made == 0 || f.shows != nil && shown == 0 {
		errs = append(errs, errors.New("the fault did not take place: no call of the store met with it"))
	}
	return errors.Join(errs...)
}

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
	queue, outcomes := make(chan job), make(chan outcome)
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

// doPatiently does a job, and once more where something came too late or was refused, as on a machine that is busy with
// other things. What the checks find is never excused.
func (j job) doPatiently(ctx context.Context, f flags, dir string, rate int) outcome {
	first := j.doIn(ctx, f, dir, rate)
	if !first.late || f.bug != "" || ctx.Err() != nil {
		return first
	}
	second := j.doIn(ctx, f, dir+"-again", rate)
	if second.err != nil {
		second.err = fmt.Errorf("%w\nit was done again, as the first time: %w", second.err, first.err)
		return second
	}
	os.RemoveAll(dir) // the first time is excused
	return second
}

// doIn does a job in a directory of its own, which is kept if something was wrong.
func (j job) doIn(ctx context.Context, f flags, dir string, rate int) outcome {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return outcome{job: j, err: err}
	}
	o := j.do(ctx, f, dir, rate)
	if o.err != nil && f.bug == "" && ctx.Err() == nil {
		o.err = fmt.Errorf("%w\nfiles: %s", o.err, dir)
		return o
	}
	if err := os.RemoveAll(dir); err != nil && o.err == nil {
		o.err = err
	}
	return o
}

// writeTable writes a line for each fault, and returns how many runs failed or could not be done.
func writeTable(out io.Writer, outcomes []outcome) (failed int) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\truns\tIDs\tnumbers\trefusals expected\tduplicates\tengines")
	all := row{name: "all"}
	for i := range faults {
		r := row{name: faults[i].name}
		for _, name := range engine.Names {
			before := r
			for _, o := range outcomes {
				if o.fault == &faults[i] && o.engine == name {
					r.add(o)
					all.add(o)
				}
			}
			if r.failed > before.failed {
				name += "(FAIL)"
			}
			if r.runs > before.runs {
				r.engines += name + " "
			}
		}
		if r.runs > 0 {
			r.write(t)
		}
	}
	all.write(t)
	t.Flush()
	return all.failed
}

// A row is what came of one fault, or of all.
type row struct {
	name, engines                     string
	runs, failed                      int
	ids, numbers, refused, duplicates uint64
}

func (r *row) add(o outcome) {
	r.runs++
	r.ids += o.result.IDs
	r.numbers += o.result.Numbers
	r.refused += o.refused
	if o.err != nil {
		r.failed++
	}
	if o.err != nil || !o.fault.repeats {
		r.duplicates += o.result.Duplicates
	}
}

func (r row) write(out io.Writer) {
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.name, r.runs, r.ids, r.numbers, r.refused, r.duplicates, r.engines)
}
