package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// leaseSets are explored one by one: together they would make the schedules short. A clock that is wrong by more than maxSkew
// is beside losses in "slow clocks" alone, as docs/leases.md says of it.
var leaseSets = setsOfMoves{
	{name: "copies", moves: slices.Concat(lives(2, 131072), calls(2), copies(2), times(7, 25, 70))},
	{name: "copies, replies", moves: slices.Concat(lives(2, 131072), renews(2), faults(1, "renew"), copies(2), times(25, 70))},
	{name: "copies, losses", moves: slices.Concat(lives(2, 131072), calls(2), copies(2), losses("backup", "restore"), times(25, 70))},
	{name: "copies, rows", moves: slices.Concat(acquires(1, 0, 131072), renews(2), copies(1)[:1], copies(2)[4:5], losses("backup", "put back"), times(70))},
	{name: "losses", moves: slices.Concat(lives(2, 131072), calls(2), losses("backup", "restore", "fork"), times(7, 25, 70), clocks(2, -3, 0, 3))},
	{name: "losses, skew", moves: slices.Concat(acquires(1, 3, 131072), acquires(2, -3, 131072)[1:], renews(2), losses("restore"), times(7, 70))},
	{name: "losses, replies", moves: slices.Concat(lives(2, 131072), calls(2), faults(2, "acquire", "renew"), losses("backup", "restore"), times(25), clocks(2, -3, 3))},
	{name: "losses, late renewals", moves: slices.Concat(acquires(2, 0, 131072), faults(1, "renew"), renews(1), losses("backup", "restore"), times(40))},
	{name: "losses, late acquisitions", moves: slices.Concat(acquires(2, 0, 131072), faults(1, "acquire"), losses("restore"), times(7))},
	{name: "failover, planned", moves: slices.Concat(lives(2, 131072), calls(2), losses("plan", "fail over", "backup", "restore"), times(7, 25, 70))},
	{name: "older files", moves: slices.Concat(lives(3, 65536), calls(3), losses("backup", "restore files"), times(7, 70))},
	{name: "older rows", moves: slices.Concat(lives(3, 65536, 32768), calls(3), losses("backup", "put back"), times(7, 70))},
	{name: "histories", moves: slices.Concat(lives(2, 131072), calls(2), losses("fork", "swap", "report"), times(70))},
	{name: "slow clocks", moves: slices.Concat(acquires(3, 0, 65536), renews(2), losses("restore", "restore files"), times(40), clocks(1, -40))},
	{name: "cells", moves: slices.Concat(cuts(2, 131072, 65536, 98304, 1000), times(57, 7))},
	{name: "merges", moves: slices.Concat(cuts(2, 65536), meanwhile(2, 98304), times(57))},
	{name: "rests", moves: slices.Concat(acquires(2, -3, 65536), acquires(3, 3, 98304)[2:], acquires(4, -3, 1000)[3:], renews(3), times(57))},
	{name: "cells, clocks", moves: slices.Concat(lives(2, 131072, 65536), renews(2), meanwhile(2, 98304)[:18], times(57), clocks(2, -70, 0, 70))},
	{name: "replies", moves: slices.Concat(lives(2, 131072), calls(2), faults(2, "acquire", "renew", "release"), times(7, 25, 70))},
	{name: "fast clock", moves: slices.Concat(lives(3, 32768), crashes(80), renewing(3, 20))},
	{name: "far clock", moves: slices.Concat(lives(3, 32768), crashes(500), renewing(3, 20))},
	{name: "clocks", moves: slices.Concat(lives(3, 65536), calls(3), times(7, 70), clocks(3, -500, -40, -3, 0, 3, 40, 500))},
}

func lives(processes int, sizes ...int) []move {
	return append(acquires(processes, 0, sizes...), kills(processes)...)
}

func acquires(processes int, off int64, sizes ...int) (moves []move) {
	for i := range processes {
		for _, nodes := range sizes {
			name := fmt.Sprintf("acquire %d of %d", nodes, i)
			if off != 0 {
				name += fmt.Sprintf(" at %+d s", off)
			}
			moves = append(moves, move{name, func(s *scene) bool { return s.acquire(i, nodes, off) }})
		}
	}
	return moves
}

