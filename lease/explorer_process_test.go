package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
)

// A process has a keeper, and a generator that makes IDs all the time. It also takes leases and numbers by
// itself.
type process struct {
	world  *world
	name   int
	off    int64 // of its clock
	frozen bool  // the clock shows off, for ever
	space  *Space
	loop   *loop
	leases []*held
	told   told

	calls  int  // of the space that have begun
	taking bool // one of them is a take
	sure   bool // nothing happens before its next call of the engine
	gone   bool

	machine   *atomic.Uint64 // its generation
	generator uint64         // the generation of the generator, 0 before its first lease
	original  *process       // of this copy, which waits for the same answer
}

// A held lease is one of a generator, or of a generator and its copies that nobody announced.
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
		engine := conn{w.data, p.call}
		create := config
		create.Limits = w.limits
		create.Trust = w.IntN(2) == 0
		if w.lineages == 0 { // nothing was lost
			create.NeverUsed, engine.intercept = true, nil
		}
		w.creating++
		_, err := Create(context.Background(), engine, create)
		w.creating--
		w.note("create, new: %v: %v", create.NeverUsed, err)
	}
	ctx, h := p.listen(context.Background())
	space, err := Open(ctx, conn{w.data, p.call}, config)
	if err != nil {
		return err
	}
	p.space = space
	p.told = told{} // what another handle created the space with is not known to this one
	p.told.hear(h.told)
	p.machine = newMachine(1)
	p.keep(settings{nodes: uint32(1 + w.IntN(2)), outage: 5 * time.Second})
	return nil
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
	p.world.processes = slices.DeleteFunc(p.world.processes, func(q *process) bool { return q == p })
}

func (p *process) in(do func()) {
	p.calls++
	do()
	p.calls--
}

// step has the keeper do what is due. If it says that IDs go on, then they do.
func (p *process) step() {
	w := p.world
	w.note("step %d", p.name)
	p.in(func() { p.loop.step(context.Background()) })
	if err := p.Ready(); err != nil && p.loop.status.Stopped.IsZero() && !p.gone {
		w.fail("the keeper of %d knows of no lack of IDs: %v", p.name, err)
	}
}

// take takes leases without the keeper.
func (p *process) take() {
	w := p.world
	window := w.limits.WindowOf(p.clock()) + []int64{0, 0, 0, 1, 1, 2, 2, 3, 4, -1, -9}[w.IntN(11)]
	to := window + []int64{0, 0, 1, 1, 4}[w.IntN(5)]
	n := uint32(1 + w.IntN(2))
	w.note("take %d of %d for %d windows from %d on", n, p.name, to-window+1, window-w.limits.WindowOf(genesisTime))
	p.in(func() {
		leases, _ := p.Take(context.Background(), window, to, n)
		if p.isCopy() {
			return
		}
		for _, lease := range leases {
			p.Add(lease)
		}
	})
}

