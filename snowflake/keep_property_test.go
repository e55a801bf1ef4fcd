package snowflake_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var keepSeeds = flag.Int("seeds", 12, "how many random histories of keepers to play")

// A line is what connects one process to the store. It notes what was granted, and can be slow or cut.
type line struct {
	lease.Source
	grant    func(lease.Record) lease.Record // what a faulty store makes of a grant, or nil
	lastUsed func(time.Time) time.Time       // what a faulty keeper makes of the last second used, or nil

	mu      sync.Mutex
	cut     bool
	paused  time.Time // calls take until then
	granted []lease.Record
}

// call makes a call, which a pause of the process may hold up before and after.
func (l *line) call(f func() (lease.Record, error)) (lease.Record, error) {
	l.rest()
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut {
		return lease.Record{}, storetest.ErrInjected
	}
	r, err := f()
	if err == nil {
		l.mu.Lock()
		l.granted = append(l.granted, r)
		l.mu.Unlock()
	}
	l.rest()
	return r, err
}

func (l *line) rest() {
	l.mu.Lock()
	paused := l.paused
	l.mu.Unlock()
	time.Sleep(time.Until(paused))
}

func (l *line) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	return l.call(func() (lease.Record, error) {
		r, err := l.Source.Acquire(ctx, req)
		if err == nil && l.grant != nil {
			r = l.grant(r)
		}
		return r, err
	})
}

func (l *line) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	return l.call(func() (lease.Record, error) { return l.Source.Renew(ctx, held, renewal) })
}

func (l *line) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	return l.call(func() (lease.Record, error) { return l.Source.Lookup(ctx, held) })
}

func (l *line) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	if l.lastUsed != nil {
		lastUsed = l.lastUsed(lastUsed)
	}
	_, err := l.call(func() (lease.Record, error) { return lease.Record{}, l.Source.Release(ctx, held, lastUsed) })
	return err
}

// covers reports whether the process may make IDs of a worker for the unit that begins at t.
func (l *line) covers(worker uint64, t time.Time, unit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.granted {
		span := r.Lease()
		if uint64(r.FirstNode) == worker && !t.Before(span.Start) && !t.Add(unit).After(span.End) {
			return true
		}
	}
	return false
}

// A process is one keeper after another, with a clock of its own.
type process struct {
	line   *line
	clock  setClock
	keeper *lease.Keeper[*snowflake.Generator]
}

// A history is one random course of processes, clocks and pauses.
type history struct {
	*rand.Rand
	layout    *snowflake.Layout
	store     *storetest.Leases
	clock     setClock // the store's
	processes []*process
	plant     func(*line) // plants a fault, or nil
	made      map[snowflake.ID]bool
	totals
}

type totals struct{ ids, refused, begun, crashed, swapped, stepped int }

func (t *totals) add(u totals) {
	*t = totals{t.ids + u.ids, t.refused + u.refused, t.begun + u.begun, t.crashed + u.crashed, t.swapped + u.swapped, t.stepped + u.stepped}
}

func newHistory(t testing.TB, seed uint64, plant func(*line)) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 1)), plant: plant, made: make(map[snowflake.ID]bool)}
	unit := []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[seed%3]
	h.layout = layoutOf(t, unit, snowflake.Time(37), snowflake.Rollback(2), snowflake.Static("worker", 2), snowflake.Sequence(4))
	h.store = storetest.NewLeases(store.DefaultLimits(), h.clock.Now)
	for range 3 {
		h.processes = append(h.processes, &process{})
	}
	return h
}

// play has the processes make IDs for half an hour, several at the same moment, so that two that have
// the same worker make the same IDs. It returns the first thing that went wrong.
func (h *history) play(ctx context.Context) error {
	defer func() {
		for _, p := range h.processes {
			h.end(p, false)
		}
		time.Sleep(5 * time.Minute) // paused processes come to their end
	}()
	for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); {
		h.turnClocks()
		for _, p := range h.processes {
			if err := h.advance(ctx, p); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(h.IntN(5)) * 250 * time.Millisecond)
	}
	return nil
}

// advance lets one process do something.
func (h *history) advance(ctx context.Context, p *process) error {
	switch {
	case p.keeper == nil:
		h.begin(ctx, p)
	case time.Until(p.line.paused) > 0:
	case h.IntN(150) == 0:
		h.end(p, h.IntN(2) == 0)
	case h.IntN(100) == 0:
		p.line.mu.Lock()
		p.line.paused = time.Now().Add(time.Duration(h.IntN(60)) * time.Second)
		p.line.mu.Unlock()
	case h.IntN(2) == 0:
		return h.work(p)
	}
	return nil
}

