package lease

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

var explore = flag.Duration("explore", time.Second, "how long TestExplore explores each set of scenes")

var first = flag.Uint64("seed", 0, "of the first schedule of TestExplore; 0 for a random one")

// A scenes is what may happen in a set of random schedules.
type scenes struct {
	name                                   string
	losses, clocks, copies, counter, blind bool // blind: the engine has no position
}

var sets = []scenes{
	{name: "losses", losses: true},
	{name: "losses without positions", losses: true, blind: true},
	{name: "wrong clocks", clocks: true},
	{name: "copies, losses", copies: true, losses: true},
	{name: "copies, wrong clocks", copies: true, clocks: true},
	{name: "counters, losses", counter: true, losses: true},
}

// TestExplore plays random schedules of several processes on the real code above an engine in memory. The oracle knows nothing
// of the protocol: generators write down every second of a node that they use, and none may have two users.
func TestExplore(t *testing.T) {
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			n, found := exploreFor(*explore, set, cmp.Or(*first, rand.Uint64N(1e9)))
			if found != nil {
				t.Fatal(found)
			}
			t.Logf("%d schedules", n)
		})
	}
}

func exploreFor(d time.Duration, set scenes, seed uint64) (schedules int, found error) {
	for began := time.Now(); time.Since(began) < d; {
		schedules++
		if found = play(seed+uint64(schedules)-1, set); found != nil {
			return schedules, found
		}
	}
	return schedules, nil
}

// manyLimits are those of the spaces in scenes.
var manyLimits = []Limits{
	{Nodes: 6, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second},
	{Nodes: 6, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second},
	{Nodes: 4 + 64*3, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second, Reserve: 3},
	{Nodes: 4 + 64*3, Window: 3 * time.Second, Ahead: 1, MaxSkew: 2 * time.Second, Reserve: 3},
}

// A world is the state of a schedule.
type world struct {
	scenes
	*rand.Rand
	limits    Limits
	now       int64
	data      *memory
	snapshots []state
	late      []call // swaps that the engine gets later
	processes []*process
	lineages  int
	hidden    string // ID of the space whose data went back without a trace in the engine, or ""
	depth     int    // of moves in calls of others

	uses    map[[2]int64]*held // by node and second
	numbers map[int64]bool
	top     int64 // first number of the counter that nobody can have taken
	log     []string
	wrong   string
}

// A process has a keeper, and a generator that makes IDs all the time.
type process struct {
	world  *world
	name   int
	off    int64
	frozen bool // the clock shows off, for ever
	space  *Space
	loop   *loop
	leases []*held
	busy   bool // in a call
	copied bool // and the machine says so
}

// A held lease is one of a generator, or of a generator and its copies that nobody announced.
type held struct{ randflake.Lease }

// play plays one schedule.
func play(seed uint64, set scenes) error {
	w := &world{scenes: set, Rand: rand.New(rand.NewPCG(seed, 1)), now: 1800000000, data: newMemory(), uses: map[[2]int64]*held{}, numbers: map[int64]bool{}}
	w.limits = manyLimits[w.IntN(len(manyLimits))]
	if w.IntN(2) == 0 {
		off := w.offset()
		w.data.clock = func() time.Time { return time.Unix(w.now+off, 0) }
	}
	for range 4 {
		w.start()
	}
	for range 100 {
		w.move()
		if w.wrong != "" {
			return fmt.Errorf("%s: seed %d: %s\n%s", set.name, seed, w.wrong, strings.Join(w.log, "\n"))
		}
	}
	w.log = append(w.log, "use all leases up")
	for _, p := range w.processes {
		p.useUp()
	}
	if w.wrong != "" {
		return fmt.Errorf("%s: seed %d: %s\n%s", set.name, seed, w.wrong, strings.Join(w.log, "\n"))
	}
	return nil
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%*s%d ", 2*w.depth, "", w.now-1800000000)+fmt.Sprintf(format, args...))
}

// offset returns one of a clock that is right.
func (w *world) offset() int64 { return w.Int64N(int64(w.limits.MaxSkew/time.Second) + 1) }

