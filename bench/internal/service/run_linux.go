package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/randflake/randflake/bench/internal/engines"
	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A testbed is all that runs.
type testbed struct {
	dir       string
	daemon    program
	yardstick program
	engines   []engine
	spaces    int      // of the daemon
	stops     []func() // what ends it, in reverse order
}

// An engine is one that was to be measured.
type engine struct {
	engines.Engine
	url     string
	leases  lease.Source // nil where there are none
	skipped error        // why it is not there
}

func (w *testbed) onStop(stop func()) { w.stops = append(w.stops, stop) }

func (w *testbed) stop() {
	for i := len(w.stops) - 1; i >= 0; i-- {
		w.stops[i]()
	}
}

// start builds and starts everything. The testbed is to be stopped also when that fails.
func start(ctx context.Context) (w *testbed, err error) {
	w = &testbed{}
	if w.dir, err = os.MkdirTemp("", "service"); err != nil {
		return w, err
	}
	w.onStop(func() { os.RemoveAll(w.dir) })
	var building error
	var wg sync.WaitGroup
	wg.Go(func() { building = build(ctx, w.dir) })
	err = w.startEngines(ctx)
	wg.Wait()
	if err := errors.Join(err, building); err != nil {
		return w, err
	}
	spaces := []space{{mintSpace, filepath.Join(w.dir, "minted"), true}}
	for i, e := range w.engines {
		if e.leases != nil {
			spaces = append(spaces, space{spaceOf(i), e.url, false})
		}
	}
	w.spaces = len(spaces)
	if w.daemon, err = w.serve("daemon", spaces); err != nil {
		return w, err
	}
	w.yardstick, err = launch(filepath.Join(w.dir, "yardstick"), filepath.Join(w.dir, "counter"), "/next", func(address string) ([]string, error) {
		return []string{address}, nil
	})
	w.onStop(func() { w.yardstick.Kill() })
	return w, err
}

func spaceOf(engine int) string { return fmt.Sprint("engine-", engine) }

func (w *testbed) serve(name string, spaces []space) (program, error) {
	p, err := serve(filepath.Join(w.dir, "randflaked"), filepath.Join(w.dir, name), spaces)
	w.onStop(func() { p.Kill() })
	return p, err
}

// startEngines starts all engines, and says of each that is not installed that it is skipped.
func (w *testbed) startEngines(ctx context.Context) error {
	known := engines.All()
	w.engines = make([]engine, len(known))
	failed := make([]error, len(known))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, e := range known {
		wg.Go(func() {
			started, stop, err := startEngine(ctx, e, filepath.Join(w.dir, fmt.Sprint(i)))
			mu.Lock()
			defer mu.Unlock()
			w.onStop(stop)
			w.engines[i] = started
			if started.skipped == nil {
				failed[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

func startEngine(ctx context.Context, e engines.Engine, dir string) (_ engine, stop func(), err error) {
	started := engine{Engine: e}
	server, err := e.Start(dir)
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintf(os.Stderr, "%s is not measured: %s\n", e.Name, err)
		started.skipped = err
	}
	if err != nil {
		return started, func() {}, err
	}
	stop = func() { server.Kill() }
	started.url = server.URL()
	if e.Create == nil {
		return started, stop, nil
	}
	space, err := e.Create(ctx, started.url, store.ForNewSecret())
	if err != nil {
		return started, stop, err
	}
	started.leases = lease.On(space)
	return started, func() { space.Close(); server.Kill() }, nil
}

// sources returns all sources.
func (w *testbed) sources(ctx context.Context) (all []source, err error) {
	for i, e := range w.engines {
		if e.leases == nil {
			continue
		}
		renewals, err := renewing(ctx, e.Name, e.leases, w.daemon.Addr(), spaceOf(i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		all = append(all, renewals...)
	}
	for _, l := range w.loads() {
		all = append(all, l.source())
	}
	return all, nil
}

// loads returns those on all that runs.
func (w *testbed) loads() []load {
	all := loads(w.daemon.Addr(), w.yardstick.Addr())
	for _, e := range w.engines {
		if u, err := url.Parse(e.url); err == nil && u.Scheme == "redis" {
			all = append(all, incr(e.Name, u.Host))
		}
	}
	return all
}

// run goes through all sources round after round, in an order of its own each time.
func run(ctx context.Context, r *report.Results) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := start(ctx)
	defer w.stop()
	if err != nil {
		return err
	}
	sources, err := w.sources(ctx)
	if err != nil {
		return err
	}
	f, random := formOf(r.Meta.Quick()), rand.New(rand.NewPCG(r.Meta.Seed, 3))
	samples := make([]sample, f.rounds*len(sources)) // of a source, those of all rounds in sequence
	for round := range f.rounds {
		for i, at := range random.Perm(len(sources)) {
			s, err := sources[at].draw(ctx, f.slice)
			if err != nil {
				return err
			}
			s.Round = round + 1
			samples[at*f.rounds+round] = s
			r.Progress.At((float64(round) + float64(i+1)/float64(len(sources))) / float64(f.rounds))
		}
	}
	kept, err := w.memory(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.CSV("samples", samples), r.CSV("servers", w.servers()), r.CSV("memory", kept))
}

// servers returns which engines were to be measured.
func (w *testbed) servers() (all []server) {
	for _, e := range w.engines {
		s := server{Name: e.Name}
		if e.skipped != nil {
			s.Skipped = e.skipped.Error()
		}
		all = append(all, s)
	}
	return all
}
