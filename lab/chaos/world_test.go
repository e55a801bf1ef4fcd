package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"
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
	timeout   time.Duration // of a step; what goes right takes nowhere near as long
	processes []*process

	// What a script says of the fault, for the checks.
	lost    bool      // data were lost, or the clocks are such that the space may think so
	repeats time.Time // until when a copied process may repeat IDs, by the seconds in them
}

// begin starts the store.
func (w *world) begin() {
	must(os.Mkdir(w.store.dir, 0o755))
	w.store.start(w.ctx)
	w.worker.Store = w.store.URL
	w.worker.Replicas = w.store.replicaURLs()
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
	w.close(slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.toldToEnd })...)
	if !w.lost && len(w.processes) > 0 {
		losses, _, err := w.store.losses(w.ctx)
		must(err)
		ensure(losses == 0, "the space took data for lost %d times, and none was", losses)
	}
	return nil
}

// end ends all that runs.
func (w *world) end() {
	for _, p := range w.processes {
		p.kill()
	}
	w.store.stop()
}

func (w *world) journals() (paths []string) {
	for _, p := range w.processes {
		paths = append(paths, p.config.Journal)
	}
	return paths
}
