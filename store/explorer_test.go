package store_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var explore = flag.Duration("explore", 2*time.Second, "how long TestExplore explores each set of moves")

// TestExplore plays every schedule of moves up to a length, and then random ones that are far longer, on the real code of
// leases above an engine in memory. No second of a node may have two users, but for what a copy of a process and its
// original use until they hear from the store. For a night: make explore EXPLORE=2h
func TestExplore(t *testing.T) {
	for name, moves := range moveSets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &explorer{moves: moves, end: time.Now().Add(*explore)}
			length := e.exhaust(newScene(t))
			schedules := e.schedules
			e.wander(t)
			if e.found != nil {
				t.Fatal(e.found)
			}
			t.Logf("all schedules of %d moves: %d, %d states; and %d random ones of %d moves", length, schedules, len(e.met), e.schedules-schedules, wandering)
		})
	}
}

// TestExploreFindsBugs is the negative control: an engine that swaps what it should not.
func TestExploreFindsBugs(t *testing.T) {
	for _, bug := range []storetest.Bug{storetest.IgnoresFirst, storetest.IgnoresValues} {
		e := &explorer{moves: moveSets["merges"], end: time.Now().Add(time.Minute)}
		s := newScene(t)
		s.bug = bug
		if e.exhaust(s); e.found == nil {
			t.Errorf("%s: not found in %d schedules", bug, e.schedules)
		}
	}
}

// What the scenes have: leases of a minute, clocks that may differ by six seconds.
const (
	maxTTL, maxSkew = 60, 6
	wandering       = 60 // the length of a random schedule
)

// A move is one step of a schedule. It reports whether there was anything to do.
type move struct {
	name string
	do   func(*scene) bool
}

// moveSets are explored one by one: together they would make the schedules short. A clock that is wrong by more than
// maxSkew is beside losses in none, as docs/leases.md says of it.
var moveSets = map[string][]move{
	"copies":  slices.Concat(lives(2, 131072), calls(2), copies(2), times(7, 25, 70)),
	"losses":  slices.Concat(lives(2, 131072), calls(2), losses(), times(7, 25, 70), clocks(2, 3)),
	"cells":   slices.Concat(cuts(2, 131072, 65536, 98304, 1000), times(57, 7)),
	"merges":  slices.Concat(cuts(2, 65536), meanwhile(2, 98304), times(57)),
	"replies": slices.Concat(lives(2, 131072), calls(2), faults(2), copies(2), times(7, 25, 70)),
	"clocks":  slices.Concat(lives(3, 65536), calls(3), times(7, 70), clocks(3, 3, 40, 500)),
}

func lives(processes int, sizes ...int) (moves []move) {
	for i := range processes {
		for _, nodes := range sizes {
			moves = append(moves, move{fmt.Sprintf("acquire %d of %d", nodes, i), func(s *scene) bool { return s.acquire(i, nodes) }})
		}
		moves = append(moves, move{fmt.Sprint("kill ", i), func(s *scene) bool { return s.with(i, func(*player) { s.players[i] = nil }) }})
	}
	return moves
}

// cuts are lives of processes whose clocks are off, in which nodes are cut in other ways.
func cuts(processes int, sizes ...int) (moves []move) {
	for i := range processes {
		for _, nodes := range sizes {
			for _, off := range []int64{-maxSkew / 2, maxSkew / 2} {
				moves = append(moves, move{fmt.Sprintf("acquire %d of %d at %+d s", nodes, i, off), func(s *scene) bool {
					s.offs[i] = off
					return s.acquire(i, nodes)
				}})
			}
		}
		moves = append(moves,
			move{fmt.Sprint("kill ", i), func(s *scene) bool { return s.with(i, func(*player) { s.players[i] = nil }) }},
			move{fmt.Sprint("renew ", i), func(s *scene) bool { return s.with(i, s.renew) }})
	}
	return moves
}

