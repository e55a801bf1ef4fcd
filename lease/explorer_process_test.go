package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
)

// A process has a real space and the loop of a real keeper, both with its own clock. The process itself stands
// for the generator: the keeper gives it leases, by the methods of a queue, and it makes IDs under all of them.
// It also takes leases and numbers without the keeper.
type process struct {
	world        *world
	name         int
	off          int64 // how far the clock is ahead of the world's time
	frozen       bool  // the clock stands still, and shows off
	space        *Space
	loop         *loop
	leases       []*held
	acknowledged acknowledged

	calls  int  // how many calls of the space are under way
	taking bool // one of them is Take
	sure   bool // nothing happens before the next call of the engine
	gone   bool // it was killed

	machine   *atomic.Uint64 // the generation of its machine, which changes with an announced copy
	generator uint64         // the generation that the generator works in, 0 before its first lease
	original  *process       // if this is a copy: the process that waits for the same answer
}

// A held lease is that of one generator, and of its copies that nobody announced.
type held struct{ randflake.Lease }

func (p *process) clock() time.Time {
	if p.frozen {
		return time.Unix(p.off, 0)
	}
	return time.Unix(p.world.now+p.off, 0)
}

// setClock sets the clock.
func (p *process) setClock() {
	w := p.world
	p.off, p.frozen = w.anyOff(), false
	if w.clocks && w.IntN(3) > 0 {
		p.setWrong()
	}
	w.note("clock of %d: %+d, stopped: %v", p.name, p.off, p.frozen)
}

// setWrong sets the clock wrong, and sometimes it stops too.
func (p *process) setWrong() {
	w := p.world
	p.off = w.Int64N(1000) - 500
	if w.IntN(3) == 0 {
		p.off, p.frozen = w.now+p.off%20, true
	}
}

// open opens the space, which a person creates if there is none.
func (p *process) open() error {
	w := p.world
	config := Config{Name: "s", Clock: p.clock}
	if w.metaIn(w.data.state) == nil {
		p.create(config)
	}
	ctx, evidence := withEvidence(context.Background())
	space, err := Open(ctx, conn{w.data, p.call}, config)
	if err != nil {
		return err
	}
	p.space = space
	p.acknowledged = acknowledged{} // what create was told is not known to this handle
	p.acknowledged.add(evidence.acknowledged)
	p.machine = newMachine(1)
	p.keep(settings{nodes: uint32(1 + w.IntN(2)), outage: 5 * time.Second})
	return nil
}

// create creates the space. The first one is for IDs that were never used, and is created without a fault.
func (p *process) create(config Config) {
	w := p.world
	engine := conn{w.data, p.call}
	config.Limits = w.limits
	config.Trust = w.IntN(2) == 0
	if w.lineages == 0 { // nothing was lost
		config.NeverUsed, engine.intercept = true, nil
	}
	_, err := Create(context.Background(), engine, config)
	w.note("create, new: %v: %v", config.NeverUsed, err)
}

// keep gives the process a keeper.
func (p *process) keep(s settings) {
	p.space.sleep = noSleep
	p.space.mostSteps = 6
	s.clock, s.logger = p.clock, slog.New(slog.DiscardHandler)
	p.loop = newLoop(p, s)
	p.loop.machine = vmgen.Of(p.machine)
	p.loop.queue = p
}

func (p *process) kill() {
	p.world.note("kill %d", p.name)
	p.gone, p.original = true, nil
	p.world.processes = slices.DeleteFunc(p.world.processes, func(other *process) bool { return other == p })
}

// during notes that a call of the space is under way while do runs.
func (p *process) during(do func()) {
	p.calls++
	do()
	p.calls--
}

// step has the keeper do what is due. If the keeper says that IDs can be made, then they can.
func (p *process) step() {
	w := p.world
	w.note("step %d", p.name)
	p.during(func() { p.loop.step(context.Background()) })
	if err := p.Ready(); err != nil && p.loop.status.Stopped.IsZero() && !p.gone {
		w.fail("the keeper of %d knows of no lack of IDs: %v", p.name, err)
	}
}

// take takes leases without the keeper.
func (p *process) take() {
	w := p.world
	from := w.limits.WindowOf(p.clock()) + []int64{0, 0, 0, 1, 1, 2, 2, 3, 4, -1, -9}[w.IntN(11)]
	to := from + []int64{0, 0, 1, 1, 4}[w.IntN(5)]
	n := uint32(1 + w.IntN(2))
	w.note("take %d of %d for %d windows from %d on", n, p.name, to-from+1, from-w.limits.WindowOf(genesisTime))
	p.during(func() {
		leases, _ := p.Take(context.Background(), from, to, n)
		if p.isCopy() { // then they are the original's
			return
		}
		for _, lease := range leases {
			p.Add(lease)
		}
	})
}

