package lease

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A world is the state of a schedule. Its true time only grows, and no clock that is right is behind it, or
// more than breadth ahead. Within that band a clock may be set at any time.
type world struct {
	scenes
	*rand.Rand
	limits  Limits
	now     int64 // true time
	breadth int64

	storage // explorer_store_test.go
	oracle  // explorer_oracle_test.go

	processes   []*process
	names       int    // that processes were given
	generations uint64 // of machines
	depth       int    // of events in calls of others

	logs bool
	log  []string
}

const genesis = 1800000000

var genesisTime = time.Unix(genesis, 0)

// manyLimits are those of the spaces in schedules. In the last ones, two clocks may differ by more than a
// process may take ahead.
var manyLimits = []Limits{
	{Nodes: 6, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second},
	{Nodes: 6, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second},
	{Nodes: 6, Window: 2 * time.Second, Ahead: 1, MaxSkew: 5 * time.Second},
	{Nodes: 4 + 64*3, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second, Reserve: 3},
	{Nodes: 4 + 64*3, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second, Reserve: 3},
	{Nodes: 4 + 64*2, Window: 2 * time.Second, Ahead: 1, MaxSkew: 5 * time.Second, Reserve: 2},
	{Nodes: 4 + 64*3, Window: 20 * time.Second, Ahead: 2, MaxSkew: 10 * time.Second, Reserve: 3}, // with ticks of 2 s
}

func newWorld(seed uint64, set scenes) *world {
	w := &world{
		scenes:      set,
		Rand:        rand.New(rand.NewPCG(seed, 1)),
		now:         genesis,
		storage:     storage{data: newMemory()},
		oracle:      newOracle(),
		generations: 1,
	}
	w.data.incarnation = "incarnation"
	w.limits = manyLimits[w.IntN(len(manyLimits))]
	skew := int64(w.limits.MaxSkew / time.Second)
	switch w.IntN(3) {
	case 0: // the server has no clock
		w.breadth = skew
	case 1: // its clock is one of those in the band
		w.breadth = skew
		w.setServer(w.anyOff())
	case 2: // it never jumps, so clocks of processes may be on both sides of it
		w.breadth = 2 * skew
		w.setServer(skew)
	}
	return w
}

// anyOff returns how far a clock that is right may be ahead of true time.
func (w *world) anyOff() int64 { return w.Int64N(w.breadth + 1) }

// setServer sets the clock of the server.
func (w *world) setServer(off int64) {
	w.data.clock = func() time.Time { return time.Unix(w.now+off, 0) }
}

// An event is something that may happen now, and how often, beside the weights of the others.
type event struct {
	weight int
	may    bool
	do     func()
}

// events are those of a process, and of the world around it.
func (w *world) events(p *process) []event {
	idle := p.calls == 0
	serverJumps := w.data.clock != nil && w.breadth == int64(w.limits.MaxSkew/time.Second)
	return []event{
		{35, true, w.pass},
		{8, len(w.processes) < 6, w.start},
		{3, true, p.kill},
		{20, idle, p.step},
		{20, p.calls < 2 && !p.isCopy(), p.take},
		{40, w.counter && p.calls < 2, p.count},
		{4, w.copies && len(w.processes) < 7, p.copy},

		{4, true, p.setClock},
		{1, serverJumps, func() { w.setServer(w.anyOff()) }},

		{3, len(w.delayed) > 0, w.arrive},
		{1, w.losses, w.failOver},
		{2, w.losses, w.restart},
		{1, w.losses, w.doubt},
		{1, w.losses && idle, p.trust},
		{1, w.losses, w.loseAll},
		{2, w.losses && len(w.backups) > 0, w.restore},
		{3, w.losses && len(w.backups) > 0, w.rollBack},
		{2, w.losses && idle, p.report},
	}
}

// happen makes a random event happen, to a random process or to the world.
func (w *world) happen() {
	if len(w.processes) == 0 {
		w.start()
		return
	}
	w.happenTo(w.processes[w.IntN(len(w.processes))])
}

// happenTo makes a random event happen, to a process or to the world.
func (w *world) happenTo(p *process) {
	events := w.events(p)
	events = slices.DeleteFunc(events, func(e event) bool { return !e.may })
	all := 0
	for _, e := range events {
		all += e.weight
	}
	at := w.IntN(all)
	for _, e := range events {
		at -= e.weight
		if at < 0 {
			e.do()
			return
		}
	}
}

// meanwhile makes events happen while a call of p is on its way: mostly none, and many while a call is slow.
// Some happen to p itself.
func (w *world) meanwhile(p *process) {
	n := []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 6}[w.IntN(16)]
	if w.depth > 0 { // so that the calls within calls come to an end
		n = min(n, 3-w.depth)
	}
	for range n {
		w.depth++
		if p.space != nil && !p.gone && w.IntN(4) == 0 {
			w.happenTo(p)
		} else {
			w.happen()
		}
		w.depth--
	}
}

// pass lets time pass, in which each generator makes IDs in each second of its clock.
func (w *world) pass() {
	seconds := []int64{1, 1, 2, 3, 6, 11}[w.IntN(6)]
	w.note("%d s pass", seconds)
	for range seconds {
		w.now++
		for _, p := range w.processes {
			p.makeIDs(p.clock().Unix())
		}
	}
}

// useUp has all generators make IDs in all seconds that are left.
func (w *world) useUp() {
	w.note("all leases are used up")
	for _, p := range w.processes {
		p.useUp()
	}
}

// start starts a process, on a space that it makes if there is none.
func (w *world) start() {
	if w.unnoted() {
		return
	}
	w.names++
	p := &process{world: w, name: w.names, off: w.anyOff()}
	if w.clocks && w.IntN(3) == 0 {
		p.setWrong()
	}
	if err := p.open(); err != nil || w.unnoted() {
		w.note("(%d does not start: %v)", p.name, err)
		return
	}
	w.note("start %d with a clock at %+d", p.name, p.off)
	w.processes = append(w.processes, p)
	p.step()
}
