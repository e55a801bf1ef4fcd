package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// counterSets are sets of moves with counters. A counter with a rate is beside no backup that is newer than one that was
// restored, as docs/counters.md says.
var counterSets = setsOfMoves{
	{name: "counters", counts: true, moves: slices.Concat(handles(2, "relaxed", "strict"), takes(2, 1, 3), gives(2))},
	{name: "counters, replies", counts: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), lossy(2))},
	{name: "counters, strict", counts: true, moves: slices.Concat(handles(2, "relaxed", "strict"), takes(2, 1, 3), lossy(2))},
	{name: "counters, service", counts: true, moves: slices.Concat(handles(2, "asking"), takes(2, 1, 3), gives(2), lossy(2), times(70))},
	{name: "counters, copies", counts: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), copies(2))},
	{name: "counters, failover", counts: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), failovers())},
	{name: "counters, losses", counts: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), lossy(1), losses("backup", "restore", "fork"), first(2), advance())},
	{name: "counters, made anew", counts: true, anew: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), losses("restore"), advance())},
	{name: "counters, losses, service", counts: true, moves: slices.Concat(handles(2, "strict", "asking"), takes(2, 1, 3), gives(2), lossy(1), losses("backup", "restore"), first(2), advance())},
	{name: "counters, set back", counts: true, moves: slices.Concat(handles(2, "relaxed", "strict"), takes(2, 1, 3), gives(2), lossy(1), setBacks())},
	{name: "counters, extended", counts: true, end: 6, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), losses("backup", "restore"), advance(), extend())},
	{name: "rates, extended", counts: true, rate: 1, end: 40, moves: slices.Concat(handles(2, "relaxed"), takes(2, 30), gives(1), losses("backup", "restore"), times(1, 25), extend())},
	{name: "rates", counts: true, rate: 1, moves: slices.Concat(handles(2, "relaxed"), takes(2, 3, 30), gives(2), lossy(2), times(1, 25))},
	{name: "rates, losses", counts: true, rate: 1, moves: slices.Concat(handles(2, "relaxed"), takes(2, 30), gives(1), losses("backup", "restore"), first(2), times(1, 25), clocks(2, -3, 3))},

	{name: "counters, life", counts: true, end: 12, moves: slices.Concat(handles(2, "relaxed", "asking"), takes(2, 1, 3), gives(2), lossy(1), deletion(), imports(), extend())},
	{name: "counters, life, losses", counts: true, end: 12, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(2), losses("backup", "restore"), advance(), deletion(), imports(), extend())},
	{name: "counters, pruned", counts: true, dated: true, moves: slices.Concat(handles(2, "relaxed", "strict"), takes(2, 1, 3), gives(2), lossy(2), prune())},
	{name: "counters, pruned, losses", counts: true, dated: true, anew: true, moves: slices.Concat(handles(2, "relaxed"), takes(2, 1, 3), gives(1), lossy(1), losses("backup", "restore"), advance(), prune())},
	{name: "rates, pruned, losses", counts: true, dated: true, rate: 1, moves: slices.Concat(handles(2, "relaxed"), takes(2, 30), gives(1), losses("backup", "restore"), times(1, 25), prune())},
}

// counter returns the name of the counter.
func (s *set) counter() string {
	if s.dated {
		return "c/2024"
	}
	return "c"
}

// handles are processes with a handle on the counter.
func handles(processes int, kinds ...string) (moves []move) {
	for i := range processes {
		for _, kind := range kinds {
			moves = append(moves, move{fmt.Sprintf("open %d %s", i, kind), func(s *scene) bool {
				s.open(i, 0)
				return !s.players[i].counts() && s.with(i, func(p *player) { p.openCounter(kind) })
			}})
		}
	}
	return append(moves, kills(processes)...)
}

func takes(processes int, sizes ...int) (moves []move) {
	for i := range processes {
		for _, n := range sizes {
			moves = append(moves, move{fmt.Sprintf("take %d of %d", n, i), func(s *scene) bool {
				return s.counting(i, func(p *player) { s.take(p, n) })
			}})
		}
	}
	return moves
}

// gives are moves that give numbers back.
func gives(processes int) (moves []move) {
	for i := range processes {
		moves = append(moves,
			move{fmt.Sprint("close ", i), func(s *scene) bool { return s.counting(i, func(p *player) { s.closeCounter(i, p) }) }},
			move{fmt.Sprint("return ", i), func(s *scene) bool {
				return s.counting(i, func(p *player) { p.giveBack() })
			}})
	}
	return moves
}