// meanwhile are acquisitions, by a clock that is ahead, in the middle of which the other process does something.
func meanwhile(processes, nodes int) (moves []move) {
	for i := range processes {
		for calls := range 9 {
			during := func(what string, do func(*scene)) move {
				return move{fmt.Sprintf("acquire %d of %d at +3 s; after %d calls the other %s", nodes, i, calls, what), func(s *scene) bool {
					s.between, s.calls, s.offs[i] = func() { do(s) }, calls, maxSkew/2
					defer func() { s.between = nil }()
					return s.acquire(i, nodes) && s.between == nil
				}}
			}
			moves = append(moves,
				during("acquires 65536 at -3 s", func(s *scene) { s.offs[1-i] = -maxSkew / 2; s.acquire(1-i, 65536) }),
				during("renews", func(s *scene) { s.with(1-i, s.renew) }))
		}
	}
	return moves
}

func calls(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves,
			move{fmt.Sprint("renew ", i), func(s *scene) bool { return s.with(i, s.renew) }},
			move{fmt.Sprint("release ", i), func(s *scene) bool { return s.with(i, func(p *player) { s.release(i, p) }) }})
	}
	return moves
}

func faults(processes int) (moves []move) {
	for i := range processes {
		for _, fault := range []string{"lose the reply", "delay"} {
			moves = append(moves, move{fmt.Sprintf("%s of a renewal of %d", fault, i), func(s *scene) bool {
				return s.with(i, func(p *player) { p.fault = fault; s.renew(p); p.fault = "" })
			}})
		}
	}
	return append(moves, move{"deliver", func(s *scene) bool {
		for _, c := range s.late {
			c.On(context.Background(), s.data.Connect())
		}
		defer func() { s.late = nil }()
		return len(s.late) > 0
	}})
}

func copies(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves,
			move{fmt.Sprint("image ", i), func(s *scene) bool {
				return s.with(i, func(p *player) { s.image, s.taken, s.heard[p.id] = s.copied(p), s.now, false })
			}},
			move{fmt.Sprint("resume as ", i), func(s *scene) bool { return s.resume(i, 0) }},
			move{fmt.Sprintf("resume as %d with a stale clock", i), func(s *scene) bool { return s.resume(i, s.taken-s.now) }})
	}
	return moves
}

func losses() []move {
	return []move{
		{"backup", func(s *scene) bool { b := s.data.Snapshot(); s.backup = &b; return true }},
		{"restore", func(s *scene) bool { return s.restore(true) }},
		{"restore, and let a process that saw more look first", func(s *scene) bool {
			i := slices.IndexFunc(s.players[:], func(p *player) bool { return p != nil && p.newest == s.newest })
			if i < 0 || !s.restore(false) {
				return false
			}
			s.players[i].space.Read(context.Background(), nil, store.Page{})
			return true
		}},
		{"fork", func(s *scene) bool {
			now := s.data.Snapshot()
			defer func() { s.backup = &now }()
			return s.restore(true)
		}},
	}
}

func times(steps ...int64) (moves []move) {
	for _, d := range steps {
		moves = append(moves, move{fmt.Sprintf("pass %d s", d), func(s *scene) bool { s.pass(d); return true }})
	}
	return moves
}

func clocks(processes int, offs ...int64) (moves []move) {
	for i := range processes {
		for _, off := range offs {
			for _, d := range []int64{-off, 0, off} {
				moves = append(moves, move{fmt.Sprintf("clock of %d at %+d s", i, d), func(s *scene) bool {
					return s.with(i, func(p *player) { p.off = d })
				}})
			}
		}
	}
	return moves
}

// A scene is the state of the data, of the processes and of the time.
type scene struct {
	now     int64
	data    *storetest.Memory
	bug     storetest.Bug // of the engine, or ""
	backup  *storetest.Snapshot
	lineage int
	players [3]*player
	image   *player // of a process
	taken   int64   // when
	late    []storetest.Call
	uses    []use
	heard   map[int]bool // the processes that the store has answered since they were copied
	newest  int          // counts answers
	offs    [3]int64     // of the clocks of processes that start
	between func()       // is called once, before one of the next calls of the engine
	calls   int          // that come before it
	wrong   string
}

// A player is a process: its handles, and what its keeper and its generator would do. The generator makes IDs all the time.
type player struct {
	scene  *scene
	id     int
	off    int64 // of its clock
	space  *store.Space
	leases lease.Source
	newest int // the newest answer that it got

	held    lease.Record
	first   int64 // the first second of the lease in use
	end     int64 // the end of what the generator may use
	last    int64 // the newest second that it has used
	over    bool
	lost    bool
	renewal lease.Token // of unknown outcome
	fault   string
}

