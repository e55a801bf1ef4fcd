package lease

import (
	"math/rand/v2"
	"time"
)

// A world is the state of a schedule. Its time only grows. A right clock shows that time, or up to breadth
// seconds more, and may be set within this band at any time. A wrong clock shows anything.
type world struct {
	scene
	*rand.Rand
	limits  Limits
	breadth int64 // of the band of right clocks, in seconds
	journal       // schedule_test.go

	storage // explorer_store_test.go
	oracle  // explorer_oracle_test.go

	processes   []*process
	names       int    // the name of the newest process
	generations uint64 // the newest generation of a machine
}

// manyLimits are those of the spaces in schedules. Some let two clocks differ by more than a process may take
// ahead.
var manyLimits = []Limits{
	{Nodes: 6, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second},
	{Nodes: 6, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second},
	{Nodes: 6, Window: 2 * time.Second, Ahead: 1, MaxSkew: 5 * time.Second},
	{Nodes: 4 + 64*3, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second, Reserve: 3},
	{Nodes: 4 + 64*3, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second, Reserve: 3},
	{Nodes: 4 + 64*2, Window: 2 * time.Second, Ahead: 1, MaxSkew: 5 * time.Second, Reserve: 2},
	{Nodes: 4 + 64*3, Window: 20 * time.Second, Ahead: 2, MaxSkew: 10 * time.Second, Reserve: 3}, // with ticks of 2 s
}

func newWorld(seed uint64, scene scene) *world {
	w := &world{
		scene:       scene,
		Rand:        rand.New(rand.NewPCG(seed, 1)),
		journal:     journal{now: genesis},
		storage:     storage{data: newMemory()},
		oracle:      newOracle(),
		generations: 1,
	}
	w.data.incarnation = "incarnation"
	w.limits = manyLimits[w.IntN(len(manyLimits))]
	w.chooseClocks()
	return w
}

// chooseClocks chooses the clock of the server, and with it the band of right clocks.
func (w *world) chooseClocks() {
	skew := int64(w.limits.MaxSkew / time.Second)
	w.breadth = skew
	switch w.IntN(3) {
	case 0: // the server has none: two processes differ by MaxSkew at most
	case 1: // it has one, which may be set within the band too
		w.setServer(w.anyOff())
	case 2: // it has one that is never set: each process differs from that by MaxSkew at most
		w.breadth = 2 * skew
		w.setServer(skew)
	}
}

// anyOff returns how far a right clock may be ahead of the world's time.
func (w *world) anyOff() int64 { return w.Int64N(w.breadth + 1) }

// setServer sets the clock of the server.
func (w *world) setServer(off int64) {
	w.data.clock = func() time.Time { return time.Unix(w.now+off, 0) }
}

// events are those that can happen to a process, and to the world around it.
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

// happen makes a random event happen, to any process or to the world.
func (w *world) happen() {
	if len(w.processes) == 0 {
		w.start()
		return
	}
	w.happenTo(w.processes[w.IntN(len(w.processes))])
}

// happenTo makes a random event happen, to this process or to the world.
func (w *world) happenTo(p *process) {
	anyOf(w.Rand, w.events(p)).do()
}

// meanwhile makes events happen while a call of p is on its way: mostly none, and many if the call is slow.
// A quarter of them happen to p itself. They may make calls too, in which others happen, up to three deep.
func (w *world) meanwhile(p *process) {
	n := []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 6}[w.IntN(16)]
	if w.depth > 0 {
		n = min(n, 3-w.depth)
	}
	for range n {
		w.depth++
		hasOpened := p.space != nil
		if hasOpened && !p.gone && w.IntN(4) == 0 {
			w.happenTo(p)
		} else {
			w.happen()
		}
		w.depth--
	}
}

// pass lets seconds pass. In each of them each generator makes IDs, for the second that its clock shows.
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

// useUp has all generators make IDs for all seconds that are left.
func (w *world) useUp() {
	w.note("all leases are used up")
	for _, p := range w.processes {
		p.useUp()
	}
}

// start starts a process. It makes the space if there is none.
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
