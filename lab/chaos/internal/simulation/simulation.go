// Package simulation is what a fault happens in: an engine, worker processes that mint on it, and the means to
// break both and to see what comes of it.
//
// A fault is a script. Its steps return no errors: the first one that goes wrong ends the script, as in a
// test.
package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/store"
)

// TTL is how long leases are for unless a fault wants another time: so short that the end of one is never far,
// and long enough for a second attempt to renew one after a busy disk made the first one fail.
const TTL = 6 * time.Second

// Limits are those of the stores. A store that lost data grants nothing that starts within the next eight seconds.
var Limits = store.Limits{MaxTTL: 7 * time.Second, MaxSkew: time.Second}

// A Simulation is one run of one fault. It is for one goroutine.
type Simulation struct {
	Engine engine.Engine
	Worker worker.Config // what the next workers are started with
	Short  bool          // do what is needed and no more

	// StepTimeout is how long a step waits for what must come. It is no measure of speed: what goes right takes
	// nowhere near as long.
	StepTimeout time.Duration

	// ServerTime says that the store asks its server for the time, and not the process, and ServerClock is what the
	// server asks, or nil if that was not made to be stepped.
	ServerTime  bool
	ServerClock *engine.Clock

	ctx       context.Context
	dir       string
	rand      *rand.Rand
	processes []*Process
	count     int
	cleanups  []func()
	notes     []string
	losses    []Loss
	counters  map[string]worker.Counter // that workers were started with, and
	handles   map[string]uint64         // how many handles on each a worker has at most

	doubt        int64
	repeatsFrom  time.Time
	repeatsUntil time.Time
}

// Settings are what a Simulation begins with.
type Settings struct {
	Dir    string // empty, the run's own
	Start  engine.Start
	Limits store.Limits
	Secret randflake.Secret
	Rand   *rand.Rand
	Rate   int // IDs a second of each worker
	Short  bool

	Clocked bool       // the server's clock is to be stepped
	Bug     broken.Bug // planted in the workers, or in the engine

	Randflaked string // the program of replicas

	StepTimeout time.Duration // two minutes if zero
}

// New starts an engine. Whatever New returns, the Simulation must be ended.
func New(ctx context.Context, s Settings) (*Simulation, error) {
	w := &Simulation{ctx: ctx, dir: s.Dir, rand: s.Rand, Short: s.Short, handles: make(map[string]uint64), counters: make(map[string]worker.Counter)}
	w.StepTimeout = cmp.Or(s.StepTimeout, 2*time.Minute)
	dir := filepath.Join(s.Dir, "engine")
	err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(w.JournalDir(), 0o755))
	if err != nil {
		return w, err
	}
	w.Engine, err = s.Start(ctx, engine.Setup{Dir: dir, Limits: s.Limits, Keys: store.KeysOf(s.Secret), Clocked: s.Clocked, Bug: s.Bug, Randflaked: s.Randflaked})
	if err != nil {
		return w, err
	}
	if e, ok := w.Engine.(engine.Clocked); ok {
		w.ServerTime, w.ServerClock = true, e.Clock()
	}
	w.Worker = worker.Config{
		Store:   w.Engine.URL(),
		Secret:  s.Secret.Hex(),
		TTL:     TTL,
		Nodes:   1024,
		Keepers: 1,
		Minters: 3,
		Rate:    s.Rate,
		Pause:   5 * time.Millisecond,
		Bug:     s.Bug,
	}
	if remote, ok := w.Engine.(*engine.Remote); ok {
		w.Worker.Service = remote.Certified()
	}
	return w, nil
}

// JournalDir is where the workers' journals are, one directory for each.
func (w *Simulation) JournalDir() string { return filepath.Join(w.dir, "journal") }

// A failure ends a script.
type failure struct{ error }

// Fail ends the script: something happened that must not.
func (w *Simulation) Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Must ends the script if err is not nil.
func (w *Simulation) Must(err error) {
	if err != nil {
		w.Fail("%w", err)
	}
}

// Note adds a few words to what is reported of the run.
func (w *Simulation) Note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// Notes returns what was noted.
func (w *Simulation) Notes() []string { return w.notes }

// Defer has f run when the Simulation is ended, before the engine stops, the last one first.
func (w *Simulation) Defer(f func()) { w.cleanups = append(w.cleanups, f) }

// Play runs a script, then closes all workers that are left, and returns what went wrong.
func (w *Simulation) Play(script func(*Simulation)) (err error) {
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
	w.sound()
	w.CloseAll()
	return nil
}

// End ends all that runs, without ceremony.
func (w *Simulation) End() {
	for _, p := range w.processes {
		p.Kill()
	}
	for i := range w.cleanups {
		w.cleanups[len(w.cleanups)-1-i]()
	}
	if w.Engine != nil {
		w.Engine.Stop()
	}
}

// Made returns how many IDs all processes made.
func (w *Simulation) Made() (n uint64) {
	for _, p := range w.processes {
		n += p.Made.Load()
	}
	return n
}

// Refused returns how often workers were refused, by kind.
func (w *Simulation) Refused() (refused [page.Kinds]uint64) {
	for _, p := range w.processes {
		for k := range refused {
			refused[k] += p.Refused[k].Load()
		}
	}
	return refused
}
