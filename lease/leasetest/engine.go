// Package leasetest tests engines, of this module and of others. [Run] is the suite that every
// engine must pass. [Memory] is an engine to play with; [Intercept] makes its calls fail.
package leasetest

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// Start makes empty data for one test, on which Prepare was not called yet, and returns a function
// that opens one more handle on it.
type Start func(t *testing.T) (connect func(t *testing.T) lease.Engine)

// Run tests that an engine keeps the promises of [lease.Engine], and that a space on it does its
// work, each in a subtest with data of its own. It closes the handles.
//
// It does not test what takes more than handles: that no crash loses anything, that lineage and
// incarnation change when they must, that unsafe settings are refused. An engine has tests of its own for that.
func Run(t *testing.T, start Start) {
	for _, c := range []struct {
		name string
		run  func(w *engineBed)
	}{
		{"Prepare", checkPrepare},
		{"Calls", checkCalls},
		{"Increments", checkIncrements},
		{"WriteSkew", checkWriteSkew},
		{"Snapshots", checkSnapshots},
		{"Context", checkContext},
		{"Close", checkClose},
		{"Space", checkSpace},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newEngineBed(t, start(t))) })
	}
}

// An engineBed is what one check plays in.
type engineBed struct {
	*testing.T
	open    func() lease.Engine
	handles [4]lease.Engine
}

func newEngineBed(t *testing.T, connect func(t *testing.T) lease.Engine) *engineBed {
	w := &engineBed{T: t}
	w.open = func() lease.Engine {
		engine := connect(t)
		t.Cleanup(func() { engine.Close() })
		return engine
	}
	for i := range w.handles {
		w.handles[i] = w.open()
	}
	return w
}

// put puts the entry a. Later checks read it.
func put(value string) Call { return Call{Swap: true, Put: Entry("a", value)} }

// first puts 2, and then 1.
func (w *engineBed) first() {
	require.ErrorIs(w, w.handles[0].Prepare(w.Context()), nil, "Prepare")
	Put(w, w.handles[0], "a", "2")
	Put(w, w.handles[1], "a", "1")
}

// found checks that the entry is 1, and returns that.
func (w *engineBed) found(when string, engine lease.Engine) []byte {
	w.Helper()
	answer, err := engine.Read(w.Context(), "a")
	require.Must(w, err == nil && swap.Matches(answer.Entries, put("1").Put),
		"%s: found %s, error %v, want 1", when, show(answer.Entries), err)
	return answer.Entries[0].Value
}

// fail checks that calls fail.
func (w *engineBed) fail(when string, ctx context.Context, engine lease.Engine, want error) {
	w.Helper()
	for _, c := range []Call{put("2"), {Names: []string{"a"}}} {
		_, err := c.On(ctx, engine)
		require.ErrorIs(w, err, want, "%s: %s", when, c)
	}
}

func checkPrepare(w *engineBed) {
	answer, err := w.handles[0].Read(w.Context(), "a")
	if err != nil {
		w.fail("before Prepare", w.Context(), w.handles[0], lease.ErrNoSpace)
	} else { // an engine that needs nothing holds nothing either
		require.That(w, answer.Entries[0].Value == nil, "before Prepare a Read found %s", show(answer.Entries))
	}
	var wg sync.WaitGroup
	for _, engine := range w.handles {
		wg.Go(func() { require.ErrorIs(w, engine.Prepare(w.Context()), nil, "Prepare while others do") })
	}
	wg.Wait()
	w.first()
	one := put("1")
	w.handles[0].Swap(w.Context(), nil, one.Put)
	one.Put[0].Value[0] = 'x'
	require.ErrorIs(w, w.handles[1].Prepare(w.Context()), nil, "another Prepare")
	w.found("after another Prepare, and a change of the buffer that was put", w.handles[0])[0] = 'x'
	w.found("after a change of an answer", w.handles[0])
	s := w.handles[0].String()
	password := regexp.MustCompile(`://[^/@]*:[^/@]*[^/@x][^/@]*@`)
	require.That(w, s != "" && !password.MatchString(s), "String: %q: want it to tell the place, and no password", s)
}

