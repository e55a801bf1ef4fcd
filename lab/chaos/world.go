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
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
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
	timeout   time.Duration // of a step that must come; what goes right takes nowhere near as long
	processes []*process
	lost      bool      // data, or the clocks are such that the space may think so
	repeats   time.Time // until when a copied process may repeat IDs, by the seconds in them
}

// newWorld starts the engine of a job. Whatever it returns, the world must be ended.
func newWorld(ctx context.Context, j job, f flags, dir string, rate int) (*world, error) {
	w := &world{ctx: ctx, dir: dir, short: f.short, rand: seeded(f.seed, j.name())}
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
	s := j.fault.setup
	s.Dir, s.Check, s.Randflaked = filepath.Join(dir, "engine"), secret.CheckValue(), randflaked(filepath.Dir(dir))
	s.Limits = lease.Limits{Window: w.window, Ahead: ahead, MaxSkew: cmp.Or(f.window, time.Second)}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		return w, err
	}
	if w.Engine, err = engine.Start(ctx, j.engine, s); err != nil {
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

// A failure ends a script.
type failure struct{ error }

func (w *world) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// must ends the script if err is not nil.
func (w *world) must(err error) {
	if err != nil {
		w.fail("%w", err)
	}
}

// ensure ends the script unless ok.
func (w *world) ensure(ok bool, format string, args ...any) {
	if !ok {
		w.fail(format, args...)
	}
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
	w.close(slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.wanted })...)
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

// start starts n workers, and waits until all of them hold a lease and make IDs.
func (w *world) start(n int) []*process {
	started := w.launch(n)
	w.goOn(started...)
	return started
}

// launch starts n workers and waits for nothing.
func (w *world) launch(n int) []*process {
	started := make([]*process, n)
	for i := range started {
		started[i] = w.run(w.worker, 0)
	}
	return started
}

// goOn waits until each worker holds a lease, or its counters, and makes IDs or takes numbers.
func (w *world) goOn(workers ...*process) {
	for _, p := range workers {
		want := int64(max(len(p.config.Counters), 1))
		w.await(p.name+" holds what it wants", func() bool { return p.Holding.Load() == want })
	}
	made := counts(workers, (*process).made)
	for i, p := range workers {
		w.await(p.name+" goes on", func() bool { return p.made() > made[i] })
	}
}

// recover waits until each worker has got another lease, and makes IDs.
func (w *world) recover(workers ...*process) {
	before := counts(workers, func(p *process) uint64 { return p.Grants.Load() })
	for i, p := range workers {
		if len(p.config.Counters) == 0 {
			w.await(p.name+" has another lease", func() bool { return p.Grants.Load() > before[i] })
		}
	}
	w.goOn(workers...)
}

// refuse waits until each worker is refused with one of the kinds and has made nothing for a while.
func (w *world) refuse(workers []*process, kinds ...worker.Kind) {
	refused := counts(workers, func(p *process) uint64 { return p.refused(kinds...) })
	for i, p := range workers {
		made, since := p.made(), time.Now()
		w.await(fmt.Sprintf("%s is refused: %v", p.name, kinds), func() bool {
			if n := p.made(); n != made {
				made, since, refused[i] = n, time.Now(), p.refused(kinds...)
			}
			return p.refused(kinds...) > refused[i] && time.Since(since) > time.Second/2
		})
	}
}

// during runs f, in which none of the workers may ever be refused.
func (w *world) during(workers []*process, f func()) {
	before := counts(workers, (*process).allRefused)
	f()
	for i, p := range workers {
		if n := p.allRefused() - before[i]; n > 0 {
			w.fail("%s was refused %d times, though nothing stood in its way: %s", p.name, n, p.lastWords())
		}
	}
}

func counts(workers []*process, count func(*process) uint64) []uint64 {
	all := make([]uint64, len(workers))
	for i, p := range workers {
		all[i] = count(p)
	}
	return all
}

// await waits until done.
func (w *world) await(what string, done func() bool) {
	for began := time.Now(); !done(); w.sleep(5 * time.Millisecond) {
		if time.Since(began) > w.timeout {
			w.fail("not within %v: %s", w.timeout, what)
		}
		for _, p := range w.processes {
			if p.child.Ended() && !p.wanted {
				w.fail("%s ended by itself: %v: %s", p.name, p.child.Err(), p.lastWords())
			}
		}
	}
}

func (w *world) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.ctx.Done():
		w.fail("interrupted")
	}
}

// linger lets a random time pass, about d on average.
func (w *world) linger(d time.Duration) { w.sleep(d/2 + time.Duration(w.rand.Int64N(int64(d)))) }

// choose returns one of the workers, and the others.
func (w *world) choose(workers []*process) (one *process, others []*process) {
	i := w.rand.IntN(len(workers))
	return workers[i], slices.Delete(slices.Clone(workers), i, i+1)
}

// rounds returns how often something is to be done: n times in the short form, and twice that otherwise.
func (w *world) rounds(n int) int {
	if w.short {
		return n
	}
	return 2 * n
}

// close makes workers close, all at once.
func (w *world) close(workers ...*process) {
	for _, p := range workers {
		p.quit()
	}
	for _, p := range workers {
		w.await(p.name+" closes", p.child.Ended)
		w.must(p.child.Err())
	}
}

// wantLosses waits until the space has noted n losses.
func (w *world) wantLosses(n int) {
	w.await(fmt.Sprintf("%d losses are noted", n), func() bool {
		noted, _, err := w.Losses(w.ctx)
		return err == nil && noted == n
	})
}

// startOnReserve starts workers after a loss, and sees to it that they have leases of the reserve.
func (w *world) startOnReserve() []*process {
	w.worker.Nodes = few
	started := w.start(2)
	for _, p := range started {
		w.ensure(p.onReserve(), "%s began with main nodes: all lost leases had ended, which shows nothing", p.name)
	}
	return started
}

// rest has workers stand still while they ask for no lease, so that they hold no lock of the store.
func (w *world) rest(workers ...*process) {
	for _, p := range workers {
		w.await(p.name+" asks for no lease", func() bool {
			p.pause()
			w.sleep(20 * time.Millisecond) // for all threads to stop
			if p.Calling.Load() == 0 {
				return true
			}
			p.resume()
			return false
		})
	}
}

// wantLeased sees to it that workers which stand still have leases left.
func (w *world) wantLeased(workers []*process) {
	for _, p := range workers {
		left := time.Until(time.Unix(p.End.Load(), 0))
		w.ensure(left > 0, "the leases of %s ended %v before the data was replaced: that shows nothing", p.name, -left)
	}
}

// counters calls do with the space's counters.
func (w *world) counters(do func(*counter.Counters) error) {
	space, err := url.Open(w.ctx, w.URL, lease.Config{})
	w.must(err)
	defer space.Close()
	w.must(do(counter.On(space)))
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
	onlyRepeats := r.Shared == 0 && r.Outside == 0 && !w.repeats.IsZero() && r.LastDuplicate <= w.repeats.Unix()
	if !r.OK() && !onlyRepeats {
		return r, errors.New(strings.Join(r.Wrong, "\n"))
	}
	return r, nil
}
