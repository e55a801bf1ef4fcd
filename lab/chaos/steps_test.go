package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// The steps of scripts.

// A failure ends a script.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// must ends the script if err is not nil.
func must(err error) {
	if err != nil {
		fail("%w", err)
	}
}

// mustDo returns a step of what may fail.
func mustDo(do func() error) func() { return func() { must(do()) } }

// ensure ends the script unless ok.
func ensure(ok bool, format string, args ...any) {
	if !ok {
		fail(format, args...)
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

// refuse waits until each worker is refused for one of the reasons and has made nothing for a while.
func (w *world) refuse(workers []*process, reasons ...refusal) {
	refused := counts(workers, func(p *process) uint64 { return p.refused(reasons...) })
	for i, p := range workers {
		made := p.made()
		since := time.Now()
		w.await(fmt.Sprintf("%s is refused: %v", p.name, reasons), func() bool {
			n := p.made()
			if n != made {
				made = n
				since = time.Now()
				refused[i] = p.refused(reasons...)
			}
			return p.refused(reasons...) > refused[i] && time.Since(since) > time.Second/2
		})
	}
}

// during runs f, in which none of the workers may ever be refused.
func (w *world) during(workers []*process, f func()) {
	before := counts(workers, (*process).hindered)
	f()
	for i, p := range workers {
		if n := p.hindered() - before[i]; n > 0 {
			fail("%s was refused %d times, though nothing stood in its way: %s", p.name, n, p.lastWords())
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
	began := time.Now()
	for !done() {
		if time.Since(began) > w.timeout {
			fail("not within %v: %s", w.timeout, what)
		}
		for _, p := range w.processes {
			if p.child.Ended() && !p.toldToEnd {
				fail("%s ended by itself: %v: %s", p.name, p.child.Err(), p.lastWords())
			}
		}
		w.sleep(5 * time.Millisecond)
	}
}

func (w *world) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.ctx.Done():
		fail("interrupted")
	}
}

// linger lets a random time pass, about d on average.
func (w *world) linger(d time.Duration) {
	random := time.Duration(w.rand.Int64N(int64(d)))
	w.sleep(d/2 + random)
}

// choose returns one of the workers, and the others.
func (w *world) choose(workers []*process) (one *process, others []*process) {
	i := w.rand.IntN(len(workers))
	return workers[i], slices.Delete(slices.Clone(workers), i, i+1)
}

// rounds returns how often something is to be done: n times in the short form, and twice that otherwise.
func (w *world) rounds(n int) int {
	if testing.Short() {
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
		must(p.child.Err())
	}
}

// wantLosses waits until the space has noted n losses.
func (w *world) wantLosses(n int) {
	w.await(fmt.Sprintf("%d losses are noted", n), func() bool {
		noted, _, err := w.store.losses(w.ctx)
		return err == nil && noted == n
	})
}

// inSpace calls do with the space.
func (w *world) inSpace(do func(*lease.Space) error) {
	space, err := url.Open(w.ctx, w.store.URL, lease.Config{})
	must(err)
	defer space.Close()
	must(do(space))
}

// setTrust changes the trust of the space.
func (w *world) setTrust(trust bool) {
	w.inSpace(func(s *lease.Space) error { return s.SetTrust(w.ctx, trust) })
}

// floor returns the first second that the space grants after a loss.
func (w *world) floor() time.Time {
	_, floor, err := w.store.losses(w.ctx)
	must(err)
	return floor
}

// startOnReserve starts workers after a loss, and sees to it that they have leases of the reserve.
func (w *world) startOnReserve() []*process {
	w.worker.Nodes = few
	started := w.start(2)
	for _, p := range started {
		ensure(p.onReserve(),
			"%s began with main nodes: all lost leases had ended, which shows nothing", p.name)
	}
	return started
}

// standStill pauses workers at a moment at which they ask for no lease, so that they hold no lock of the store.
func (w *world) standStill(workers ...*process) {
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
		ensure(left > 0, "the leases of %s ended %v ago: that shows nothing", p.name, -left)
	}
}