func checkContext(w *engineBed) {
	w.first()
	done, cancel := context.WithCancel(w.Context())
	cancel()
	w.fail("context cancelled", done, w.handles[0], context.Canceled)
	require.ErrorIs(w, w.handles[0].Prepare(done), context.Canceled, "Prepare with a cancelled context")
	w.found("after calls with a cancelled context", w.handles[1])
	for i := range 20 { // at any moment of a call
		soon, cancel := context.WithTimeout(w.Context(), time.Duration(i)*100*time.Microsecond)
		if _, err := put("1").On(soon, w.handles[0]); err != nil {
			require.ErrorIs(w, err, context.DeadlineExceeded, "Swap whose context timed out")
		}
		cancel()
		w.found("after a context timed out", w.handles[i%2])
	}
}

func checkClose(w *engineBed) {
	w.first()
	for _, engine := range w.handles {
		other := w.open()
		require.ErrorIs(w, engine.Close(), nil, "Close")
		w.fail("after Close", w.Context(), engine, fs.ErrClosed)
		require.ErrorIs(w, engine.Prepare(w.Context()), fs.ErrClosed, "Prepare after Close")
		w.found("after another handle was closed", other)
		other.Close()
	}
	w.found("after all handles were closed", w.open())
}

// checkCalls makes calls of any kind in turn, and compares each answer with that of a map.
func checkCalls(w *engineBed) {
	require.ErrorIs(w, w.handles[0].Prepare(w.Context()), nil, "Prepare")
	// Names that an order by anything but bytes would misplace, and long ones.
	names := strings.Fields("a a- a. a/ a/. a/1 a/10 a/2 a0 a_ aa b - . .. / _ 0 9")
	for i := range 20 {
		names = append(names, strings.Repeat("/", i+2), strings.Repeat("n", lease.MaxName-i))
	}
	rng := rand.New(rand.NewPCG(1, 0))
	model := data{}
	var first lease.Answer
	var position uint64
	for i := range 160 {
		engine := w.handles[i%len(w.handles)]
		c := anyCall(rng, names, model)
		got, err := c.On(w.Context(), engine)
		require.ErrorIs(w, err, nil, "%s", c)
		want := model.do(c)
		isRight := got.Swapped == want.Swapped && (got.Swapped || swap.Matches(got.Entries, want.Entries))
		require.Must(w, isRight, "%s: swapped %t, found %s,\n\twant %t, %s",
			c, got.Swapped, show(got.Entries), want.Swapped, show(want.Entries))
		if i == 0 {
			first = got
		}
		if got.Swapped {
			position++
		}
		w.checkEvidence(c, got, first, position)
		position = got.Position
		prefix := []string{"", "a", "//", "a/"}[rng.IntN(4)]
		after := names[rng.IntN(len(names))]
		limit := 1 + rng.IntN(40)
		listed, err := engine.List(w.Context(), prefix, after, limit)
		list := model.list(prefix, after, limit)
		require.Must(w, err == nil && swap.Matches(listed, list), "List of %d that begin with %q, after %q: %s, %v, want %s",
			limit, prefix, after, show(listed), err, show(list))
	}
}

// checkEvidence checks the evidence of an answer. Its position must be at least least.
func (w *engineBed) checkEvidence(c Call, got, first lease.Answer, least uint64) {
	switch {
	case got.Lineage != first.Lineage || len(got.Lineage) > 200:
		w.Fatalf("%s: lineage %.300q, first %.300q: want one, of 200 bytes at most", c, got.Lineage, first.Lineage)
	case got.Incarnation != first.Incarnation || len(got.Incarnation) > 200:
		w.Fatalf("%s: incarnation %.300q, first %.300q: want one, of 200 bytes at most", c, got.Incarnation, first.Incarnation)
	case got.Doubt != "" && got.Incarnation == "" || len(got.Doubt) > 400:
		w.Fatalf("%s: doubt %.500q, incarnation %q: want none where there are no incarnations, and 400 bytes at most",
			c, got.Doubt, got.Incarnation)
	case got.Time.IsZero() != first.Time.IsZero() || !got.Time.IsZero() && time.Since(got.Time).Abs() > time.Hour:
		w.Fatalf("%s: time %v, first %v: want the present, or always zero", c, got.Time, first.Time)
	case got.Position < least:
		w.Fatalf("%s: position %d: want at least %d, after what was answered before", c, got.Position, least)
	}
}