// turnClocks steps one clock now and then, or all of them, as when they share a source of time.
func (h *history) turnClocks() {
	if h.IntN(30) > 0 {
		return
	}
	h.stepped++
	by := []time.Duration{
		time.Duration(h.IntN(40)-30) * time.Millisecond,
		time.Duration(h.IntN(40)-30) * time.Second,
		time.Duration(h.IntN(40)-20) * time.Minute,
	}[h.IntN(3)]
	switch h.IntN(4) {
	case 0:
		h.processes[h.IntN(len(h.processes))].clock.step(by)
	case 1: // somebody sets them right
		h.clock.skew.Store(0)
		for _, p := range h.processes {
			p.clock.skew.Store(0)
		}
	default:
		h.clock.step(by)
		for _, p := range h.processes {
			p.clock.step(by)
		}
	}
}

func (h *history) begin(ctx context.Context, p *process) {
	p.line = &line{Source: h.store}
	if h.plant != nil {
		h.plant(p.line)
	}
	policies := []snowflake.Option{
		snowflake.RunAhead(0),
		snowflake.StepBack(),
		snowflake.RunAhead(3 * time.Second),
		snowflake.RandomStart(4),
	}
	p.keeper, _ = snowflake.Keep(ctx, p.line, h.layout, policies[h.IntN(len(policies))], policies[h.IntN(len(policies))],
		snowflake.WithClock(p.clock.Now), quiet, snowflake.Leasing(lease.WithTTL(time.Duration(3+h.IntN(60))*time.Second)))
	if p.keeper != nil {
		h.begun++
	}
}

// end closes the process's keeper. After a crash the store hears nothing of it.
func (h *history) end(p *process, crash bool) {
	if p.keeper == nil {
		return
	}
	if crash {
		h.crashed++
		p.line.mu.Lock()
		p.line.cut = true
		p.line.mu.Unlock()
	}
	p.keeper.Close()
	h.swapped += int(p.keeper.Status().Replaced)
	p.keeper = nil
}

// work makes some IDs, now and then more than a unit has.
func (h *history) work(p *process) error {
	ids := make([]snowflake.ID, 1+h.IntN(4))
	if h.IntN(10) == 0 {
		ids = make([]snowflake.ID, 40)
	}
	n, err := p.keeper.Generator().Fill(ids)
	if err != nil {
		h.refused++
	}
	for _, id := range ids[:n] {
		if err := h.see(p.line, id); err != nil {
			return err
		}
	}
	return nil
}

// see returns what is wrong with an ID, if anything.
func (h *history) see(l *line, id snowflake.ID) error {
	parts, err := h.layout.Inspect(id)
	switch {
	case err != nil:
		return err
	case h.made[id]:
		return fmt.Errorf("made twice: %+v", parts)
	case !l.covers(parts.Static["worker"], parts.Time, h.layout.Unit()):
		return fmt.Errorf("not covered by a lease: %+v", parts)
	}
	h.made[id] = true
	h.ids++
	return nil
}

// playBubbled plays a history in a bubble.
func playBubbled(t *testing.T, seed int, plant func(*line)) (sum totals, err error) {
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		h := newHistory(t, uint64(seed), plant)
		err = h.play(t.Context())
		sum = h.totals
	})
	return sum, err
}

// Keepers on one store never make the same ID, and none without a lease, whatever clocks and processes
// do and whichever policies they have.
func TestKeepProperty(t *testing.T) {
	var sum totals
	for seed := range *keepSeeds {
		got, err := playBubbled(t, seed, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		sum.add(got)
	}
	t.Logf("%+v", sum)
	if sum.ids == 0 || sum.refused == 0 || sum.begun == 0 || sum.crashed == 0 || sum.swapped == 0 || sum.stepped == 0 {
		t.Errorf("%+v: want some of everything", sum)
	}
}

// The same histories find a store that grants a worker twice, and a keeper that gives a worker back as
// if it had not been used.
func TestKeepPropertyFindsFaults(t *testing.T) {
	for name, plant := range map[string]func(*line){
		"granted twice": func(l *line) {
			l.grant = func(r lease.Record) lease.Record { r.FirstNode, r.LastNode = 0, 0; return r }
		},
		"given back unused": func(l *line) {
			l.lastUsed = func(t time.Time) time.Time { return t.Add(-time.Hour) }
		},
	} {
		found := false
		for seed := range 10 {
			if _, err := playBubbled(t, seed, plant); err != nil {
				t.Logf("%s: seed %d: %v", name, seed, err)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// see finds what has no lease, as a whole unit or at all.
func TestKeepPropertySeesLeases(t *testing.T) {
	h := newHistory(t, 2, nil) // units of a second
	l := &line{granted: []lease.Record{{FirstNode: 1, LastNode: 1, Start: 1_800_000_010, HighWater: 1_800_000_012}}}
	for _, tt := range []struct {
		worker uint64
		second int64
		ok     bool
	}{{1, 10, true}, {1, 12, true}, {1, 9, false}, {1, 13, false}, {0, 11, false}, {1, 10, false}} {
		id, err := h.layout.Compose(snowflake.Fields{Time: time.Unix(1_800_000_000+tt.second, 0), Static: map[string]uint64{"worker": tt.worker}})
		if err = errors.Join(err, h.see(l, id)); (err == nil) != tt.ok {
			t.Errorf("%+v: error %v", tt, err)
		}
	}
}
