package lease

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	explore   = flag.Duration("explore", 0, "how long to play schedules of each kind; 0 for as many as -schedules says")
	schedules = flag.Int("schedules", 0, "how many schedules to play of each kind; 0 for a few")
	first     = flag.Uint64("seed", 0, "of the first schedule; 0 for a random one")
)

// playMany plays schedules of random seeds. play returns what is wrong, or "". One that goes wrong is played
// once more, and then play returns what happened.
func playMany(t *testing.T, few int, play func(seed uint64, logs bool) string) {
	if testing.Short() { // the race detector needs little of one goroutine, and emulated machines are slow
		few /= 10
	}
	most := cmp.Or(*schedules, few)
	seed := cmp.Or(*first, rand.Uint64N(1e9))
	began := time.Now()
	n := 0
	for ; n < most && *explore == 0 || time.Since(began) < *explore; n++ {
		if wrong := play(seed, false); wrong != "" {
			t.Fatalf("schedule %d, -seed %d: %s\n%s", n+1, seed, wrong, play(seed, true))
		}
		seed++
	}
	t.Logf("%d schedules", n)
}

// An event of a schedule happens as often as its weight says beside those of the others, if it may happen now.
type event struct {
	weight int
	may    bool
	do     func()
}

// anyOf returns a random one of the events that may happen. There must be one.
func anyOf(random *rand.Rand, events []event) event {
	events = slices.DeleteFunc(events, func(e event) bool { return !e.may })
	sum := 0
	for _, e := range events {
		sum += e.weight
	}
	at := random.IntN(sum)
	i := 0
	for at >= events[i].weight {
		at -= events[i].weight
		i++
	}
	return events[i]
}

const genesis = 1800000000

var genesisTime = time.Unix(genesis, 0)

// A journal has what went wrong in a schedule, and on demand all that happened.
type journal struct {
	now   int64 // the time of the schedule, in Unix seconds from genesis on
	depth int   // how many calls are under way, each in an event during the one before
	wrong string
	logs  bool // notes are kept
	notes []string
}

// fail says what is wrong, unless something was before.
func (j *journal) fail(format string, args ...any) {
	if j.wrong == "" {
		j.wrong = fmt.Sprintf(format, args...)
		j.note("wrong: %s", j.wrong)
	}
}

// note notes what happens.
func (j *journal) note(format string, args ...any) {
	if j.logs {
		j.notes = append(j.notes, fmt.Sprintf("%*s%d ", 2*j.depth, "", j.now-genesis)+fmt.Sprintf(format, args...))
	}
}

// result returns what is wrong, or with logs the notes.
func (j *journal) result() string {
	if j.logs {
		return strings.Join(j.notes, "\n")
	}
	return j.wrong
}
