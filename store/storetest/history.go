package storetest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/store"
)

// A player makes calls, one after another.
type player struct {
	*rand.Rand
	who, n int  // its number, and that of its call
	known  data // as it was last found or put
}

// swap returns a Swap that expects entries as they are known, and puts one with a value that no other call puts.
func (p *player) swap(put string, expect ...string) Call {
	value := fmt.Appendf(nil, "%d.%d", p.who, p.n)
	return Call{Swap: true, Expect: p.known.get(expect), Put: []store.Entry{{Name: put, Value: value}}}
}

// play lets players make so many calls each at the same time, on the handles by turns. There is no data before.
func (w *testbed) play(players, calls int, next func(*player) Call) {
	w.Helper()
	w.is("Prepare", w.handles[0].Prepare(w.Context()), nil)
	var ticks atomic.Int64
	var wg sync.WaitGroup
	h := make(history, players*calls)
	for i := range players {
		wg.Go(func() {
			for p := (&player{rand.New(rand.NewPCG(1, uint64(i))), i, 0, data{}}); p.n < calls; p.n++ {
				runtime.Gosched() // or one player ends before another begins where calls are fast
				e := event{Call: next(p), begin: ticks.Add(1)}
				answer, err := e.On(w.Context(), w.handles[(i+p.n)%len(w.handles)])
				if w.is(e.Call.String(), err, nil); err != nil {
					return
				}
				e.answer, e.end = answer, ticks.Add(1)
				if p.known.put(answer.Named); answer.Swapped {
					p.known.put(e.Put)
					for _, change := range e.Put { // the removal of an entry that is not there may be no change
						if change.Value != nil {
							e.growth = 1
						}
					}
				}
				h[i*calls+p.n] = e
			}
		})
	}
	wg.Wait()
	if int(ticks.Load()) == 2*len(h) { // or a call failed, and what it did is unknown
		w.is("history", h.check(), nil)
	}
}

// An event is a call that was answered, with the ticks of a common counter before and after it.
type event struct {
	Call
	answer     store.Answer
	begin, end int64
	position   uint64 // the lowest that may be
	growth     uint64 // of it at least, by the end
}

// A history is what several players did at the same time, on data that was empty at first.
type history []event

// check finds answers that no engine gives.
func (h history) check() error {
	slices.SortFunc(h, func(a, b event) int { return cmp.Compare(a.begin, b.begin) })
	s := search{history: h, done: make([]bool, len(h)), tried: map[[sha256.Size]byte]bool{}, nearest: -1}
	if !s.explain(data{}, 0) {
		return fmt.Errorf("no order of the calls explains their answers: %s", s.stuck)
	}
	return h.checkEvidence()
}

// search looks for an order in which every answer is right, and each call lies between its begin and its end
// (Wing and Gong, "Testing and verifying concurrent objects", 1993; to keep what was tried is Lowe's idea).
type search struct {
	history
	done    []bool
	tried   map[[sha256.Size]byte]bool // sums of done and the data then
	nearest int                        // most calls that could be explained
	stuck   string                     // what was wrong then
}

func (s *search) explain(now data, count int) bool {
	key := sha256.Sum256(fmt.Appendf(nil, "%v%s", s.done, now))
	if count == len(s.history) || s.tried[key] {
		return count == len(s.history)
	}
	s.tried[key] = true
	wrong, end := "", int64(math.MaxInt64) // of the calls that are left
	for i, e := range s.history {
		if s.done[i] || e.begin > end {
			continue
		}
		end = min(end, e.end)
		then := maps.Clone(now)
		got, want := e.answer, then.do(e.Call)
		if got.Swapped != want.Swapped || !equal(got.Named, want.Named) || !equal(got.Page, want.Page) {
			wrong += fmt.Sprintf("\n%s: swapped %t, found %s and page %s,\n\twant %t, %s and %s", e.Call,
				got.Swapped, show(got.Named), show(got.Page), want.Swapped, show(want.Named), show(want.Page))
			continue
		}
		s.done[i] = true
		if s.explain(then, count+1) {
			return true
		}
		s.done[i] = false
	}
	if count > s.nearest && wrong != "" {
		s.nearest, s.stuck = count, wrong
	}
	return false
}

// checkEvidence finds evidence that can't be of one copy of the data.
func (h history) checkEvidence() error {
	first := h[0].answer
	for i, e := range h {
		for _, before := range h[:i] {
			if before.end < e.begin {
				e.position = max(e.position, before.answer.Position, before.position+before.growth)
			}
		}
		h[i] = e
		switch a := e.answer; {
		case a.Lineage != first.Lineage || len(a.Lineage) > 200:
			return fmt.Errorf("%s: lineage %.300q, first %.300q: want always the same, of 200 bytes at most", e.Call, a.Lineage, first.Lineage)
		case a.Time.IsZero() != first.Time.IsZero() || !a.Time.IsZero() && time.Since(a.Time).Abs() > time.Hour:
			return fmt.Errorf("%s: time %v, first %v: want the present, or always zero", e.Call, a.Time, first.Time)
		case a.Position < e.position && (a.Swapped || a.Position != 0):
			return fmt.Errorf("%s: position %d: want at least %d, after what was answered before", e.Call, a.Position, e.position)
		}
	}
	return nil
}