func kills(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves, move{fmt.Sprint("kill ", i), func(s *scene) bool { return s.with(i, func(*player) { s.players[i] = nil }) }})
	}
	return moves
}

// cuts are lives of processes whose clocks are off, in which nodes are cut in other ways.
func cuts(processes int, sizes ...int) []move {
	return slices.Concat(acquires(processes, -maxSkew/2, sizes...), acquires(processes, maxSkew/2, sizes...), kills(processes), renews(processes))
}

// meanwhile are acquisitions, by a clock that is ahead, in the middle of which the other process does something.
func meanwhile(processes, nodes int) (moves []move) {
	for i := range processes {
		for calls := range 9 {
			during := func(what string, do func(*scene)) move {
				return move{fmt.Sprintf("acquire %d of %d at +3 s; after %d calls the other %s", nodes, i, calls, what), func(s *scene) bool {
					s.between, s.calls = func() { do(s) }, calls
					defer func() { s.between = nil }()
					return s.acquire(i, nodes, maxSkew/2) && s.between == nil
				}}
			}
			moves = append(moves,
				during("acquires 65536 at -3 s", func(s *scene) { s.acquire(1-i, 65536, -maxSkew/2) }),
				during("renews", func(s *scene) { s.with(1-i, s.renew) }))
		}
	}
	return moves
}

func calls(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves, move{fmt.Sprint("release ", i), func(s *scene) bool { return s.with(i, func(p *player) { s.release(i, p) }) }})
	}
	return append(moves, renews(processes)...)
}

func renews(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves, move{fmt.Sprint("renew ", i), func(s *scene) bool { return s.with(i, s.renew) }})
	}
	return moves
}

// faults are calls whose replies are lost, or that take effect when their callers have given up.
func faults(processes int, calls ...string) (moves []move) {
	for i := range processes {
		for _, fault := range []string{"lose the reply", "delay"} {
			do := map[string]func(*scene, *player){
				"acquire": func(s *scene, p *player) { s.getLease(p, 131072) },
				"renew":   func(s *scene, p *player) { s.renew(p) },
				"release": func(s *scene, p *player) { s.release(i, p) },
			}
			for _, call := range calls {
				moves = append(moves, move{fmt.Sprintf("%s %d, and %s", call, i, fault), func(s *scene) bool {
					if call == "acquire" {
						s.open(i, 0)
					}
					return s.with(i, func(p *player) { p.fault = fault; do[call](s, p) })
				}})
			}
		}
	}
	return append(moves, move{"deliver", (*scene).deliver})
}

func copies(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves,
			move{fmt.Sprint("image ", i), func(s *scene) bool { return s.with(i, s.takeImage) }},
			move{fmt.Sprint("resume as ", i), func(s *scene) bool { return s.resume(i, 0) }},
			move{fmt.Sprintf("resume as %d with a stale clock", i), func(s *scene) bool { return s.resume(i, s.taken-s.now) }})
	}
	return moves
}

// losses are moves that lose data, by name.
func losses(names ...string) (moves []move) {
	do := map[string]func(*scene) bool{
		"backup":        func(s *scene) bool { b := s.data.Snapshot(); s.backup = &b; return true },
		"restore":       func(s *scene) bool { return s.restore(true) },
		"restore files": func(s *scene) bool { return s.restore(false) },
		"put back":      func(s *scene) bool { return s.putBack("default/") },
		"report":        func(s *scene) bool { return s.report() },
		"plan": func(s *scene) bool {
			return s.operate(func(o *store.Space) error { _, err := o.PlanFailover(context.Background(), 2*time.Hour); return err })
		},
		"fail over": func(s *scene) bool {
			if s.lineage++; s.meta().Failover <= s.now {
				s.loses(false)
			}
			s.data.SetLineage(fmt.Sprint("copy ", s.lineage))
			return true
		},
	}
	for name, copied := range map[string]bool{"fork": true, "swap": false} {
		do[name] = func(s *scene) bool {
			now := s.data.Snapshot()
			defer func() { s.backup = &now }()
			return s.restore(copied)
		}
	}
	for _, name := range names {
		moves = append(moves, move{name, do[name]})
	}
	return moves
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
			moves = append(moves, move{fmt.Sprintf("clock of %d at %+d s", i, off), func(s *scene) bool {
				return s.with(i, func(p *player) { p.off = off })
			}})
		}
	}
	return moves
}

