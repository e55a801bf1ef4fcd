package store_test

import (
	"cmp"
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/store/storetest"
)

var explore = flag.Duration("explore", 300*time.Millisecond, "how long TestExplore explores each set of moves")

// TestExplore plays every schedule of moves up to a length, and then random ones that are far longer, on the real code of
// leases and counters above an engine in memory. No second of a node may have two users, and no number may be given twice,
// but for what docs/leases.md and docs/counters.md except. For a night: make explore EXPLORE=2h
func TestExplore(t *testing.T) {
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			exploration(t, *explore, func(t *testing.T, e *explorer) {
				length := e.exhaust(newScene(t, set))
				schedules := e.schedules
				e.wander(t, set)
				if e.found != nil {
					t.Fatal(e.found)
				}
				t.Logf("all schedules of %d moves: %d, %d states; and %d random ones of %d moves", length, schedules, len(e.met), e.schedules-schedules, wandering)
			})
		})
	}
}

// TestExploreFindsBugs is the negative control: engines that break their word, and processes that do what they should not.
func TestExploreFindsBugs(t *testing.T) {
	for name, c := range map[string]struct {
		set   string
		plant func(*set)
	}{
		"meta ignored":       {"merges", func(s *set) { s.bug = storetest.IgnoresFirst }},
		"values ignored":     {"merges", func(s *set) { s.bug = storetest.IgnoresValues }},
		"no position":        {"older files", func(s *set) { s.bug = storetest.NoPosition }},
		"copies trusted":     {"losses", func(s *set) { s.trusting = true }},
		"any change is mine": {"copies, replies", func(s *set) { s.credulous = true }},
		"renew anyway":       {"copies", func(s *set) { s.stubborn = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := *sets.byName(c.set)
			c.plant(&set)
			exploration(t, 2*time.Minute, func(t *testing.T, e *explorer) {
				e.exhaust(newScene(t, &set))
				if e.wander(t, &set); e.found == nil {
					t.Errorf("not found in %d schedules", e.schedules)
				}
			})
		})
	}
}

// TestReplayed has schedules that once gave a second two users, or a number twice.
func TestReplayed(t *testing.T) {
	replay(t, "copies", "acquire 131072 of 1", "pass 25 s", "image 1", "renew 1", "kill 1", "pass 70 s", "acquire 131072 of 0", "resume as 1 with a stale clock", "renew 1", "pass 25 s")
	replay(t, "counters, extended", "open 0 relaxed", "extend", "open 1 relaxed", "take 3 of 1", "take 3 of 0", "close 0", "restore", "kill 1", "advance", "extend", "open 1 relaxed", "open 0 relaxed", "take 3 of 0")
	replay(t, "counters, extended", "open 1 relaxed", "take 1 of 1", "take 1 of 1", "open 0 relaxed", "backup", "kill 1", "extend", "open 1 relaxed", "restore", "advance", "take 3 of 1", "extend", "take 1 of 1")
	replay(t, "counters, life, losses", "import", "open 0 relaxed", "delete", "advance", "import", "import", "close 0", "open 1 relaxed", "take 1 of 1")
	replay(t, "counters, life, losses", "import", "delete", "open 0 relaxed", "take 1 of 0")
	replay(t, "rates, pruned, losses", "open 0 relaxed", "take 30 of 0", "prune", "open 1 relaxed", "take 30 of 0")
	replay(t, "cells", "acquire 98304 of 0 at -3 s", "pass 57 s", "kill 0", "acquire 65536 of 0 at +3 s", "acquire 65536 of 1 at -3 s")
	replay(t, "older files", "acquire 65536 of 0", "renew 0", "restore files", "acquire 65536 of 1", "renew 0", "pass 7 s")
	replay(t, "older rows", "acquire 65536 of 0", "backup", "release 0", "pass 70 s", "acquire 65536 of 2", "put back", "acquire 65536 of 0", "renew 2", "pass 7 s")
	replay(t, "counters, losses", "open 0 relaxed", "backup", "open 1 relaxed", "take 1 of 1", "return 0", "restore files, and take 10 of 0")
	replay(t, "counters, failover", "open 1 relaxed", "open 0 relaxed", "take 1 of 1", "take 1 of 1", "take 1 of 0", "take 1 of 0", "return 0, during a failover back and forth, and meanwhile take 3 of the other", "take 3 of 0", "take 1 of 1")
}

// A move is one step of a schedule. It reports whether there was anything to do.
type move struct {
	name string
	do   func(*scene) bool
}

