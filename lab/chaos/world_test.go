package chaos

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
	"github.com/randflake/randflake/lease"
)

// By default a window is so short that the end of leases is never far. Workers take windows ahead for as long as two windows, as
// far as the space allows.
const (
	usualWindow  = 2 * time.Second
	windowsAhead = 3
)

// A world is what a fault happens in: a store, worker processes, and the means to break both and to see what comes of
// it. A script's steps return no errors: the first one that goes wrong ends it, as in a test.
type world struct {
	store  *store
	worker workerConfig // what the next workers are started with
	window time.Duration
	reach  time.Duration // a worker that gets no further lease ends within this time

	ctx       context.Context
	dir       string
	rand      *rand.Rand
	secret    randflake.Secret
	timeout   time.Duration // of a step; what goes right takes nowhere near as long
	processes []*process
	lost      bool      // data were lost, or the clocks are such that the space may think so
	repeats   time.Time // until when a copied process may repeat IDs, by the seconds in them
}

// world returns the world of a job, in which nothing runs.
func (j job) world(dir string) *world {
	w := &world{dir: dir, rand: j.random()}
	w.window = cmp.Or(*window, j.fault.window, usualWindow)
	w.reach = (windowsAhead + 1) * w.window
	w.timeout = 90*time.Second + 2*w.reach
	if j.bug != "" {
		w.timeout = 3 * w.reach // a script may wait in vain
	}
	w.secret = randflake.NewSecret()
	w.store = &store{name: j.engine, dir: filepath.Join(dir, "store"), setup: j.fault.setup}
	w.store.config.CheckValue = w.secret.CheckValue()
	if !j.fault.plain {
		w.store.config.Limits = lease.Limits{
			Window:  w.window,
			Ahead:   windowsAhead,
			MaxSkew: cmp.Or(*window, time.Second),
		}
	}
	w.worker = workerConfig{
		Secret: w.secret.Hex(),
		Outage: 2 * w.window,
		Nodes:  1024,
		Rate:   j.rate,
		Bug:    j.bug,
	}
	return w
}

// begin starts the store.
func (w *world) begin() {
	must(os.Mkdir(w.store.dir, 0o755))
	w.store.start(w.ctx)
	w.worker.Store = w.store.URL
	for _, r := range w.store.Replicas {
		w.worker.Replicas = append(w.worker.Replicas, "http://"+r.Link.Addr())
	}
}

// play starts the store, runs a script, then closes all workers that are left, and returns what went wrong.
// Whatever it returns, the world must be ended.
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
	w.begin()
	script(w)
	var left []*process
	for _, p := range w.processes {
		if !p.toldToEnd {
			left = append(left, p)
		}
	}
	w.close(left...)
	if w.lost || len(w.processes) == 0 {
		return nil
	}
	losses, _, err := w.store.losses(w.ctx)
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
	w.store.stop()
}

// check checks the journals.
func (w *world) check() (result, error) {
	var journals []string
	for _, p := range w.processes {
		journals = append(journals, p.config.Journal)
	}
	r, err := check(w.secret, journals)
	if err != nil {
		return r, err
	}
	// A copied process may repeat IDs until it was to notice.
	early := !w.repeats.IsZero() && r.LastDuplicate <= w.repeats.Unix()
	onlyRepeats := r.Shared == 0 && r.Outside == 0
	if !r.ok() && !(early && onlyRepeats) {
		return r, errors.New(strings.Join(r.Wrong, "\n"))
	}
	return r, nil
}