// crashes are lives of a process whose clock is ahead, and which is killed as soon as it has a lease.
func crashes(offs ...int64) (moves []move) {
	for _, off := range offs {
		moves = append(moves, move{fmt.Sprintf("crash at %+d s", off), func(s *scene) bool {
			const fast, nodes = 3, 32768
			known, held := false, map[uint32]bool{}
			for _, p := range s.players[:fast] {
				if p != nil && !p.over && s.now < p.end && s.record(p.held.FirstNode).Owner == p.held.Owner {
					held[p.held.FirstNode], known = true, known || p.renewed >= 2
				}
			}
			s.acquire(fast, nodes, off)
			if p := s.players[fast]; !p.lost {
				s.rob(held[p.held.FirstNode], known)
			}
			s.players[fast] = nil
			return true
		}})
	}
	return moves
}

// renewing has all processes but the last renew, and then time passes.
func renewing(processes int, d int64) []move {
	return []move{{fmt.Sprintf("all renew, and pass %d s", d), func(s *scene) bool {
		for i := range processes {
			s.with(i, s.renew)
		}
		s.pass(d)
		return true
	}}}
}

// rob notes that a clock that is ahead got nodes, which a live process may have held. Half a minute must pass until it gets
// others that are held, and it must get none of them once it can be known, because a process has renewed its lease twice
// since it got the first nodes.
func (s *scene) rob(held, known bool) {
	if held && (known || s.robbed > 0 && s.now < s.robbed+30) {
		s.wrong = cmp.Or(s.wrong, "nodes that are held go to a clock that is ahead, once more")
	}
	if s.ahead = true; held {
		s.robbed = s.now
	}
}

// A tenancy is what a keeper and its generator know of their lease.
type tenancy struct {
	held    lease.Record
	first   int64 // the first second of the lease in use
	end     int64 // the end of what the generator may use
	last    int64 // the newest second that it has used
	over    bool
	lost    bool        // or there was none yet
	renewed int         // how often since a clock that is ahead got nodes
	renewal lease.Token // of unknown outcome
	owner   lease.Token // of an acquisition of unknown outcome

	granted int   // the move that granted the lease, or renewed it
	reach   int64 // where the lease ended when data was lost after that
	owes    int   // how often it has to hear from the store until it repeats nothing of a copy of it
	repeats int64 // where what it repeats ends nevertheless, because data was lost
}

func (p *player) describe() string {
	return fmt.Sprintln(p.held, min(p.renewed, 2), p.first, p.end, p.last, p.over, p.lost, p.renewal, p.owner, p.owner.Second(), p.owes, p.repeats, p.reach)
}

// A use is of all nodes and seconds in it, both included.
type use struct {
	who         int
	held        lease.Token // the change that it knows
	stale       bool        // by a copy with the clock of its image
	copied      bool        // by a process that was copied and has not heard of it yet
	granted     int         // of the tenancy
	reach       int64
	first, last uint32
	from, to    int64
}

// acquire starts process i, or gets the one that has lost its lease another.
func (s *scene) acquire(i, nodes int, off int64) bool {
	s.open(i, off)
	return s.players[i] != nil && s.players[i].lost && s.with(i, func(p *player) { s.getLease(p, nodes) })
}

func (s *scene) getLease(p *player, nodes int) {
	if !p.lost {
		return
	}
	before, owes := p.owner, 0
	if p.owner = protocol.Again(p.owner, p.clock()); p.owner == before {
		owes = p.owes // a copy may get the same lease
	}
	held, err := p.memory.leases.Acquire(context.Background(), lease.Request{Nodes: nodes, TTL: maxTTL * time.Second, Owner: p.owner})
	if err == nil || errors.Is(err, lease.ErrInvalidRequest) {
		p.owner = lease.Token{}
	}
	again := p.held.FirstNode <= held.LastNode && held.FirstNode <= p.held.LastNode && held.Start <= p.last
	if err != nil || again && p.held.Version > 0 { // then the generator refuses it
		return
	}
	p.tenancy = tenancy{held: held, first: held.Start, end: held.HighWater + 1, last: p.last, granted: s.step, reach: math.MaxInt64, owes: owes, repeats: math.MaxInt64}
}