// A use is of all nodes and seconds in it, both included.
type use struct {
	who         int
	copied      bool // by a process that was copied and had not heard from the store since
	first, last uint32
	from, to    int64
}

func newScene(t *testing.T) *scene {
	s := &scene{now: noon.Unix(), data: storetest.NewMemory(), heard: map[int]bool{}}
	limits := store.Limits{MaxTTL: maxTTL * time.Second, MaxSkew: maxSkew * time.Second}
	space, err := store.Create(t.Context(), s.data.Connect(), store.ForNewSecret(), store.WithLimits(limits), store.WithClock(func() time.Time { return time.Unix(s.now, 0) }))
	if err != nil {
		t.Fatal(err)
	}
	space.Close()
	return s
}

// copy returns a scene of its own that goes on from s.
func (s *scene) copy() *scene {
	c := *s
	c.data = storetest.NewMemory()
	c.data.Restore(s.data.Snapshot())
	c.uses, c.late = slices.Clone(s.uses), slices.Clone(s.late)
	c.heard = map[int]bool{}
	for id, heard := range s.heard {
		c.heard[id] = heard
	}
	for i, p := range s.players {
		if p != nil {
			c.players[i] = c.copied(p)
		}
	}
	if s.image != nil {
		c.image = c.copied(s.image)
	}
	return &c
}

// copied returns a copy of a process for this scene.
func (s *scene) copied(p *player) *player {
	q := *p
	q.scene = s
	q.space = p.space.Clone(q.engine(), q.clock)
	q.leases = lease.On(q.space)
	return &q
}

func (p *player) clock() time.Time { return time.Unix(p.scene.now+p.off, 0) }

var errTimeout = errors.New("timeout")

// engine returns the process's connection.
func (p *player) engine() store.Engine {
	engine := p.scene.data.Connect()
	if p.scene.bug != "" {
		engine = storetest.Plant(engine, p.scene.bug)
	}
	return storetest.Intercept(engine, func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		if s := p.scene; s.between != nil {
			if s.calls--; s.calls < 0 {
				between := s.between
				s.between = nil
				between()
			}
		}
		fault := ""
		if c.Swap {
			fault, p.fault = p.fault, ""
		}
		if fault == "delay" {
			p.scene.late = append(p.scene.late, c)
			return store.Answer{}, errTimeout
		}
		a, err := c.On(ctx, e)
		if fault != "" {
			return store.Answer{}, errTimeout
		}
		p.scene.newest++
		p.newest = p.scene.newest
		return a, err
	})
}

// with plays a move of process i, if there is one.
func (s *scene) with(i int, do func(*player)) bool {
	if s.players[i] == nil {
		return false
	}
	do(s.players[i])
	return true
}

// acquire starts process i, or gets the one that has lost its lease another.
func (s *scene) acquire(i, nodes int) bool {
	p := s.players[i]
	if p != nil && !p.lost {
		return false
	}
	if p == nil {
		s.newest++
		p = &player{scene: s, id: s.newest, off: s.offs[i]}
		space, err := store.Open(context.Background(), p.engine(), store.WithClock(p.clock))
		if err != nil {
			return false
		}
		p.space, p.leases = space, lease.On(space)
	}
	held, err := p.leases.Acquire(context.Background(), lease.Request{Nodes: nodes, TTL: maxTTL * time.Second})
	if err != nil {
		return errors.Is(err, lease.ErrNoRange) && s.players[i] == p
	}
	if p.held.FirstNode <= held.LastNode && held.FirstNode <= p.held.LastNode && held.Start <= p.last {
		return false // the generator refuses it
	}
	p.held, p.first, p.end, p.over, p.lost, p.renewal = held, held.Start, held.HighWater+1, false, false, lease.Token{}
	s.players[i], s.heard[p.id] = p, true
	return true
}

