package lease

import (
	"context"
	"fmt"
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

	data        *memory
	backups     []state
	late        []call  // swaps that the engine gets later
	again       *state  // the backup that was put back last
	doubtful    []state // where a restart may go back to, although the space trusts them
	lineages    int     // that were made up, and incarnations
	processes   []*process
	names       int    // that processes were given
	generations uint64 // of machines
	stops       int    // of the server, which break connections
	creating    int    // how many make a space just now
	hidden      string // term of the space whose data went back without a trace in the engine, or ""
	depth       int    // of moves in calls of others

	oracle
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
	w := &world{scenes: set, Rand: rand.New(rand.NewPCG(seed, 1)), now: genesis, data: newMemory(), oracle: newOracle(), generations: 1}
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

func (w *world) setServer(off int64) {
	w.data.clock = func() time.Time { return time.Unix(w.now+off, 0) }
}

// An event is something that may happen now, and how often it does.
type event struct {
	weight int
	may    bool
	do     func()
}

// events are those of a process, and of the world around it.
func (w *world) events(p *process) []event {
	idle := p.calls == 0
	return []event{
		{35, true, w.pass},
		{8, len(w.processes) < 6, w.start},
		{3, true, p.kill},
		{20, idle, p.step},
		{20, p.calls < 2 && !p.isCopy(), p.take},
		{40, w.counter && p.calls < 2, p.count},
		{4, w.copies && len(w.processes) < 7, p.copy},

		{4, true, p.setClock},
		{1, w.data.clock != nil && w.breadth == int64(w.limits.MaxSkew/time.Second), func() { w.setServer(w.anyOff()) }},

		{3, len(w.late) > 0, w.arrive},
		{1, w.losses, w.failOver},
		{2, w.losses, w.restart},
		{1, w.losses, w.doubt},
		{1, w.losses && idle, p.trust},
		{1, w.losses && w.creating == 0, w.loseAll}, // who makes a space again waits until the store is sound
		{2, w.losses && len(w.backups) > 0, w.restore},
		{3, w.losses && len(w.backups) > 0, w.rollBack},
		{2, w.losses && idle, p.report},
	}
}

// move makes a random move.
func (w *world) move() {
	if len(w.processes) == 0 {
		w.start()
		return
	}
	w.moveOf(w.processes[w.IntN(len(w.processes))])
}

// moveOf makes a random move of a process, or of the world around it.
func (w *world) moveOf(p *process) {
	events := w.events(p)
	events = slices.DeleteFunc(events, func(e event) bool { return !e.may })
	all := 0
	for _, e := range events {
		all += e.weight
	}
	at := w.IntN(all)
	for _, e := range events {
		if at -= e.weight; at < 0 {
			e.do()
			return
		}
	}
}

// meanwhile makes moves, sometimes, while a call of p is on its way, and many while a call is slow. Some are
// p's own.
func (w *world) meanwhile(p *process) {
	n := []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 6}[w.IntN(16)]
	if w.depth > 0 {
		n = min(n, 3-w.depth)
	}
	for range n {
		w.depth++
		if p.space != nil && !p.gone && w.IntN(4) == 0 {
			w.moveOf(p)
		} else {
			w.move()
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

// arrive has the engine get a swap that whoever sent it has given up.
func (w *world) arrive() {
	w.note("a swap arrives late")
	w.do(w.late[0])
	w.late = w.late[1:]
}

// do has the engine do what a call asks for.
func (w *world) do(c call) Answer {
	a := w.data.do(c)
	if a.Swapped {
		for _, e := range c.put {
			w.stored(e)
		}
		w.backups = append(w.backups, w.data.snapshot())
		w.keepDoubtful()
	}
	return a
}

// replace puts other data in the place of those that are there.
func (w *world) replace(by state) {
	w.data.restore(by)
	w.doubtful = nil
}

// doubt has the engine say that a restart may forget what is put from now on, or no longer say so.
func (w *world) doubt() {
	if w.data.doubt == "" && !w.unnoticed() {
		w.data.doubt = "a restart may forget it"
	} else {
		w.data.doubt = ""
	}
	w.note("doubt: %q", w.data.doubt)
	w.doubtful = nil
	w.keepDoubtful()
}

// keepDoubtful adds what is there to what a restart may go back to. What is put without trust counts, even in
// doubt, so a restart may not go back before that.
func (w *world) keepDoubtful() {
	switch {
	case w.data.doubt == "" || !w.trusts(w.data.state):
		w.doubtful = nil
	default:
		w.doubtful = append(w.doubtful, w.data.snapshot())
	}
}

func (w *world) trusts(s state) bool {
	m := w.metaIn(s)
	return m != nil && m.Trust
}

// restart has another incarnation of the data go on. To a space that does not trust it, it may have forgotten
// something, and to others what was put in doubt.
func (w *world) restart() {
	s := w.data.snapshot()
	trusted := w.trusts(s)
	switch {
	case trusted && len(w.doubtful) > 0 && !w.unnoticed():
		s = w.doubtful[w.IntN(len(w.doubtful))]
	case !trusted && len(w.backups) > 0:
		backup := w.anyBackup()
		if !w.trusts(backup) {
			s = backup
		}
	}
	w.note("restart at position %d, trusted: %v", s.position, trusted)
	s.incarnation = w.newLineage()
	w.replace(s)
	if !trusted {
		w.hidden = ""
	}
}

// anyBackup returns one, of late more often than not.
func (w *world) anyBackup() state {
	n := len(w.backups)
	if w.IntN(3) > 0 {
		return w.backups[n-1-w.IntN(min(n, 5))]
	}
	return w.backups[w.IntN(n)]
}

// newLineage makes one up.
func (w *world) newLineage() string {
	w.lineages++
	return fmt.Sprint("lineage ", w.lineages)
}

// failOver changes the lineage, though nothing is lost.
func (w *world) failOver() {
	w.note("failover without a loss")
	w.data.lineage = w.newLineage()
	w.doubtful = nil
}

// loseAll loses everything. The server may come back under the same lineage. Then its stop breaks connections:
// a swap that makes the space again, and was decided before, would land as if nothing had been lost since.
func (w *world) loseAll() {
	w.note("everything is gone")
	lineage := w.newLineage()
	if w.IntN(2) == 0 {
		lineage = w.data.lineage
		w.stops++
	}
	w.replace(state{data: map[string]string{}, lineage: lineage, incarnation: w.data.incarnation})
	w.breakConnections()
	w.hidden = ""
}

// restore puts a backup back in a way that the engine shows.
func (w *world) restore() {
	backup := w.anyBackup()
	w.note("a backup is restored: position %d", backup.position)
	backup.lineage = w.newLineage()
	w.replace(backup)
	w.hidden = ""
}

// rollBack stops the server, and puts older data, or those of a former lineage, back in a way that the engine
// doesn't show. Unless a person reports it at once, only processes that must notice it by what they were told
// may go on, and no others begin until one of them did.
func (w *world) rollBack() {
	backup := w.anyBackup()
	if w.again != nil && w.IntN(2) == 0 {
		backup = *w.again
	}
	m := w.metaIn(backup)
	if w.unnoticed() || m == nil || m.isMarked() || w.metaIn(w.data.state) == nil {
		return
	}
	w.again = &backup
	noticed := slices.ContainsFunc(w.processes, func(p *process) bool { return w.mustNotice(p.told, backup) })
	reported := !noticed || w.IntN(3) == 0
	w.note("roll back to position %d of %q, reported: %v", backup.position, backup.lineage, reported)
	if !reported {
		w.killIgnorant(backup, nil) // by the data that is still there
	}
	w.breakConnections()
	w.stops++
	w.replace(backup)
	w.data.doubt = ""
	if !reported {
		w.hidden = w.metaIn(backup).Term
		return
	}
	clock := func() time.Time { return time.Unix(w.now+w.anyOff(), 0) }
	space, err := Open(context.Background(), conn{memory: w.data}, Config{Name: "s", Clock: clock})
	if err == nil {
		space.sleep = noSleep
		err = space.ReportLoss(context.Background(), "an old backup")
	}
	if err != nil {
		w.fail("a loss can't be reported: %v", err)
	}
}

// breakConnections loses the swaps that are on their way. But who was about to note a loss may have paused
// before that: then the swap is sent afterwards.
func (w *world) breakConnections() {
	w.late = slices.DeleteFunc(w.late, func(c call) bool { return c.put[0].Name != "s/meta" || w.IntN(4) == 0 })
}

// killIgnorant kills the processes but one that need not notice that the data are those of a backup.
func (w *world) killIgnorant(backup state, but *process) {
	for _, p := range slices.Clone(w.processes) {
		if p != but && !w.mustNotice(p.told, backup) {
			p.kill()
		}
	}
}

// unnoticed reports whether data went back, and no process has noted it yet.
func (w *world) unnoticed() bool {
	if m := w.metaIn(w.data.state); m == nil || m.Term != w.hidden {
		w.hidden = ""
	}
	return w.hidden != ""
}

// start starts a process, on a space that it makes if there is none.
func (w *world) start() {
	if w.unnoticed() {
		return
	}
	w.names++
	p := &process{world: w, name: w.names, off: w.anyOff()}
	if w.clocks && w.IntN(3) == 0 {
		p.setWrong()
	}
	if err := p.open(); err != nil || w.unnoticed() {
		w.note("(%d does not start: %v)", p.name, err)
		return
	}
	w.note("start %d with a clock at %+d", p.name, p.off)
	w.processes = append(w.processes, p)
	p.step()
}
