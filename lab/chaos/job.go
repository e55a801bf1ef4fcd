package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/check"
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
	text := binary.LittleEndian.AppendUint64(nil, seed)
	text = append(text, name...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(text)))
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
	o.err = errors.Join(err, wrong)
	o.late = wrong == nil && err != nil
	return o
}

// judge returns an error if workers were refused for another reason than the fault gives, or the fault did not take place.
func (w *world) judge(f *fault) error {
	var errs []error
	var shown, made uint64
	for _, p := range w.processes {
		for k := range p.Refused {
			n := p.Refused[k].Load()
			why := worker.Refusal(k)
			if n > 0 && !slices.Contains(f.may, why) {
				errs = append(errs, fmt.Errorf("%s was refused %d times without a reason: %v: %s", p.name, n, why, p.lastWords()))
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