// Take implements Source.
func (p *process) Take(ctx context.Context, from, to int64, n uint32) ([]randflake.Lease, error) {
	p.taking = true
	ctx, h := p.listen(ctx)
	leases, err := p.space.Take(ctx, from, to, n)
	p.taking = false
	if len(leases) > 0 {
		p.told.hear(h.told)
		last := leases[len(leases)-1]
		p.told.newest = max(p.told.newest, p.Limits().WindowOf(last.Start))
	}
	if q := p.original; q != nil {
		p.original = nil
		q.learn(p)
		for _, lease := range leases {
			q.Add(lease)
		}
		p.world.processes = append(p.world.processes, q)
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
	p.in(func() { p.space.ReportLoss(context.Background(), "a mistake") })
}

// trust changes the trust of the space.
func (p *process) trust() {
	w := p.world
	m := w.metaIn(w.data.state)
	trust := m == nil || !m.Trust
	w.note("trust of %d: %v", p.name, trust)
	p.in(func() { p.space.SetTrust(context.Background(), trust) })
}

// count takes numbers of a counter. One counter starts again with each period: the present one is taken, or
// the next one.
func (p *process) count() {
	w := p.world
	counter, period := "orders", Period{}
	if w.IntN(2) == 0 {
		const length = 8
		k := p.clock().Unix()/length + w.Int64N(2)
		counter, period = "days", Period{"eight seconds", fmt.Sprintf("%08d", k), time.Unix(k*length, 0)}
	}
	n := 1 + w.Int64N(3)
	w.note("count %d of %s %s for %d", n, counter, period.Key, p.name)
	p.in(func() {
		ctx, h := p.listen(context.Background())
		run, err := p.space.TakeNumbers(ctx, counter, period, n)
		switch {
		case err == nil:
			w.note("(%d has %d numbers from %d on)", p.name, run.N, run.First)
			w.given(counter, period.Key, run)
		case errors.Is(err, ErrNoCounter):
			err = p.space.CreateCounter(ctx, Counter{Name: counter, Periods: period.Of})
			w.note("(%d creates %s: %v)", p.name, counter, err)
		case errors.Is(err, ErrCounterLost):
			next := w.top["s/c/"+counter]
			p.sure = true // of what was taken, until its question has arrived
			err = p.space.SetCounter(ctx, counter, next)
			p.sure = false
			w.note("(%d sets %s to %d: %v)", p.name, counter, next, err)
		}
		if err == nil {
			p.told.hear(h.told)
		}
	})
}

// copy copies the machine of a process, which from now on is the one in the copy. The original goes on with
// what it has, or waits for the same answer. The machine may say so.
func (p *process) copy() {
	w := p.world
	waits := p.calls > 0
	if waits && !p.taking || p.isCopy() {
		return
	}
	announced := waits || w.IntN(2) == 0
	w.names++
	q := *p
	q.name, q.calls, q.taking = w.names, 0, false
	q.machine = newMachine(p.machine.Load())
	w.note("%d is a copy of %d, announced: %v, in a call: %v", p.name, q.name, announced, waits)
	q.space, _ = newSpace(conn{w.data, q.call}, Config{Name: "s", Clock: q.clock})
	q.space.known = p.space.known // as the keeper asks for the limits
	q.keep(p.loop.settings)
	q.learn(p)
	p.leases = slices.Clone(p.leases)
	if announced {
		w.generations++
		p.machine.Store(w.generations)
		for i, h := range p.leases { // they are the original's
			p.leases[i] = &held{h.Lease}
		}
	}
	if waits {
		p.original = &q
		return
	}
	w.processes = append(w.processes, &q)
}

// learn gives an original what its copy knows.
func (p *process) learn(q *process) {
	p.space.known = q.space.known
	p.space.known.values = maps.Clone(q.space.known.values)
	p.told = q.told.clone()
	p.loop.plan = q.loop.plan.Clone()
}

// isCopy reports whether the machine is a copy, and the keeper has not seen it.
func (p *process) isCopy() bool { return p.loop.machine.Stale() }

func newMachine(generation uint64) *atomic.Uint64 {
	machine := new(atomic.Uint64)
	machine.Store(generation)
	return machine
}

// call plays a call of the engine. Before it and before its answer others make moves, and messages get lost.
func (p *process) call(ctx context.Context, c call) (Answer, error) {
	w := p.world
	stops := w.stops
	if !p.sure {
		w.meanwhile(p)
	}
	p.sure = false
	fault := w.IntN(20)
	switch {
	case p.gone || stops < w.stops || fault == 0:
		w.note("(%d gets no connection)", p.name)
		return Answer{}, errAway
	case fault == 1 && c.put != nil, fault < 6 && c.put != nil && c.put[0].Name == "s/meta":
		w.note("(a swap of %d is delayed)", p.name)
		w.delayed = append(w.delayed, c)
		return Answer{}, errAway
	}
	a := w.do(c)
	stops = w.stops
	switch {
	case a.Swapped && p.outdated(ctx, c):
		w.killIgnorant(w.data.state, p)
	case fault == 2:
		w.note("(an answer to %d is lost)", p.name)
		return Answer{}, errAway
	default:
		w.meanwhile(p)
	}
	if p.gone {
		return Answer{}, errAway
	}
	if w.IntN(4) == 0 { // the engine asks for the evidence after the swap, by the same connection
		if stops < w.stops {
			w.note("(%d gets no evidence)", p.name)
			return Answer{}, errAway
		}
		w.data.evidence(&a)
	}
	if w.blind {
		a.Position = 0
	}
	p.hear(ctx, c, a, stops)
	return a, nil
}

// Add implements Queue.
func (p *process) Add(l randflake.Lease) error {
	w := p.world
	w.note("(%d has nodes %d to %d of window %d)", p.name, l.FirstNode, l.LastNode, w.limits.WindowOf(l.Start)-w.limits.WindowOf(genesisTime))
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
