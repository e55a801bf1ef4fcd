package simulation

import (
	"context"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/store"
)

// Counting has the next workers take numbers by a handle for each of counters, and hold no leases.
func (w *Simulation) Counting(counters ...worker.Counter) {
	w.Worker.Counters, w.Worker.Keepers = counters, len(counters)
	w.Worker.Pause = 20 * time.Millisecond
}

// noteCounters notes what counters a worker has handles on.
func (w *Simulation) noteCounters(counters []worker.Counter) {
	handles := make(map[string]uint64)
	for _, c := range counters {
		handles[c.Name]++
		w.counters[c.Name] = c
		w.handles[c.Name] = max(w.handles[c.Name], handles[c.Name])
	}
}

// Counters are those of the store, for the script's own use.
func (w *Simulation) Counters() *counter.Counters { return counter.On(w.Store()) }

// Info returns what the store knows of a counter.
func (w *Simulation) Info(name string) counter.Info {
	space, err := engine.Open(w.ctx, w.Engine.URL(), broken.None)
	w.Must(err)
	defer space.Close()
	info, err := counter.On(space).Get(w.ctx, name)
	w.Must(err)
	return info
}

// Floor returns the floor of the store after its last loss.
func (w *Simulation) Floor() time.Time {
	v, err := w.Store().Look(w.ctx, nil, store.Page{})
	w.Must(err)
	return time.Unix(v.Meta.Floor, 0)
}

// Counted ends all workers that are left, and returns what is known of their counters.
func (w *Simulation) Counted() (all []check.Counter, err error) {
	for _, p := range w.processes {
		p.Kill()
	}
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	space, err := engine.Open(ctx, w.Engine.URL(), broken.None)
	if err != nil {
		return nil, err
	}
	defer space.Close()
	counters := counter.On(space)
	_, remote := w.Engine.(*engine.Remote)
	for name, c := range w.counters {
		info, err := counters.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		perHandle := uint64(worker.Callers * worker.StrictBatch)
		if !c.Strict { // its two blocks, and what callers have not noted yet
			perHandle = 2*worker.Most + worker.Callers*worker.Batch
		}
		all = append(all, check.Counter{Info: info, Strict: c.Strict, PerKill: w.handles[name] * perHandle, Remote: remote})
	}
	return all, nil
}