// A set of moves, and what the scenes have in which they are played.
type set struct {
	name   string
	counts bool  // whether there is a counter
	rate   int64 // of that
	end    int64 // of that, or 0
	anew   bool  // the first backup was made before it was there
	dated  bool  // its period is over
	moves  []move

	// What is planted by the negative control.
	bug       storetest.Bug // of the engine
	trusting  bool          // a copy of the data is taken for the data
	credulous bool          // any change is taken for the process's own
	stubborn  bool          // a process whose lease is lost goes on
}

type setsOfMoves []*set

var sets = slices.Concat(leaseSets, counterSets)

func (s setsOfMoves) byName(name string) *set {
	return s[slices.IndexFunc(s, func(s *set) bool { return s.name == name })]
}

// wandering is the length of a random schedule.
const wandering = 60

// An explorer plays schedules, until one has a result that must not be.
type explorer struct {
	halves    atomic.Int32    // of the time that are over
	met       map[uint64]int8 // how many moves were played from states
	seed      maphash.Seed
	schedules int
	found     error
}

// exploration has do explore in a bubble, where handles on counters rest for no time, and which has no clock of its own.
func exploration(t *testing.T, d time.Duration, do func(*testing.T, *explorer)) {
	e := &explorer{seed: maphash.MakeSeed()}
	for i := range 2 {
		defer time.AfterFunc(d*time.Duration(i+1)/2, func() { e.halves.Add(1) }).Stop()
	}
	synctest.Test(t, func(t *testing.T) { do(t, e) })
}

// exhaust plays all schedules of one move from s, of two and so on, for half of the time, and returns how many moves they
// had.
func (e *explorer) exhaust(s *scene) (length int) {
	for e.found == nil && e.halves.Load() == 0 {
		e.met = map[uint64]int8{}
		if !e.from(s, nil, length+1) {
			return length
		}
		length++
	}
	return length
}

// from plays all schedules of n moves from s, unless the time ends before.
func (e *explorer) from(s *scene, played []string, n int) bool {
	for _, m := range s.moves {
		next := s.play(m)
		if next == nil {
			continue
		}
		e.schedules++
		schedule := append(slices.Clone(played), m.name)
		if e.found = next.check(schedule); e.found != nil || e.halves.Load() > 0 {
			return false
		}
		if n == 1 {
			continue
		}
		if state := maphash.String(e.seed, next.text()); int(e.met[state]) >= n-1 {
			continue
		} else if e.met[state] = int8(n - 1); !e.from(next, schedule, n-1) {
			return false
		}
	}
	return true
}

// wander plays random schedules until the time ends. What it finds it shortens.
func (e *explorer) wander(t *testing.T, set *set) {
	for seed := uint64(0); e.found == nil && e.halves.Load() < 2; seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		s, played := newScene(t, set), []string(nil)
		for len(played) < wandering && e.found == nil {
			m := set.moves[random.IntN(len(set.moves))]
			if next := s.play(m); next != nil {
				s, played = next, append(played, m.name)
				e.found = s.check(played)
			}
		}
		e.schedules++
		for i := 0; e.found != nil && i < len(played); {
			fewer := slices.Delete(slices.Clone(played), i, i+1)
			if err := again(t, set, fewer); err != nil {
				e.found, played, i = err, fewer, 0
			} else {
				i++
			}
		}
	}
}

// check returns an error, with a test that can be pasted, if something has happened in the scene that must not.
func (s *scene) check(schedule []string) error {
	if s.lost == 0 && s.meta().Floor != 0 {
		s.wrong = cmp.Or(s.wrong, "a floor was set, and nothing was lost")
	}
	if s.wrong == "" {
		return nil
	}
	call := fmt.Sprintf("%#v", schedule)
	return fmt.Errorf("%s:\n\treplay(t, %q, %s)", s.wrong, s.name, call[len("[]string{"):len(call)-1])
}

// again plays a schedule a few times, for the choice of cells is random.
func again(t *testing.T, set *set, schedule []string) (err error) {
	for i := 0; i < 8 && err == nil; i++ {
		s := newScene(t, set)
		for _, name := range schedule {
			if i := slices.IndexFunc(set.moves, func(m move) bool { return m.name == name }); i >= 0 {
				s = cmp.Or(s.play(set.moves[i]), s)
			} else {
				t.Errorf("no move %q in %s", name, set.name)
			}
		}
		err = s.check(schedule)
	}
	return err
}

func replay(t *testing.T, set string, schedule ...string) {
	synctest.Test(t, func(t *testing.T) {
		if err := again(t, sets.byName(set), schedule); err != nil {
			t.Error(err)
		}
	})
}