// lossy are moves in which replies are lost, or swaps are late.
func lossy(processes int) (moves []move) {
	for i := range processes {
		for _, fault := range []string{"lose the reply", "delay"} {
			for what, do := range map[string]func(*scene, *player){
				"take 3 of": func(s *scene, p *player) { s.take(p, 3) },
				"return":    func(s *scene, p *player) { p.giveBack() },
			} {
				moves = append(moves, move{fmt.Sprintf("%s %d, and %s", what, i, fault), func(s *scene) bool {
					return s.counting(i, func(p *player) { p.fault = fault; do(s, p) })
				}})
			}
		}
	}
	slices.SortFunc(moves, func(a, b move) int { return strings.Compare(a.name, b.name) })
	return append(moves, move{"deliver", (*scene).deliver})
}

// failovers are moves of one process, during which the engine tells of another lineage once, and then the other process
// takes numbers. No data is lost.
func failovers() (moves []move) {
	for i := range 2 {
		moves = append(moves, move{fmt.Sprintf("return %d, during a failover back and forth, and meanwhile take 3 of the other", i), func(s *scene) bool {
			return s.players[1-i] != nil && s.players[1-i].counts() && s.counting(i, func(p *player) {
				p.fault, s.then = "fail over", func() { s.counting(1-i, func(p *player) { s.take(p, 3) }) }
				p.giveBack()
			})
		}})
	}
	return moves
}

// first are moves that put older data back of which only a process tells that has seen newer data, and so comes first.
func first(processes int) (moves []move) {
	for i := range processes {
		take := func(s *scene) bool { return s.counting(i, func(p *player) { s.take(p, 10) }) }
		moves = append(moves,
			move{fmt.Sprintf("restore files, and take 10 of %d", i), func(s *scene) bool {
				p, now := s.players[i], s.data.Snapshot()
				if p == nil || !p.counts() || s.backup.Lineage != now.Lineage {
					return false
				}
				seen := p.memory.space.Sighting()
				tells := seen.Meta.LossID == s.meta().LossID && seen.Lineage == now.Lineage && seen.Position > s.backup.Position
				return tells && s.restore(false) && take(s)
			}},
			move{fmt.Sprintf("put rows back, and take 10 of %d", i), func(s *scene) bool {
				return s.players[i] != nil && s.players[i].id == s.writer && s.putBack("default/c/") && take(s)
			}})
	}
	return moves
}

// advance is what an operator does after a loss.
func advance() []move {
	return []move{operator("advance", func(s *scene, counters *counter.Counters) error {
		_, err := counters.Advance(context.Background(), s.counter(), s.top+1)
		if errors.Is(err, counter.ErrNoCounter) {
			err = s.createAnew(counters)
		}
		return err
	})}
}

// operator is a move of a person, with a handle of its own.
func operator(name string, do func(*scene, *counter.Counters) error) move {
	return move{name, func(s *scene) bool {
		space, err := store.Open(context.Background(), s.data.Connect(), store.WithClock(func() time.Time { return time.Unix(s.now, 0) }))
		return err == nil && do(s, counter.On(space)) == nil
	}}
}

// createAnew creates the counter with a start beyond all numbers, by a word for the present.
func (s *scene) createAnew(counters *counter.Counters) error {
	_, err := counters.Create(context.Background(), s.counter(), counter.UnusedBefore(time.Unix(max(s.now, s.meta().Floor), 0)), counter.WithStart(s.top+1), counter.WithEnd(s.top+cmp.Or(s.end, 1e6)))
	return err
}

// deletion are moves that end the numbers of a counter, and begin it anew beyond them.
func deletion() []move {
	next := func(s *scene, counters *counter.Counters) int64 {
		info, _ := counters.Get(context.Background(), s.counter())
		return info.Next
	}
	return []move{
		operator("delete", func(s *scene, c *counter.Counters) error {
			return c.Delete(context.Background(), s.counter(), next(s, c))
		}),
		operator("create", func(s *scene, c *counter.Counters) error { return s.createAnew(c) }),
		operator("reset", func(s *scene, c *counter.Counters) error {
			_, err := c.Reset(context.Background(), s.counter(), next(s, c), s.top+1)
			return err
		}),
	}
}

// imports have the counter go on after numbers that another source gave.
func imports() []move {
	return []move{operator("import", func(s *scene, c *counter.Counters) error {
		_, err := c.Advance(context.Background(), s.counter(), s.top+3)
		if err == nil {
			s.given = append(s.given, s.top+1, s.top+2)
			s.top += 2
		}
		return err
	})}
}

// prune removes the counter, whose period is over for all but wrong clocks.
func prune() []move {
	return []move{operator("prune", func(s *scene, c *counter.Counters) error {
		_, err := c.Prune(context.Background(), "", time.Unix(s.now, 0))
		return err
	})}
}