func (p *player) lookUp() bool {
	found, err := p.memory.leases.Lookup(context.Background(), p.held)
	if err == nil && (found.Change == p.renewal || p.scene.credulous) {
		p.held, p.renewal = found, lease.Token{}
		return true
	}
	return false
}

// renew does what a keeper does, see its tryRenew.
func (s *scene) renew(p *player) {
	if p.lost {
		return
	}
	again := p.renewal != lease.Token{}
	if again {
		p.lookUp()
	}
	if p.renewal == (lease.Token{}) {
		p.renewal, again = lease.NewToken(p.clock()), false
	}
	renewOnce := func() error {
		rec, err := p.memory.leases.Renew(context.Background(), p.held, lease.Renewal{TTL: maxTTL * time.Second, Token: p.renewal})
		if err == nil {
			p.held, p.renewal = rec, lease.Token{}
			if s.ahead {
				p.renewed++
			}
		}
		return err
	}
	err := renewOnce()
	if again && errors.Is(err, lease.ErrLost) && p.lookUp() {
		p.renewal = lease.NewToken(p.clock())
		err = renewOnce()
	}
	if !errors.Is(err, errTimeout) && p.repeats == math.MaxInt64 {
		p.owes = max(p.owes-1, 0)
	}
	if p.end <= p.held.HighWater {
		p.granted, p.reach = s.step, math.MaxInt64
	}
	if r := s.record(p.held.FirstNode); errors.Is(err, lease.ErrLost) && r.Owner != p.held.Owner && r.LastNode == p.held.LastNode && r.HighWater >= p.held.Start {
		p.reach = min(p.reach, p.last) // it was told who has its nodes now
	}
	p.end = max(p.end, p.held.HighWater+1)
	var lost *lease.LostError
	if errors.As(err, &lost) && !s.stubborn {
		p.lost, p.renewal = true, lease.Token{}
		p.over = p.over || !lost.Spares(p.end-1)
	}
}

// release does what a keeper does, see its giveBack.
func (s *scene) release(i int, p *player) {
	for range 2 {
		if p.lost {
			break
		}
		err := p.memory.leases.Release(context.Background(), p.held, time.Unix(max(p.last, p.first-1), 0))
		p.lost = err == nil || errors.Is(err, lease.ErrLost) && (p.renewal == lease.Token{} || !p.lookUp())
	}
	s.players[i] = nil
}

// takeImage takes an image of a process. Until both have tried to renew they share a lease; a renewal of unknown outcome
// both may take for their own, and then it takes twice as long. What is left of a run of numbers both give.
func (s *scene) takeImage(p *player) {
	p.owes = max(p.owes, 1)
	if p.granted < s.lost {
		p.repeats = min(p.repeats, p.end-1)
	}
	if p.renewal != (lease.Token{}) {
		p.owes = 2
	}
	s.doubled = append(s.doubled, s.left(p)...)
	s.image, s.taken = s.copied(p), s.now
}

// use has the generator of p use the seconds of its clock, as far as its lease goes.
func (s *scene) use(p *player, from, to int64) {
	from, to = max(from, p.last+1, p.first), min(to, p.end-1)
	if from > to || p.over {
		return
	}
	p.last = to
	u := use{p.id, p.held.Change, p.stale, p.owes > 0 && from <= p.repeats, p.granted, p.reach, p.held.FirstNode, p.held.LastNode, from, to}
	for _, v := range s.uses {
		unseen := (u.stale || v.stale) && u.held == v.held // so nothing in the store shows that there are two
		apart := unseen || u.who == v.who || v.last < u.first || u.last < v.first || v.to < from || to < v.from
		if !apart && !u.copied && !v.copied && !s.excused(u, v) {
			s.wrong = cmp.Or(s.wrong, fmt.Sprintf("second %+d of nodes %d to %d has two users", max(from, v.from)-s.now, max(u.first, v.first), min(u.last, v.last)))
		}
	}
	s.uses = append(s.uses, u)
}

