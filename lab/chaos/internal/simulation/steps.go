package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// Start starts n workers, and waits until all of them hold a lease and make IDs.
func (w *Simulation) Start(n int) []*Process {
	started := w.Launch(n)
	w.GoOn(started...)
	return started
}

// Launch starts n workers and waits for nothing.
func (w *Simulation) Launch(n int) []*Process {
	started := make([]*Process, n)
	for i := range started {
		started[i] = w.launch(w.Worker, 0)
	}
	return started
}

// LaunchWrong starts a worker whose clock is off.
func (w *Simulation) LaunchWrong(off time.Duration) *Process {
	w.Doubt()
	c := w.Worker
	c.ShiftClock = true
	return w.launch(c, int64(off/time.Second))
}

// GoOn waits until each worker holds as many leases as it wants and makes IDs.
func (w *Simulation) GoOn(workers ...*Process) {
	for _, p := range workers {
		w.Await(p.Name+" holds its leases", func() bool { return int(p.Holding.Load()) == p.config.Keepers })
	}
	made := w.counts(workers, (*Process).made)
	for i, p := range workers {
		w.Await(p.Name+" makes IDs", func() bool { return p.made() > made[i] })
	}
}

// Recover waits until each worker has renewed its lease or got another one, and makes IDs.
func (w *Simulation) Recover(workers ...*Process) {
	before := make([]lease.Record, len(workers))
	for i, p := range workers {
		before[i] = p.Held()
	}
	for i, p := range workers {
		w.Await(p.Name+" has a lease renewed or replaced", func() bool { return p.Held() != before[i] })
	}
	w.GoOn(workers...)
}

// Refuse waits until each worker is refused with one of the kinds and has made no ID for a while.
func (w *Simulation) Refuse(workers []*Process, kinds ...page.Kind) {
	refused := w.counts(workers, func(p *Process) uint64 { return p.refused(kinds...) })
	for i, p := range workers {
		made, since := p.made(), time.Now()
		w.Await(fmt.Sprintf("%s is refused: %s", p.Name, words(kinds)), func() bool {
			if n := p.made(); n != made {
				made, since, refused[i] = n, time.Now(), p.refused(kinds...)
			}
			return p.refused(kinds...) > refused[i] && time.Since(since) > time.Second/2
		})
	}
}

// During runs f, in which none of the workers may ever be refused.
func (w *Simulation) During(workers []*Process, f func()) {
	before := w.counts(workers, (*Process).hindered)
	f()
	for i, p := range workers {
		if n := p.hindered() - before[i]; n > 0 {
			w.Fail("%s was refused %d times, though nothing stood in its way: %s", p.Name, n, p.lastWords())
		}
	}
}

func (p *Process) made() uint64 { return p.Made.Load() }

func (w *Simulation) counts(workers []*Process, count func(*Process) uint64) []uint64 {
	counts := make([]uint64, len(workers))
	for i, p := range workers {
		counts[i] = count(p)
	}
	return counts
}

// Await waits until done, until StepTimeout has passed and no worker ends that was not told to.
func (w *Simulation) Await(what string, done func() bool) {
	for began := time.Now(); !done(); w.Sleep(5 * time.Millisecond) {
		if time.Since(began) > w.StepTimeout {
			w.Fail("not within %v: %s: %s", w.StepTimeout, what, w.lastWords(what))
		}
		w.sound()
	}
}

// sound ends the script if a worker ended that was not told to.
func (w *Simulation) sound() {
	for _, p := range w.processes {
		if p.child.Ended() && !p.wanted {
			w.Fail("%s ended by itself: %v: %s", p.Name, p.child.Err(), p.lastWords())
		}
	}
}

// lastWords returns what the worker that what is about logged last.
func (w *Simulation) lastWords(what string) string {
	name, _, _ := strings.Cut(what, " ")
	for _, p := range w.processes {
		if p.Name == name {
			return p.lastWords()
		}
	}
	return ""
}

// Sleep lets time pass.
func (w *Simulation) Sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.ctx.Done():
		w.Fail("interrupted")
	}
}

// Linger lets a random time pass, about d on average.
func (w *Simulation) Linger(d time.Duration) { w.Sleep(d/2 + time.Duration(w.rand.Int64N(int64(d)))) }

// SleepIntoSecond waits until a second has just begun.
func (w *Simulation) SleepIntoSecond() {
	w.Sleep(time.Second - time.Duration(time.Now().Nanosecond()) + 50*time.Millisecond)
}

// Choose returns one of the workers, and the others.
func (w *Simulation) Choose(workers []*Process) (one *Process, others []*Process) {
	i := w.rand.IntN(len(workers))
	return workers[i], slices.Delete(slices.Clone(workers), i, i+1)
}