// window0 is the first window, for the log.
func (w *world) window0() int64 { return w.limits.WindowOf(time.Unix(1800000000, 0)) }

// start starts a process, on a space that the operator creates if there is none.
func (w *world) start() {
	if w.unknown() {
		return
	}
	p := &process{world: w, name: len(w.log), off: w.offset()}
	if w.clocks && w.IntN(3) == 0 {
		p.off = w.Int64N(1000) - 500
	}
	var err error
	if w.id() == "" {
		fresh := w.lineages == 0 // nothing was lost
		w.note("create, fresh: %v", fresh)
		_, err = Create(context.Background(), conn{memory: w.data}, Config{Name: "s", Clock: p.clock, Limits: w.limits, New: fresh})
	}
	if err == nil {
		p.space, err = Open(context.Background(), conn{w.data, p.call}, Config{Name: "s", Clock: p.clock})
	}
	if err != nil || w.unknown() {
		w.note("start fails: %v", err)
		return
	}
	w.note("start %d with a clock at %+d", p.name, p.off)
	p.fit(settings{nodes: uint32(1 + w.IntN(2)), outage: 5 * time.Second})
	w.processes = append(w.processes, p)
}

// unknown reports whether data went back and only those processes can know of it that saw more, as no floor was set yet.
func (w *world) unknown() bool {
	if w.id() != w.hidden {
		w.hidden = ""
	}
	return w.hidden != ""
}

// fit gives a process, or a copy, what is a schedule's.
func (p *process) fit(s settings) {
	p.space.pause = func(context.Context, time.Duration) error { return nil }
	p.space.maxSteps = 6
	s.clock, s.logger, s.stale = p.clock, slog.New(slog.DiscardHandler), func() bool { return p.copied }
	p.loop = newLoop(p.space, s)
	p.loop.queue = p
}