// anyCall returns a call that expects what is there more often than not.
func anyCall(rng *rand.Rand, names []string, model data) Call {
	some := func() (some []string) {
		for _, i := range rng.Perm(len(names))[:rng.IntN(6)] {
			some = append(some, names[i])
		}
		return some
	}
	if rng.IntN(3) == 0 {
		return Call{Names: append(some(), names[0])}
	}
	long := make([]byte, lease.MaxValue)
	for i := range long {
		long[i] = byte(i ^ i>>8)
	}
	c := Call{Swap: true, Expect: model.get(some())}
	values := [][]byte{{}, {}, {0}, {0, 0}, fmt.Append(nil, rng.Uint32()), []byte("\xff'\"\\\n%s$1"), long[:256], long[:257], long}
	if n := len(c.Expect); n > 0 && rng.IntN(4) == 0 {
		c.Expect[rng.IntN(n)].Value = values[rng.IntN(len(values))]
	}
	for i, name := range some() { // nothing but the first may be long
		c.Put = append(c.Put, lease.Entry{Name: name, Value: values[rng.IntN(len(values)-min(i, 1))]})
	}
	if len(c.Put) == 0 {
		c.Put = Entry(names[0], "x")
	}
	return c
}

// together has each player call do, times times, all at once, on changing handles.
func (w *engineBed) together(players, times int, do func(engine lease.Engine, player, i int)) {
	require.ErrorIs(w, w.handles[0].Prepare(w.Context()), nil, "Prepare")
	var wg sync.WaitGroup
	for player := range players {
		wg.Go(func() {
			for i := range times {
				do(w.handles[(player+i)%len(w.handles)], player, i)
			}
		})
	}
	wg.Wait()
}

// swap swaps, and returns whether it took effect.
func (w *engineBed) swap(engine lease.Engine, expect, put []lease.Entry) (lease.Answer, bool) {
	answer, err := engine.Swap(w.Context(), expect, put)
	require.ErrorIs(w, err, nil, "Swap")
	return answer, err == nil && answer.Swapped
}

// checkIncrements: of Swaps that expect the same value only one takes effect, and no put is lost.
func checkIncrements(w *engineBed) {
	var mu sync.Mutex
	positions := map[int]uint64{} // by the value that was put
	w.together(8, 12, func(engine lease.Engine, _, _ int) {
		for known := ""; ; {
			n := len(known) + 1 // a count in ones
			answer, done := w.swap(engine, Entry("n", known), Entry("n", known+"1"))
			if done {
				mu.Lock()
				defer mu.Unlock()
				_, twice := positions[n]
				require.That(w, !twice, "the %d was put twice", n)
				positions[n] = answer.Position
				return
			}
			if w.Failed() || len(answer.Entries) != 1 {
				return
			}
			known = string(answer.Entries[0].Value)
		}
	})
	got, _ := Get(w, w.handles[0], "n")
	require.Equal(w, len(got), 8*12, "the sum of all increments")
	for n := 2; n <= len(positions); n++ {
		require.That(w, positions[n] > positions[n-1], "position %d of a put after %d", positions[n], positions[n-1])
	}
}

// checkWriteSkew: of two Swaps that each expect what the other one puts only one takes effect.
func checkWriteSkew(w *engineBed) {
	var wins sync.Map
	w.together(4, 40, func(engine lease.Engine, player, i int) {
		names := []string{fmt.Sprintf("l%d", i), fmt.Sprintf("r%d", i)}
		if _, done := w.swap(engine, slices.Concat(Entry(names[0], ""), Entry(names[1], "")), Entry(names[player%2], "1")); done {
			_, twice := wins.LoadOrStore(i, true)
			require.That(w, !twice, "round %d: two Swaps took effect that exclude each other", i)
		}
	})
}

