package chaos

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// movable are the stores that a space is moved between.
var movable = []string{"file", "sqlite", "postgres", "redis"}

// moved has the space moved from store to store, while workers make IDs and take numbers. After
// each move others take their place, on the new store. Runs that begin on each of the stores move
// between any two of them, in both directions.
func moved(w *world) {
	w.worker.Nodes = few
	w.lost = true // each move counts as a loss that was noted
	at := slices.Index(movable, w.store.name)
	steps := []int{1, 2, 3}
	if testing.Short() {
		steps = steps[:1]
	}
	makers, counting := w.startBoth()
	for _, step := range steps {
		at = (at + step) % len(movable)
		w.getAhead(makers)
		w.during(makers, func() {
			w.move(movable[at])
			nextMakers, nextCounting := w.startBoth()
			w.wantLeased(makers)
			w.close(append(makers, counting...)...)
			makers, counting = nextMakers, nextCounting
		})
	}
	w.wantLosses(len(steps))
	floor := w.floor()
	w.await("the floor is over", func() bool { return time.Now().After(floor.Add(w.window)) })
	w.recover(append(makers, counting...)...)
}

// startBoth starts workers that make IDs, and one that takes numbers.
func (w *world) startBoth() (makers, counting []*process) {
	makers = w.start(2)
	w.worker.Counters = both
	counting = w.start(1)
	w.worker.Counters = nil
	return makers, counting
}

// move moves the space to another store, where the next workers find it. The process that does so is killed at its
// first step, run again and killed at its second one, and so on, until it comes to its end.
func (w *world) move(name string) {
	from := w.store
	to := from.another(name)
	w.store = to
	must(os.Mkdir(to.dir, 0o755))
	starts[name](to)
	err := errKilled
	for steps := 0; errors.Is(err, errKilled); steps++ {
		err = tryMove(w.ctx, from.URL, to.URL, &life{steps})
	}
	must(err)
	w.worker.Store = to.URL
}

func tryMove(ctx context.Context, from, to string, l *life) error {
	before, _, err := url.Engine(ctx, from)
	if err != nil {
		return err
	}
	defer before.Close()
	after, _, err := url.Engine(ctx, to)
	if err != nil {
		return err
	}
	defer after.Close()
	old, err := lease.Open(ctx, mortal{before, l}, lease.Config{})
	if err != nil {
		return err
	}
	_, err = lease.Move(ctx, old, mortal{after, l}, lease.Config{})
	return err
}

// A life is how many steps a process has left: each swap is two, as it can be killed before the swap, and after it had
// effect. Other calls change no entries, so that to be killed there is the same.
type life struct{ steps int }

var errKilled = errors.New("killed")

func (l *life) step() error {
	if l.steps == 0 {
		return errKilled
	}
	l.steps--
	return nil
}

// A mortal engine is that of a process which is killed.
type mortal struct {
	lease.Engine
	*life
}

func (m mortal) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	if err := m.step(); err != nil {
		return lease.Answer{}, err
	}
	a, err := m.Engine.Swap(ctx, expect, put)
	return a, errors.Join(m.step(), err)
}