// Take implements Source, for the keeper.
func (p *process) Take(ctx context.Context, from, to int64, n uint32) ([]randflake.Lease, error) {
	p.taking = true
	ctx, evidence := withEvidence(ctx)
	leases, err := p.space.Take(ctx, from, to, n)
	p.taking = false
	if len(leases) > 0 {
		p.acknowledged.add(evidence.acknowledged)
		last := leases[len(leases)-1]
		p.acknowledged.lastWindow = max(p.acknowledged.lastWindow, p.Limits().WindowOf(last.Start))
	}
	if p.original != nil {
		p.goOnAsOriginal(leases)
	}
	return leases, err
}

// Limits implements Source.
func (p *process) Limits() Limits { return p.space.Limits() }

// String implements Source.
func (p *process) String() string { return fmt.Sprint("process ", p.name) }

// report says that data were lost, which may be so.
func (p *process) report() {
	p.world.note("report of a loss by %d", p.name)
	p.during(func() { p.space.ReportLoss(context.Background(), "a mistake") })
}

// trust changes the trust of the space.
func (p *process) trust() {
	w := p.world
	m := w.metaIn(w.data.state)
	trust := m == nil || !m.Trust
	w.note("trust of %d: %v", p.name, trust)
	p.during(func() { p.space.SetTrust(context.Background(), trust) })
}

// count takes numbers of a counter. If there is none it creates the counter, and sets it if it must be set.
func (p *process) count() {
	w := p.world
	counter, period := p.anyCounter()
	n := 1 + w.Int64N(3)
	w.note("count %d of %s %s for %d", n, counter, period.Key, p.name)
	p.during(func() {
		ctx, evidence := withEvidence(context.Background())
		run, err := p.space.TakeNumbers(ctx, counter, period, n)
		switch {
		case err == nil:
			w.note("(%d has %d numbers from %d on)", p.name, run.N, run.First)
			w.given(counter, period.Key, run)
		case errors.Is(err, ErrNoCounter):
			err = p.space.CreateCounter(ctx, Counter{Name: counter, Periods: period.Periods})
			w.note("(%d creates %s: %v)", p.name, counter, err)
		case errors.Is(err, ErrCounterLost):
			next := w.firstUntaken["s/c/"+counter]
			p.sure = true // next is beyond all that was taken until SetCounter has read the counter
			err = p.space.SetCounter(ctx, counter, next)
			p.sure = false
			w.note("(%d sets %s to %d: %v)", p.name, counter, next, err)
		}
		if err == nil {
			p.acknowledged.add(evidence.acknowledged)
		}
	})
}

// anyCounter returns the counter without periods, or the other one with its present period or the next one.
func (p *process) anyCounter() (name string, period Period) {
	w := p.world
	if w.IntN(2) > 0 {
		return "orders", Period{}
	}
	const length = 8
	k := p.clock().Unix()/length + w.Int64N(2)
	return "days", Period{"eight seconds", fmt.Sprintf("%08d", k), time.Unix(k*length, 0)}
}

// Add implements Queue.
func (p *process) Add(l randflake.Lease) error {
	w := p.world
	window := w.limits.WindowOf(l.Start) - w.limits.WindowOf(genesisTime)
	w.note("(%d has nodes %d to %d of window %d)", p.name, l.FirstNode, l.LastNode, window)
	if p.generator == 0 {
		p.generator = p.machine.Load()
	}
	p.leases = append(p.leases, &held{l})
	return nil
}

// Drop implements Queue.
func (p *process) Drop() {
	p.leases = nil
	if p.generator != 0 {
		p.generator = p.machine.Load()
	}
}

// Ready implements Queue.
func (p *process) Ready() error {
	now := p.clock()
	ready := slices.ContainsFunc(p.leases, func(h *held) bool { return !now.Before(h.Start) && now.Before(h.End) })
	if !ready || p.generator != p.machine.Load() {
		return randflake.ErrLeaseEnded
	}
	return nil
}

// Counts implements Queue.
func (p *process) Counts() (made, waited uint64) { return 0, 0 }

// OnRefusal implements Queue.
func (p *process) OnRefusal(func(error, bool)) {}

// makeIDs makes IDs in a second, with all nodes that the process has then.
func (p *process) makeIDs(second int64) {
	if p.generator != p.machine.Load() {
		return
	}
	for _, h := range p.leases {
		if h.Start.Unix() <= second && second < h.End.Unix() {
			p.world.used(h, second)
		}
	}
}

// useUp makes IDs in all seconds that are left.
func (p *process) useUp() {
	now := p.clock().Unix()
	for _, h := range p.leases {
		for second := max(now, h.Start.Unix()); second < h.End.Unix(); second++ {
			p.makeIDs(second)
		}
	}
}