// setBacks are what an operator does who advances a counter too far. No data is lost, so the store knows which numbers may
// be in use, and refuses the others.
func setBacks() []move {
	return []move{
		operator("advance by 5", func(s *scene, c *counter.Counters) error {
			_, err := c.Advance(context.Background(), "c", s.top+6)
			return err
		}),
		operator("set back", func(s *scene, c *counter.Counters) (err error) {
			for n := range s.top { // to the lowest number that is possible
				if _, err = c.SetBack(context.Background(), "c", n+1); err == nil {
					break
				}
			}
			return err
		}),
	}
}

// extend is what an operator does whose counter comes to its end.
func extend() []move {
	return []move{operator("extend", func(s *scene, c *counter.Counters) error {
		_, err := c.Extend(context.Background(), "c", 1e6)
		return err
	})}
}

func (p *player) counts() bool { return p.memory.relaxed != nil || p.memory.strict != nil }

// counting plays a move of a process with a handle, and lets that come to rest.
func (s *scene) counting(i int, do func(*player)) bool {
	return s.players[i] != nil && s.players[i].counts() && s.with(i, func(p *player) { do(p); p.rest() })
}

// rest waits until no goroutine of p is left, and takes its next attempt for due.
func (p *player) rest() {
	synctest.Wait()
	if p.memory.relaxed == nil {
		return
	}
	handle := reflect.ValueOf(p.memory.relaxed).Elem()
	for i := range handle.NumField() {
		if timer, ok := field(handle, i).Interface().(*time.Timer); ok && timer != nil {
			timer.Stop()
			field(handle, i).SetZero()
		}
	}
}

func (p *player) openCounter(kind string) {
	counters, m := counter.On(p.memory.space), p.memory
	options := []counter.Option{counter.WithRunLength(2, 3+17*p.scene.rate), counter.WithLogger(slog.New(slog.DiscardHandler)), counter.OrCreate()}
	if p.scene.dated { // as a series says
		options = append(options, counter.WithRate(p.scene.rate), counter.UnusedBefore(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)))
	}
	switch kind {
	case "asking": // it keeps no state of the counter itself
		p.asks = true
		counters = counter.From(counters, p.clock)
		fallthrough
	case "relaxed":
		m.relaxed, _ = counters.Open(context.Background(), p.scene.counter(), options...)
	case "strict":
		m.strict, _ = counters.OpenStrict(context.Background(), p.scene.counter(), options...)
	}
	p.rest()
}

// take has p give n numbers, or as many as there are.
func (s *scene) take(p *player, n int) {
	given := make([]int64, n)
	if p.memory.relaxed != nil {
		got := 0
		for range 3 { // it fetches a run in between
			more, _ := p.memory.relaxed.Fill(given[got:])
			got += more
			synctest.Wait()
		}
		given = given[:got]
	} else {
		got, _ := p.memory.strict.Fill(context.Background(), given)
		given = given[:got]
	}
	for _, number := range given {
		i, twice := slices.BinarySearch(s.given, number)
		if twice && !slices.Contains(s.doubled, number) {
			s.wrong = cmp.Or(s.wrong, fmt.Sprintf("number %d was given twice", number))
		}
		s.given = slices.Insert(s.given, i, number)
	}
}

func (p *player) giveBack() {
	if p.memory.relaxed != nil {
		p.memory.relaxed.Return(context.Background())
	}
}

func (s *scene) closeCounter(i int, p *player) {
	if p.memory.relaxed != nil {
		p.memory.relaxed.Close()
	}
	s.players[i] = nil
}

// left returns the numbers that p has left of its runs.
func (s *scene) left(p *player) []int64 {
	if p.memory.relaxed == nil {
		return nil
	}
	q, left := s.copied(p).wake(), make([]int64, 10)
	q.fault = "be cut off"
	n, _ := q.memory.relaxed.Fill(left)
	q.rest()
	return left[:n]
}

// noteTaken notes numbers that a call of p, or one whose reply p did not get, has taken.
func (s *scene) noteTaken(c storetest.Call, a store.Answer, p *player) {
	for _, e := range c.Put {
		if words := strings.Fields(string(e.Value)); a.Swapped && e.Value != nil && e.Name == "default/c/"+s.counter() {
			start, _ := strconv.ParseInt(words[1], 10, 64)
			position, _ := strconv.ParseInt(words[6], 10, 64)
			s.top, s.writer = max(s.top, start+position-1), 0
			if p != nil && !p.asks {
				s.writer = p.id
			}
		}
	}
}