func (s *scene) describeUses(b *strings.Builder) {
	for _, u := range s.uses {
		if u.to > s.now-4*maxTTL {
			fmt.Fprintf(b, "id%d %s %v %v %d %d %d %d\n", u.who, u.held, u.stale, u.copied, u.first, u.last, u.from, u.to)
			if len(s.blind) > 0 {
				fmt.Fprintln(b, u.granted, u.reach)
			}
		}
	}
	fmt.Fprintln(b, s.blind)
}

// A blindness is the time from the move that lost data up to the first call of a process that can tell. Leases that are
// granted or renewed meanwhile may share seconds with older ones, up to where those ended then, or to when their holders see
// who else has their nodes.
type blindness struct{ from, to int }

func (s *scene) excused(a, b use) bool {
	if a.granted > b.granted {
		a, b = b, a
	}
	return slices.ContainsFunc(s.blind, func(l blindness) bool {
		return a.granted < l.from && l.from <= b.granted && b.granted < l.to && min(a.to, b.to) <= a.reach
	})
}

// loses notes that data was lost, which may not show to everybody.
func (s *scene) loses(hidden bool) {
	s.lost = s.step
	if hidden {
		s.blind = append(s.blind, blindness{s.step, math.MaxInt})
	}
	for _, p := range append(s.players[:], s.image) {
		if p != nil {
			p.reach = min(p.reach, p.end-1)
		}
		if p != nil && p.owes > 0 {
			p.repeats = min(p.repeats, p.end-1)
		}
	}
}

// hear notes that p has called the store. If it was told of a loss then everybody is. A floor that it has set may be too
// low, if its clock is slow and it did not know of anything newer.
func (s *scene) hear(p *player, told bool, before *store.Meta) {
	for i := range s.blind {
		if told {
			s.blind[i].to = min(s.blind[i].to, s.step)
		}
	}
	latest := max(s.now+p.off, p.memory.space.Sighting().Newest)
	if s.meta().LossID != before.LossID && s.now-latest > maxSkew {
		s.blind = append(s.blind, blindness{s.lost, math.MaxInt})
	}
}

// tells reports whether the data, as it is, shows to a process that some was lost.
func (s *scene) tells(p *player) bool {
	now, m, seen := s.data.Snapshot(), s.meta(), p.memory.space.Sighting()
	switch {
	case m.Lineage != now.Lineage:
		return true
	case m.LossID != seen.Meta.LossID:
		return m.Losses <= seen.Meta.Losses || m.Floor < seen.Known+maxTTL && seen.Known <= s.now+p.off+maxSkew
	case now.Lineage == p.lineage && now.Position < p.position, m.Changes < seen.Meta.Changes, m.Changes == seen.Meta.Changes && fmt.Sprint(*m) != fmt.Sprint(*seen.Meta):
		return true
	}
	return false
}

// olderRecord reports whether the record of p's lease is older than the lease.
func (s *scene) olderRecord(p *player) bool {
	r := s.record(p.held.FirstNode)
	older := r.Version < p.held.Version || r.Version == p.held.Version && r.Change != p.held.Change
	return older && !p.lost && p.held.Start >= s.meta().Floor
}

// record returns the stored record of the range that begins with node first.
func (s *scene) record(first uint32) (r lease.Record) {
	for _, e := range entriesOf(s.data, fmt.Sprintf("default/n/%05x", first)) {
		var owner, change string
		fmt.Sscan(string(e.Value), new(int64), &r.FirstNode, &r.LastNode, &owner, &change, &r.Changed, &r.Version, &r.Start, &r.HighWater)
		r.Owner.UnmarshalText([]byte(owner))
		r.Change.UnmarshalText([]byte(change))
	}
	return r
}

// report has an operator report a loss.
func (s *scene) report() bool {
	s.lost = cmp.Or(s.lost, s.step)
	return s.operate(func(o *store.Space) error { return o.ReportLoss(context.Background(), "an operator says so") })
}

// operate has an operator use a handle of his own.
func (s *scene) operate(do func(*store.Space) error) bool {
	space, err := store.Open(context.Background(), s.data.Connect(), store.WithClock(func() time.Time { return time.Unix(s.now, 0) }))
	return err == nil && do(space) == nil
}