// id returns that of the space as it is stored.
func (w *world) id() string {
	_, id, _ := strings.Cut(w.data.data["s/meta"], `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// move makes a random move.
func (w *world) move() {
	var idle []*process
	for _, p := range w.processes {
		if !p.busy {
			idle = append(idle, p)
		}
	}
	if len(idle) == 0 || w.IntN(12) == 0 && len(w.processes) < 6 {
		w.start()
		return
	}
	p := idle[w.IntN(len(idle))]
	switch r := w.IntN(100); {
	case r < 35:
		w.pass([]int64{1, 1, 2, 3, 6, 11}[w.IntN(6)])
	case r < 60 && w.counter:
		p.count()
	case r < 60 || p.copied:
		w.note("step %d", p.name)
		p.in(func() { p.loop.step(context.Background()) })
	case r < 80:
		p.take()
	case r < 83:
		w.note("kill %d", p.name)
		w.remove(p)
	case r < 86 && len(w.late) > 0:
		w.note("a swap arrives late")
		w.data.do(w.late[0])
		w.late = w.late[1:]
	case r < 90 && w.losses:
		w.note("backup")
		w.snapshots = append(w.snapshots, w.data.snapshot())
	case r < 95 && w.losses:
		w.lose()
	case r < 90 && w.clocks:
		p.off, p.frozen = w.Int64N(1000)-500, false
		if w.IntN(3) == 0 {
			p.off, p.frozen = w.now+p.off%20, true
		}
		w.note("clock of %d: %+d, stopped: %v", p.name, p.off, p.frozen)
	case r >= 95 && w.copies && len(w.processes) < 7:
		p.copy()
	}
}

func (w *world) remove(p *process) {
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
}

// pass lets time pass, in which each generator makes IDs in each second of its clock.
func (w *world) pass(seconds int64) {
	w.note("%d s pass", seconds)
	for range seconds {
		w.now++
		for _, p := range w.processes {
			p.use(p.clock().Unix())
		}
	}
}

// lose loses data.
func (w *world) lose() {
	w.lineages++
	lineage := fmt.Sprint("lineage ", w.lineages)
	r := w.IntN(8)
	switch {
	case r == 0:
		w.note("failover without a loss")
		w.data.lineage = lineage
	case r == 1:
		w.note("everything is gone")
		w.data.restore(state{map[string]string{}, []string{lineage, w.data.lineage}[w.IntN(2)], 0})
		w.late, w.hidden = nil, ""
	case len(w.snapshots) == 0:
	case r < 5:
		s := w.snapshots[w.IntN(len(w.snapshots))]
		w.note("a backup is restored: lineage of position %d", s.position)
		s.lineage = lineage
		w.data.restore(s)
		w.hidden = ""
	default:
		w.rollBack(w.snapshots[w.IntN(len(w.snapshots))])
	}
}

// rollBack puts older data back in a way that the engine does not show but by its position. Only processes that saw a part of
// what is lost can know, so there are no others until the floor is set. An operator's report is as good.
func (w *world) rollBack(s state) {
	var m meta
	if err := unmarshal(s.data["s/meta"], &m); err != nil {
		return
	}
	knows := func(p *process) bool {
		seen := p.space.known
		if seen.meta.ID != w.id() {
			return false
		}
		if seen.meta.ID == m.ID && w.blind {
			return numbersWentBack(seen.values[leasesEntry], []byte(s.data["s/leases"]))
		}
		if seen.meta.ID == m.ID {
			return seen.position > s.position
		}
		return seen.meta.Losses > m.Losses
	}
	if w.IntN(3) == 0 {
		w.data.restore(s)
		space, err := Open(context.Background(), conn{memory: w.data}, Config{Name: "s", Clock: func() time.Time { return time.Unix(w.now, 0) }})
		if err == nil {
			err = space.ReportLoss(context.Background(), "an old backup")
		}
		w.note("roll back to position %d, and report it: %v", s.position, err)
		return
	}
	if slices.ContainsFunc(w.processes, func(p *process) bool { return p.busy && !knows(p) }) {
		return
	}
	w.processes = slices.DeleteFunc(w.processes, func(p *process) bool { return !knows(p) }) // of the data that is still there
	w.late = nil                                                                             // the server was stopped
	w.data.restore(s)
	w.note("roll back to position %d", s.position)
	w.hidden = m.ID
}

func (p *process) clock() time.Time {
	if p.frozen {
		return time.Unix(p.off, 0)
	}
	return time.Unix(p.world.now+p.off, 0)
}

func (p *process) in(do func()) {
	p.busy = true
	do()
	p.busy = false
}

func (p *process) take() {
	w := p.world
	window := w.limits.WindowOf(p.clock()) + []int64{0, 0, 0, 1, 1, 2, 2, 3, 4, -1, -9}[w.IntN(11)]
	n := uint32(1 + w.IntN(2))
	w.note("take %d of %d for window %d", n, p.name, window-w.window0())
	p.in(func() {
		to := window + []int64{0, 0, 1, 3}[w.IntN(4)]
		leases, _ := p.space.Take(context.Background(), window, to, n)
		for _, lease := range leases {
			p.Add(lease)
		}
	})
}

// count takes numbers of the counter. After a loss a person sets it beyond those that were taken.
func (p *process) count() {
	w, n := p.world, 1+p.world.Int64N(3)
	w.note("count %d of %d", n, p.name)
	p.in(func() {
		first, err := p.space.Next(context.Background(), "c", n)
		if errors.Is(err, ErrCounter) || errors.Is(err, ErrNoCounter) {
			next := w.top
			w.depth += 10 // what a person says is of this moment
			defer func() { w.depth -= 10 }()
			err = p.space.Set(context.Background(), "c", next)
			w.note("(%d sets %d: %v)", p.name, next, err)
			if err == nil {
				first, err = p.space.Next(context.Background(), "c", n)
			}
		}
		if err != nil {
			return
		}
		w.note("(%d has numbers %d to %d)", p.name, first, first+n-1)
		for i := first; i < first+n; i++ {
			if w.numbers[i] {
				w.wrong = fmt.Sprintf("number %d is given twice", i)
			}
			w.numbers[i] = true
		}
	})
}

// call plays a call of the engine. Before it and before its answer others make moves, and messages get lost.
func (p *process) call(_ context.Context, c call) (Answer, error) {
	w := p.world
	w.meanwhile()
	fault := w.IntN(20)
	if fault == 0 {
		w.note("(%d gets no connection)", p.name)
		return Answer{}, errAway
	}
	if fault == 1 && c.put != nil {
		w.note("(a swap of %d is delayed)", p.name)
		w.late = append(w.late, c)
		return Answer{}, errAway
	}
	a := w.data.do(c)
	if w.counter {
		c, _ := decodeCounter("c", []byte(cmp.Or(w.data.data["s/c/c"], "{}")), "")
		w.top = max(w.top, c.Next)
	}
	if fault == 2 {
		w.note("(an answer to %d is lost)", p.name)
		return Answer{}, errAway
	}
	w.meanwhile()
	if w.IntN(4) == 0 {
		w.data.evidence(&a)
	}
	if w.blind {
		a.Position = 0
	}
	return a, nil
}

func (w *world) meanwhile() {
	if w.depth < 3 && w.IntN(4) == 0 {
		w.depth++
		w.move()
		w.depth--
	}
}

// Add implements Queue.
func (p *process) Add(l randflake.Lease) error {
	p.world.note("(%d has nodes %d to %d of window %d)", p.name, l.FirstNode, l.LastNode, p.world.limits.WindowOf(l.Start)-p.world.window0())
	p.leases = append(p.leases, &held{l})
	return nil
}

// Drop implements Queue.
func (p *process) Drop() { p.leases, p.copied = nil, false }

// Ready implements Queue.
func (p *process) Counts() (issued, waited uint64) { return 0, 0 }
func (p *process) Ready() error {
	if slices.ContainsFunc(p.leases, func(h *held) bool { return !p.clock().Before(h.Start) && p.clock().Before(h.End) }) {
		return nil
	}
	return randflake.ErrLeaseEnded
}

// OnRefusal implements Queue.
func (p *process) OnRefusal(func(error, bool)) {}

// use makes IDs in a second, with all nodes that the process has then.
func (p *process) use(second int64) {
	w := p.world
	for _, h := range p.leases {
		if p.copied || second < h.Start.Unix() || second >= h.End.Unix() {
			continue
		}
		for node := int64(h.FirstNode); node <= int64(h.LastNode); node++ {
			other := w.uses[[2]int64{node, second}]
			switch {
			case node >= int64(w.limits.Nodes):
				w.wrong = fmt.Sprintf("node %d is used, of %d", node, w.limits.Nodes)
			case other != nil && other != h:
				w.wrong = fmt.Sprintf("node %d is used twice in second %d", node, second-1800000000)
			}
			w.uses[[2]int64{node, second}] = h
		}
	}
}

// useUp makes IDs in all seconds that are left.
func (p *process) useUp() {
	now := p.clock().Unix()
	for _, h := range p.leases {
		for second := max(now, h.Start.Unix()); second < h.End.Unix(); second++ {
			p.use(second)
		}
	}
}

// copy makes a copy of a process with its memory, and the machine may say so.
func (p *process) copy() {
	q := *p
	q.name, q.copied = len(p.world.log), p.copied || p.world.IntN(2) == 0
	p.world.note("copy %d as %d, announced: %v", p.name, q.name, q.copied)
	q.space, _ = newSpace(conn{p.world.data, q.call}, Config{Name: "s", Clock: q.clock})
	q.space.known = p.space.known
	q.space.known.values = maps.Clone(p.space.known.values)
	q.leases = slices.Clone(p.leases)
	if q.copied { // what it has is the original's
		for i, h := range q.leases {
			q.leases[i] = &held{h.Lease}
		}
	}
	q.fit(p.loop.settings)
	q.loop.asked, q.loop.started = maps.Clone(p.loop.asked), p.loop.started
	p.world.processes = append(p.world.processes, &q)
}
