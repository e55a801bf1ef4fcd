package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/lease"
)

// By default a window is so short that the end of leases is never far. Workers take windows ahead for as long as two windows, as
// far as the space allows.
const (
	usual = 2 * time.Second
	ahead = 3
)

// A world is what a fault happens in: an engine, worker processes, and the means to break both and to see what comes of
// it. A script's steps return no errors: the first one that goes wrong ends it, as in a test.
type world struct {
	*engine.Engine
	worker worker.Config // what the next workers are started with
	window time.Duration
	reach  time.Duration // how long the leases last, at most, of those who get no others
	short  bool

	ctx       context.Context
	dir       string
	rand      *rand.Rand
	timeout   time.Duration // of a step; what goes right takes nowhere near as long
	processes []*process
	lost      bool      // data were lost, or the clocks are such that the space may think so
	repeats   time.Time // until when a copied process may repeat IDs, by the seconds in them
}

// newWorld starts the engine of a job. Whatever it returns, the world must be ended.
func newWorld(ctx context.Context, j job, f flags, dir string, rate int) (*world, error) {
	w := &world{
		ctx:   ctx,
		dir:   dir,
		short: f.short,
		rand:  seeded(f.seed, j.name()),
	}
	w.window = cmp.Or(f.window, j.fault.window, usual)
	w.reach = (ahead + 1) * w.window
	w.timeout = 90*time.Second + 2*w.reach
	if f.bug != "" {
		w.timeout = 3 * w.reach // a script may wait in vain
	}
	key := make([]byte, 16)
	for i := range key {
		key[i] = byte(w.rand.Uint32())
	}
	secret, err := randflake.SecretFromBytes(key)
	if err != nil {
		return w, err
	}
	setup := j.fault.setup
	setup.Dir = filepath.Join(dir, "engine")
	setup.Check = secret.CheckValue()
	setup.Randflaked = randflaked(filepath.Dir(dir))
	setup.Limits = lease.Limits{
		Window:  w.window,
		Ahead:   ahead,
		MaxSkew: cmp.Or(f.window, time.Second),
	}
	if err := os.Mkdir(setup.Dir, 0o755); err != nil {
		return w, err
	}
	w.Engine, err = engine.Start(ctx, j.engine, setup)
	if err != nil {
		return w, err
	}
	w.worker = worker.Config{
		Store:  w.URL,
		Token:  engine.Token,
		Secret: secret.Hex(),
		Outage: 2 * w.window,
		Nodes:  1024,
		Rate:   rate,
		Bug:    worker.Bug(f.bug),
	}
	for _, r := range w.Replicas {
		w.worker.Replicas = append(w.worker.Replicas, "http://"+r.Link.Addr())
	}
	return w, nil
}

// play runs a script, then closes all workers that are left, and returns what went wrong.
func (w *world) play(script func(*world)) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	script(w)
	var left []*process
	for _, p := range w.processes {
		if !p.wanted {
			left = append(left, p)
		}
	}
	w.close(left...)
	if w.lost || len(w.processes) == 0 {
		return nil
	}
	losses, _, err := w.Losses(w.ctx)
	if err == nil && losses > 0 {
		err = fmt.Errorf("the space took data for lost %d times, and none was", losses)
	}
	return err
}

// end ends all that runs.
func (w *world) end() {
	for _, p := range w.processes {
		p.kill()
	}
	if w.Engine != nil {
		w.Stop()
	}
}

// check checks the journals.
func (w *world) check() (check.Result, error) {
	secret, err := randflake.ParseSecret(w.worker.Secret)
	if err != nil {
		return check.Result{}, err
	}
	var journals []string
	for _, p := range w.processes {
		journals = append(journals, p.config.Journal)
	}
	r, err := check.Check(secret, journals)
	if err != nil {
		return r, err
	}
	// A copied process may repeat IDs until it was to notice.
	early := !w.repeats.IsZero() && r.LastDuplicate <= w.repeats.Unix()
	onlyRepeats := r.Shared == 0 && r.Outside == 0
	if !r.OK() && !(early && onlyRepeats) {
		return r, errors.New(strings.Join(r.Wrong, "\n"))
	}
	return r, nil
}
