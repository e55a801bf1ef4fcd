package chaos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A job is one fault on one engine.
type job struct {
	engine string
	fault  *fault
	rate   int // IDs a second that each worker makes
	round  int // how often it was done before
	bug    bug // planted
}

// name tells a job from all others.
func (j job) name() string { return fmt.Sprintf("%s-%s-%d", j.engine, j.fault.name, j.round) }

// random returns the source of all choices of the job.
func (j job) random() *rand.Rand {
	text := binary.LittleEndian.AppendUint64(nil, *seed)
	text = append(text, j.name()...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(text)))
}

// By default a window is so short that the end of leases is never far. Workers take windows ahead for as long as two windows, as
// far as the space allows.
const (
	usualWindow  = 2 * time.Second
	windowsAhead = 3
)

// world makes the world of a job. Nothing runs in it yet. Its IDs have the secret.
func (j job) world(dir string, secret randflake.Secret) *world {
	w := &world{dir: dir, rand: j.random()}
	w.window = cmp.Or(*window, j.fault.window, usualWindow)
	w.reach = (windowsAhead + 1) * w.window
	w.timeout = 90*time.Second + 2*w.reach
	if j.bug != "" {
		w.timeout = 3 * w.reach // a script may wait in vain
	}
	w.store = &store{name: j.engine, dir: filepath.Join(dir, "store"), setup: j.fault.setup}
	w.store.config.CheckValue = secret.CheckValue()
	if !j.fault.plain {
		w.store.config.Limits = lease.Limits{Window: w.window, Ahead: windowsAhead, MaxSkew: cmp.Or(*window, time.Second)}
	}
	w.worker = workerConfig{Secret: secret.Hex(), Outage: 2 * w.window, Nodes: 1024, Rate: j.rate, Bug: j.bug}
	return w
}

// An outcome is what came of a job.
type outcome struct {
	files   string // the directory of the run
	result  result
	refused uint64
	err     error // what was not as expected
	late    bool  // err says that something came too late or was refused, and no more
}

// patiently does a job, and once more where something came too late or was refused, as on a machine that is busy with
// other things. What the checks find is never excused.
func (j job) patiently(ctx context.Context) outcome {
	first := j.run(ctx)
	if !first.late {
		return first
	}
	second := j.run(ctx)
	if second.err != nil {
		second.err = fmt.Errorf("%w\nit was done again, as the first time: %w", second.err, first.err)
		return second
	}
	os.RemoveAll(first.files) // the first time is excused
	return second
}

// run does a job in a directory of its own, which is kept if something was wrong.
func (j job) run(ctx context.Context) outcome {
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	dir, err := os.MkdirTemp("", j.name()+"-")
	if err != nil {
		return outcome{err: err}
	}
	o := j.play(ctx, dir)
	if o.err != nil && j.bug == "" && ctx.Err() == nil {
		o.err = fmt.Errorf("%w\nfiles: %s", o.err, dir)
		return o
	}
	o.late = false
	o.err = errors.Join(o.err, os.RemoveAll(dir))
	return o
}

// play has the fault happen and checks what the workers noted.
func (j job) play(ctx context.Context, dir string) outcome {
	secret := randflake.NewSecret()
	w := j.world(dir, secret)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+20*w.window)
	defer cancel()
	w.ctx = ctx
	err := w.play(j.fault.script)
	w.end()
	if err == nil {
		err = w.judge(j.fault)
	}
	found, wrong := check(secret, w.journals())
	if wrong == nil {
		wrong = found.err(w.repeats)
	}
	if err == nil && j.fault.repeats && found.Duplicates == 0 {
		err = errors.New("the fault did not take place: no ID was repeated")
	}
	o := outcome{files: dir, result: found, err: errors.Join(err, wrong), late: wrong == nil && err != nil}
	for _, p := range w.processes {
		o.refused += p.allRefused()
	}
	return o
}

// judge returns an error if workers were refused for another reason than the fault gives, or the fault did not take place.
func (w *world) judge(f *fault) error {
	var errs []error
	var shown, made uint64
	for _, p := range w.processes {
		for why := range refusal(refusals) {
			n := p.refused(why)
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
