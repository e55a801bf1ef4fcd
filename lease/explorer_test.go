package lease

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	explore   = flag.Duration("explore", 0, "how long TestExplore explores each set of scenes; 0 for as many schedules as -schedules says")
	schedules = flag.Int("schedules", 0, "how many schedules TestExplore plays of each set of scenes, and TestChains; 0 for 80, and 400")
	first     = flag.Uint64("seed", 0, "of the first schedule of TestExplore; 0 for a random one")
)

// A scenes is what may happen in a set of random schedules. A clock is right unless clocks is set: see world.
type scenes struct {
	name    string
	losses  bool // of data
	blind   bool // the engine has no position
	clocks  bool // that are wrong
	copies  bool // of machines
	counter bool
	parts   bool // two spaces of one secret, each with its own store and processes
}

var sets = []scenes{
	{name: "losses", losses: true},
	{name: "losses without positions", losses: true, blind: true},
	{name: "wrong clocks", clocks: true},
	{name: "copies, losses", copies: true, losses: true},
	{name: "copies, wrong clocks", copies: true, clocks: true},
	{name: "counters, losses", counter: true, losses: true},
	{name: "counters, losses without positions", counter: true, losses: true, blind: true},
	{name: "parts, losses", parts: true, losses: true},
}

// TestExplore plays random schedules of several processes on the real code above an engine in memory: see
// world for what happens, and oracle for what must not. lab/planted has the bugs that it must find.
func TestExplore(t *testing.T) {
	most := cmp.Or(*schedules, ordinarily(80)) // make explore plays more
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			seed := cmp.Or(*first, rand.Uint64N(1e9))
			began := time.Now()
			n := 0
			for ; n < most && *explore == 0 || time.Since(began) < *explore; n++ {
				if wrong := play(seed, set, false); wrong != "" {
					t.Fatalf("schedule %d, -seed %d: %s\n%s", n+1, seed, wrong, play(seed, set, true))
				}
				seed++
			}
			t.Logf("%d schedules", n)
		})
	}
}

// ordinarily returns how many schedules are played unless a flag says it. A tenth is for the race detector, of
// which one goroutine needs little, and for emulated machines.
func ordinarily(schedules int) int {
	if testing.Short() {
		return schedules / 10
	}
	return schedules
}

// play plays the schedule of a seed, and returns what is wrong, or with logs what happened until then. Worlds
// with parts know nothing of each other. So they are played one after the other, in the same seconds.
func play(seed uint64, set scenes, logs bool) (result string) {
	worlds := 1
	if set.parts {
		worlds = 2
	}
	uses := map[use]*held{}
	first := uint32(0)
	for i := range worlds {
		w := newWorld(seed+uint64(i), set)
		w.uses = uses
		w.limits.First = first
		first += w.limits.Nodes
		result = w.play(logs)
		if w.wrong != "" {
			break
		}
	}
	return result
}

func (w *world) play(logs bool) string {
	w.logs = logs
	for range 4 {
		w.start()
	}
	for range 120 {
		if w.wrong == "" {
			w.happen()
		}
	}
	if w.wrong == "" {
		w.useUp()
	}
	if logs {
		return strings.Join(w.log, "\n")
	}
	return w.wrong
}

// note writes a line of the log.
func (w *world) note(format string, args ...any) {
	if w.logs {
		w.log = append(w.log, fmt.Sprintf("%*s%d ", 2*w.depth, "", w.now-genesis)+fmt.Sprintf(format, args...))
	}
}