// Context ends when the run is to end.
func (w *Simulation) Context() context.Context { return w.ctx }

// Store opens the store for the script's own use. What it does there is in no journal.
func (w *Simulation) Store(options ...store.Option) *store.Space {
	s, err := engine.Open(w.ctx, w.Engine.URL(), broken.None, options...)
	w.Must(err)
	w.Defer(func() { s.Close() })
	return s
}

// Connect returns a handle on the engine, for the script's own use.
func (w *Simulation) Connect() store.Engine {
	e, err := engine.Connect(w.ctx, w.Engine.URL())
	w.Must(err)
	w.Defer(func() { e.Close() })
	return e
}

// Records are those of the store.
func (w *Simulation) Records() []lease.Record {
	records, err := w.Leases().List(w.ctx)
	w.Must(err)
	return records
}

// Leases are those of the store, for the script's own use, with the bug that is planted in those of the workers.
func (w *Simulation) Leases() lease.Source { return w.Worker.Bug.Leases(lease.On(w.Store())) }

// Ensure ends the script unless ok.
func (w *Simulation) Ensure(ok bool, format string, args ...any) {
	if !ok {
		w.Fail(format, args...)
	}
}

// Rounds returns how often something is to be done: n times in the short form, and twice that in the full one.
func (w *Simulation) Rounds(n int) int {
	if w.Short {
		return n
	}
	return 2 * n
}

// Close makes workers close all at once.
func (w *Simulation) Close(workers ...*Process) {
	for _, p := range workers {
		p.Quit()
	}
	for _, p := range workers {
		p.Close()
	}
}

// CloseAll makes all workers close that are left.
func (w *Simulation) CloseAll() {
	var left []*Process
	for _, p := range w.processes {
		if !p.child.Ended() {
			left = append(left, p)
		}
	}
	w.Close(left...)
}

// Int returns a random number from low to high.
func (w *Simulation) Int(low, high int) int { return low + w.rand.IntN(high-low+1) }

// StepServer sets how far the clock of the store's server is off.
func (w *Simulation) StepServer(off time.Duration) {
	w.Doubt()
	w.Must(w.ServerClock.Step(off))
}

// A Loss is a span of time in which a store lost data, in the terms of journal.Now.
type Loss struct{ Start, End int64 }

// LoseData runs f, in which the store loses data or goes back in time.
func (w *Simulation) LoseData(f func()) {
	l := Loss{Start: journal.Now()}
	f()
	l.End = journal.Now()
	w.losses = append(w.losses, l)
}

// Doubt says that from now on the store may take any lease for lost, as it can't be sure that it has all data, or of
// the time.
func (w *Simulation) Doubt() {
	if w.doubt == 0 {
		w.doubt = journal.Now()
	}
}

// DoubtsFrom returns when Doubt was called for the first time, in the terms of journal.Now, or 0.
func (w *Simulation) DoubtsFrom() int64 { return w.doubt }

// RepeatFor says that duplicates are in order, but none that carries a second which begins later than d from now.
func (w *Simulation) RepeatFor(d time.Duration) { w.RepeatByClock(time.Now(), d) }

// RepeatByClock is RepeatFor for a process whose clock says now.
func (w *Simulation) RepeatByClock(now time.Time, d time.Duration) {
	w.repeatsFrom, w.repeatsUntil = now, now.Add(d)
}

// RepeatsUntil returns the last second of which IDs may occur twice, or 0.
func (w *Simulation) RepeatsUntil() int64 {
	if w.repeatsUntil.IsZero() {
		return 0
	}
	return w.repeatsUntil.Unix()
}

// RepeatsFrom returns when RepeatFor was called, by the clock of what repeats.
func (w *Simulation) RepeatsFrom() time.Time { return w.repeatsFrom }

// FalseAlarm returns an error if the store took data for lost though the script did nothing of the kind.
func (w *Simulation) FalseAlarm() error {
	if w.Engine == nil || w.doubt > 0 || len(w.losses) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	s, err := engine.Open(ctx, w.Engine.URL(), broken.None)
	if err != nil {
		return nil // the script says what is wrong, if anything
	}
	defer s.Close()
	if m, err := s.Info(ctx); err == nil && m.Losses > 0 {
		return fmt.Errorf("the store took data for lost %d times, and none was", m.Losses)
	}
	return nil
}

// Losses returns when the store lost data.
func (w *Simulation) Losses() []Loss { return w.losses }

func words(kinds []page.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return strings.Join(names, " or ")
}