// checkSnapshots: what one call finds is of one moment, while others put three entries at once.
func checkSnapshots(w *engineBed) {
	names := []string{"a", "b", "c"}
	w.together(5, 25, func(engine lease.Engine, player, i int) {
		if player < 2 {
			value := fmt.Sprint(player, "/", i)
			w.swap(engine, nil, slices.Concat(Entry("a", value), Entry("b", value), Entry("c", value)))
			return
		}
		answer, err := engine.Read(w.Context(), names...)
		if player == 4 { // a failed swap finds entries too
			answer, err = engine.Swap(w.Context(), slices.Concat(Entry("a", "?"), Entry("b", "?"), Entry("c", "?")), Entry("a", "wrong"))
		}
		require.ErrorIs(w, err, nil, "call")
		all := answer.Entries
		differs := func(e lease.Entry) bool { return string(e.Value) != string(all[0].Value) }
		require.That(w, !answer.Swapped && !slices.ContainsFunc(all, differs), "of different moments: %s", show(all))
	})
}

// checkSpace: takes of one window by several handles at once share no node, nor do numbers of a
// counter repeat, no loss of data is found meanwhile, and the counter moves along. What a space
// refuses does not depend on the engine.
func checkSpace(w *engineBed) {
	space, err := lease.Create(w.Context(), w.handles[0], lease.Config{NeverUsed: true, Limits: lease.Limits{Nodes: 64}})
	require.NoError(w, err)
	require.ErrorIs(w, space.CreateCounter(w.Context(), lease.Counter{Name: "orders", Start: 1}), nil, "CreateCounter")
	window := space.Limits().WindowOf(time.Now()) + 2
	nodes, numbers := w.takeTogether(window)
	info, err := space.Info(w.Context())
	require.That(w, err == nil && info.FloorsSet == 0 && len(nodes) == 64, "%d nodes: %+v, %v", len(nodes), info, err)

	moved, err := lease.Move(w.Context(), space, w.handles[2], lease.Config{Name: "moved"})
	require.NoError(w, err)
	c, err := moved.Counter(w.Context(), "orders")
	require.That(w, err == nil && c.Next == int64(len(numbers)+1) && !c.Lost,
		"moved: %+v, %v, want %d next", c, err, len(numbers)+1)
}

// takeTogether takes leases of a window, and numbers, by 16 handles at once. It returns the first and
// last nodes of the leases, and the numbers.
func (w *engineBed) takeTogether(window int64) (nodes map[uint32]bool, numbers map[int64]bool) {
	var spaces [16]*lease.Space
	for i := range spaces {
		space, err := lease.Open(w.Context(), w.handles[i%len(w.handles)], lease.Config{})
		require.NoError(w, err)
		spaces[i] = space
	}
	nodes = map[uint32]bool{}
	numbers = map[int64]bool{}
	var mu sync.Mutex
	w.together(len(spaces), 2, func(_ lease.Engine, player, _ int) {
		leases, err := spaces[player].Take(w.Context(), window, window, 2)
		if err != nil {
			w.Errorf("Take: %v", err)
			return
		}
		l := leases[0]
		run, err := spaces[player].TakeNumbers(w.Context(), "orders", lease.Period{}, 1)
		require.ErrorIs(w, err, nil, "TakeNumbers")
		mu.Lock()
		defer mu.Unlock()
		require.That(w, !numbers[run.First] && !nodes[l.FirstNode] && !nodes[l.LastNode],
			"given twice: nodes %d and %d, or number %d", l.FirstNode, l.LastNode, run.First)
		numbers[run.First] = true
		nodes[l.FirstNode] = true
		nodes[l.LastNode] = true
	})
	return nodes, numbers
}

// Entry returns an entry as a list, for Swap. Without a value it says that there is none.
func Entry(name, value string) []lease.Entry {
	if value == "" {
		return []lease.Entry{{Name: name}}
	}
	return []lease.Entry{{Name: name, Value: []byte(value)}}
}

// Put puts an entry, whatever it was. The test ends unless it takes effect.
func Put(t testing.TB, e lease.Engine, name, value string) lease.Answer {
	t.Helper()
	a, err := e.Swap(t.Context(), nil, Entry(name, value))
	require.Must(t, err == nil && a.Swapped, "put %s: %+v, %v", name, a, err)
	return a
}

// Get returns an entry's value, "" for none, and the evidence.
func Get(t testing.TB, e lease.Engine, name string) (string, lease.Answer) {
	t.Helper()
	a, err := e.Read(t.Context(), name)
	require.Must(t, err == nil, "get %s: %v", name, err)
	return string(a.Entries[0].Value), a
}