// renew does what a keeper does, see its tryRenew.
func (s *scene) renew(p *player) {
	if p.lost {
		return
	}
	ctx := context.Background()
	again := p.renewal != lease.Token{}
	lookUp := func() bool {
		found, err := p.leases.Lookup(ctx, p.held)
		if err == nil && found.Change == p.renewal {
			p.held, p.renewal = found, lease.Token{}
			return true
		}
		return false
	}
	if again {
		lookUp()
	}
	if p.renewal == (lease.Token{}) {
		p.renewal, again = lease.NewToken(p.clock()), false
	}
	renewOnce := func() error {
		rec, err := p.leases.Renew(ctx, p.held, lease.Renewal{TTL: maxTTL * time.Second, Token: p.renewal})
		if err == nil {
			p.held, p.renewal = rec, lease.Token{}
		}
		return err
	}
	err := renewOnce()
	if again && errors.Is(err, lease.ErrLost) && lookUp() {
		p.renewal = lease.NewToken(p.clock())
		err = renewOnce()
	}
	s.heard[p.id] = s.heard[p.id] || !errors.Is(err, errTimeout)
	p.end = max(p.end, p.held.HighWater+1)
	var lost *lease.LostError
	if errors.As(err, &lost) {
		p.lost, p.renewal = true, lease.Token{}
		p.over = p.over || !lost.Spares(p.end-1)
	}
}

func (s *scene) release(i int, p *player) {
	if !p.lost {
		p.leases.Release(context.Background(), p.held, time.Unix(max(p.last, p.first-1), 0))
	}
	s.players[i] = nil
}

// resume starts the image as process i, with a clock that is off.
func (s *scene) resume(i int, off int64) bool {
	if s.image == nil || s.players[i] != nil || s.image.renewal != (lease.Token{}) || s.now-s.taken > 2*maxTTL {
		return false
	}
	p := s.copied(s.image)
	s.newest++
	p.id, p.off = s.newest, s.image.off+off
	s.players[i] = p
	return true
}

// restore puts the backup in the place of the data, as a copy or as files that were put back.
func (s *scene) restore(copied bool) bool {
	if s.backup == nil {
		return false
	}
	b := *s.backup
	if copied {
		s.lineage++
		b.Lineage = fmt.Sprint("copy ", s.lineage)
	}
	now := s.data.Snapshot()
	s.data.Restore(b)
	return copied || b.Lineage == now.Lineage && b.Position < now.Position
}

// pass lets time pass, while generators make IDs in each second.
func (s *scene) pass(d int64) {
	for _, p := range s.players {
		if p != nil {
			s.use(p, s.now+p.off+1, s.now+p.off+d)
		}
	}
	s.now += d
}

// use has the generator of p use the seconds of its clock, as far as its lease goes.
func (s *scene) use(p *player, from, to int64) {
	from, to = max(from, p.last+1, p.first), min(to, p.end-1)
	if from > to || p.over {
		return
	}
	p.last = to
	for _, u := range s.uses {
		apart := u.who == p.id || u.last < p.held.FirstNode || p.held.LastNode < u.first || u.to < from || to < u.from
		if !apart && !u.copied && s.heard[p.id] {
			s.wrong = cmp.Or(s.wrong, fmt.Sprintf("second %+d of nodes %d to %d has two users", max(from, u.from)-s.now, max(u.first, p.held.FirstNode), min(u.last, p.held.LastNode)))
		}
	}
	s.uses = append(s.uses, use{p.id, !s.heard[p.id], p.held.FirstNode, p.held.LastNode, from, to})
}

// play returns the scene after a move, or nil if there was nothing to do.
func (s *scene) play(m move) *scene {
	n := s.copy()
	if !m.do(n) {
		return nil
	}
	for _, p := range n.players {
		if p != nil {
			n.use(p, n.now+p.off, n.now+p.off)
		}
	}
	return n
}

var (
	seconds = regexp.MustCompile(`\b17\d{8}\b`)
	tokens  = regexp.MustCompile(`\b([0-9a-f]{32}|[A-Z2-7]{26})\b`)
)

// text describes the scene: the same for two of which the same can be played on.
func (s *scene) text() string {
	var b strings.Builder
	b.WriteString(contents(s.data))
	if s.backup != nil {
		backup := storetest.NewMemory()
		backup.Restore(*s.backup)
		fmt.Fprintln(&b, contents(backup), s.backup.Lineage == s.data.Snapshot().Lineage)
	}
	for _, p := range append(s.players[:], s.image) {
		if p != nil {
			fmt.Fprintf(&b, "%d %v %v %d %d %d %v %v %s %s\n", p.id, p.off, p.held, p.first, p.end, p.last, p.over, p.lost, p.renewal, p.space.Seen())
			fmt.Fprintln(&b, s.heard[p.id], p.newest == s.newest)
		}
	}
	fmt.Fprintln(&b, s.late, s.taken)
	for _, u := range s.uses {
		if u.to > s.now-4*maxTTL {
			fmt.Fprintln(&b, u)
		}
	}
	text := seconds.ReplaceAllStringFunc(b.String(), func(n string) string {
		second, _ := strconv.ParseInt(n, 10, 64)
		return fmt.Sprint(max(second-s.now, -10*maxTTL))
	})
	known := map[string]int{}
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		if known[token] == 0 {
			known[token] = len(known) + 1
		}
		return fmt.Sprint("token ", known[token])
	})
}

// contents returns the entries as text, without receipts and the lineage, which are told by what they do.
func contents(data *storetest.Memory) string {
	var b strings.Builder
	answer, _ := data.Connect().Read(context.Background(), nil, store.Page{To: "~", Limit: store.MaxPage})
	for _, entry := range answer.Page {
		if !strings.HasPrefix(entry.Name, "default/a/") {
			fmt.Fprintf(&b, "%s %s\n", entry.Name, entry.Value)
		}
	}
	return b.String()
}

// An explorer plays schedules, until one has a result that must not be.
type explorer struct {
	moves     []move
	end       time.Time
	met       map[string]int // how many moves were played from states
	schedules int
	found     error
}

// exhaust plays all schedules of one move from s, of two and so on, for half of the time, and returns how many moves they
// had.
func (e *explorer) exhaust(s *scene) (length int) {
	half := time.Now().Add(time.Until(e.end) / 2)
	for e.found == nil && time.Now().Before(half) {
		e.met = map[string]int{}
		if !e.from(s, nil, length+1, half) {
			return length
		}
		length++
	}
	return length
}

// from plays all schedules of n moves from s, unless the time ends before.
func (e *explorer) from(s *scene, played []string, n int, end time.Time) bool {
	for _, m := range e.moves {
		next := s.play(m)
		if next == nil {
			continue
		}
		e.schedules++
		schedule := append(slices.Clone(played), m.name)
		if e.found = next.check(schedule); e.found != nil || time.Now().After(end) {
			return false
		}
		if n == 1 {
			continue
		}
		if state := next.text(); e.met[state] >= n-1 {
			continue
		} else if e.met[state] = n - 1; !e.from(next, schedule, n-1, end) {
			return false
		}
	}
	return true
}

// wander plays random schedules until the time ends.
func (e *explorer) wander(t *testing.T) {
	for seed := uint64(0); e.found == nil && time.Now().Before(e.end); seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		s, played := newScene(t), []string(nil)
		for len(played) < wandering && e.found == nil {
			m := e.moves[random.IntN(len(e.moves))]
			if next := s.play(m); next != nil {
				s, played = next, append(played, m.name)
				e.found = s.check(played)
			}
		}
		e.schedules++
	}
}

// check returns an error, with a test that can be pasted, if a second has two users, or if there is a floor though no data
// was lost.
func (s *scene) check(schedule []string) error {
	if s.backup == nil && strings.Contains(contents(s.data), `"floor"`) {
		s.wrong = cmp.Or(s.wrong, "a floor was set, and nothing was lost")
	}
	if s.wrong == "" {
		return nil
	}
	return fmt.Errorf("%s:\n\treplay(t, %#v...)", s.wrong, schedule)
}

// replay plays a schedule that was found, with a choice of cells that may be another one.
func replay(t *testing.T, schedule ...string) {
	s := newScene(t)
	for _, name := range schedule {
		for _, moves := range moveSets {
			if i := slices.IndexFunc(moves, func(m move) bool { return m.name == name }); i >= 0 {
				s = cmp.Or(s.play(moves[i]), s)
				break
			}
		}
	}
	if err := s.check(schedule); err != nil {
		t.Error(err)
	}
}

// TestReplayed has schedules that once gave a second two users.
func TestReplayed(t *testing.T) {
	replay(t, "acquire 131072 of 1", "pass 25 s", "image 1", "renew 1", "kill 1", "pass 70 s", "acquire 131072 of 0", "resume as 1 with a stale clock", "renew 1", "pass 25 s")
	replay(t, "acquire 98304 of 0 at -3 s", "pass 57 s", "kill 0", "acquire 65536 of 0 at +3 s", "acquire 65536 of 1 at -3 s")
}
