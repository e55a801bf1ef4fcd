package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// noon is when the tests' clocks start.
var noon = time.Unix(1767268800, 0)

// A testbed is an engine's data in memory, and a clock.
type testbed struct {
	*testing.T
	data *storetest.Memory
	now  time.Time
}

func newTestbed(t *testing.T) *testbed { return &testbed{t, storetest.NewMemory(), noon} }

func (w *testbed) clock() time.Time { return w.now }

func (w *testbed) options(more []store.Option) []store.Option {
	return append([]store.Option{store.WithClock(w.clock)}, more...)
}

// create makes a space for a new secret.
func (w *testbed) create(options ...store.Option) *store.Space {
	w.Helper()
	s, err := store.Create(w.Context(), w.data.Connect(), w.options(append(options, store.ForNewSecret()))...)
	if err != nil {
		w.Fatalf("Create: %v", err)
	}
	return s
}

func (w *testbed) open(options ...store.Option) *store.Space {
	w.Helper()
	s, err := store.Open(w.Context(), w.data.Connect(), w.options(options)...)
	if err != nil {
		w.Fatalf("Open: %v", err)
	}
	return s
}

// put puts an item, as a protocol does, whatever was there.
func (w *testbed) put(s *store.Space, name, body string) {
	w.Helper()
	for {
		v, err := s.Read(w.Context(), []string{name}, store.Page{})
		if err != nil {
			w.Fatalf("Read: %v", err)
		}
		change := store.Change{Expect: v.Items, Put: []store.Item{{Name: name, Second: v.Now, Body: []byte(body)}}}
		done, _, err := s.Swap(w.Context(), v, change)
		if err != nil {
			w.Fatalf("Swap: %v", err)
		}
		if done {
			return
		}
	}
}

func (w *testbed) get(s *store.Space, name string) string {
	w.Helper()
	v, err := s.Read(w.Context(), []string{name}, store.Page{})
	if err != nil {
		w.Fatalf("Read: %v", err)
	}
	return string(v.Find(name).Body)
}

// floor returns how far ahead the floor of the space lies, or 0 if there is none.
func (w *testbed) floor(s *store.Space) time.Duration {
	w.Helper()
	meta, err := s.Info(w.Context())
	if err != nil {
		w.Fatalf("Info: %v", err)
	}
	if meta.Floor == 0 {
		return 0
	}
	return time.Unix(meta.Floor, 0).Sub(w.now)
}

func (w *testbed) wantFloor(what string, s *store.Space, want time.Duration) {
	w.Helper()
	if got := w.floor(s); got != want {
		w.Errorf("%s: the floor lies %v ahead, want %v", what, got, want)
	}
}

// pause is how far ahead a new floor lies by default.
const pause = 11 * time.Minute

func TestCreateAndOpen(t *testing.T) {
	w := newTestbed(t)
	if _, err := store.Open(t.Context(), w.data.Connect()); !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), "randflake lease init") {
		t.Errorf("Open before Create: %v, want ErrNoStore", err)
	}
	limits := store.Limits{MaxTTL: time.Hour, MaxSkew: time.Second}
	created, err := store.Create(t.Context(), w.data.Connect(), w.options([]store.Option{store.WithLimits(limits)})...)
	if err != nil {
		t.Fatal(err)
	}
	w.wantFloor("created", created, time.Hour+time.Second)
	if _, err := store.Create(t.Context(), w.data.Connect()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create again: %v, want fs.ErrExist", err)
	}
	opened := w.open(store.OrCreate())
	if meta, err := opened.Info(t.Context()); err != nil || meta.Limits() != limits {
		t.Errorf("opened with limits %+v, %v; want %+v", meta.Limits(), err, limits)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if _, err := opened.Info(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Info after Close: %v, want fs.ErrClosed", err)
	}
}

// TestOpened: the View that Open took is there once, until the next call, and says whether it has all items.
func TestOpened(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	w.put(s, "a", "1")
	call := func(what string, do func(*store.Space), want bool) {
		t.Helper()
		opened := w.open()
		do(opened)
		if v, all := opened.Opened(); all != want || want && (string(v.Find("a").Body) != "1" || v.Find("b").Body != nil) {
			t.Errorf("%s: %+v, want a View: %t", what, v, want)
		}
	}
	call("after Open", func(*store.Space) {}, true)
	call("after another", func(s *store.Space) { s.Opened() }, false)
	call("after Look", func(s *store.Space) { s.Look(t.Context(), nil, store.Page{}) }, false)
	call("after Swap", func(s *store.Space) {
		s.Swap(t.Context(), s.Assume(), store.Change{Put: []store.Item{{Name: "a", Body: []byte("1")}}})
	}, false)
	call("a second later", func(*store.Space) { w.now = w.now.Add(time.Second) }, true)
	call("two seconds later", func(*store.Space) { w.now = w.now.Add(2 * time.Second) }, false)
	call("a second before", func(*store.Space) { w.now = w.now.Add(-time.Second) }, false)
	engine := w.data.Connect()
	for i := range store.MaxPage - 3 {
		storetest.Put(t, engine, fmt.Sprintf("default/c%d", i), "1 ")
	}
	call("with 998 items", func(*store.Space) {}, true)
	storetest.Put(t, engine, "default/d", "1 ")
	call("with 999 items", func(*store.Space) {}, false)
}

func TestOrCreateIsNotForNewSecrets(t *testing.T) {
	w := newTestbed(t)
	s := w.open(store.OrCreate(), store.WithLimits(store.DefaultLimits()))
	w.wantFloor("created by Open", s, pause)
	for what, options := range map[string][]store.Option{
		"ForNewSecret":              {store.ForNewSecret(), store.OrCreate()},
		"limits without OrCreate":   {store.WithLimits(store.DefaultLimits())},
		"a secret without OrCreate": {store.ForSecret(keysOf(1))},
		"bad limits":                {store.OrCreate(), store.WithLimits(store.Limits{MaxTTL: time.Millisecond})},
		"a bad name":                {store.WithSpace("a/b")},
		"the zero Option":           {{}},
		"a nil clock":               {store.WithClock(nil)},
	} {
		if _, err := store.Open(t.Context(), w.data.Connect(), options...); !errors.Is(err, store.ErrInvalidOption) {
			t.Errorf("Open with %s: error %v, want one that wraps ErrInvalidOption", what, err)
		}
	}
	if _, err := store.Create(t.Context(), w.data.Connect(), store.OrCreate(), store.WithSpace("other")); !errors.Is(err, randflake.ErrInvalidOption) {
		t.Errorf("Create with OrCreate: error %v, want one that wraps ErrInvalidOption", err)
	}
}

func TestSpacesKnowNothingOfEachOther(t *testing.T) {
	w := newTestbed(t)
	a, b, c := w.create(), w.create(store.WithSpace("default0")), w.create(store.WithSpace("b"))
	for _, s := range []*store.Space{a, b, c} {
		w.put(s, "x", s.Name())
		if err := s.ReportLoss(t.Context(), "a test"); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
	}
	for _, s := range []*store.Space{a, b, c} {
		n := 0
		for item, err := range s.Items(t.Context(), "", "") {
			if n++; err != nil || item.Name != "x" || string(item.Body) != s.Name() {
				t.Errorf("space %s has %+v, %v", s.Name(), item, err)
			}
		}
		if n != 1 {
			t.Errorf("space %s has %d items, want 1", s.Name(), n)
		}
	}
	w.wantFloor("the first", a, pause-3*time.Minute)
	w.wantFloor("the last", c, pause-time.Minute)
}

func TestSwapExpects(t *testing.T) {
	w := newTestbed(t)
	s, other := w.create(), func() *store.Space { return w.open() }()
	w.put(s, "x", "1")
	v, err := s.Read(t.Context(), []string{"x", "y"}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	w.put(other, "x", "2")
	change := store.Change{Expect: v.Items, Put: []store.Item{{Name: "y", Body: []byte("new")}}}
	done, found, err := s.Swap(t.Context(), v, change)
	if err != nil || done || string(found.Find("x").Body) != "2" {
		t.Fatalf("Swap of what has changed: %v, %+v, %v; want what is there", done, found, err)
	}
	change.Expect = found.Items
	if err := other.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	if done, found, err = s.Swap(t.Context(), found, change); err != nil || done {
		t.Errorf("Swap after the meta entry has changed: %v, %v; want none", done, err)
	}
	change.Expect, change.Body = found.Items, []byte(`"body"`)
	if done, _, err = s.Swap(t.Context(), found, change); err != nil || !done {
		t.Errorf("Swap of what is there: %v, %v", done, err)
	}
	if meta, _ := other.Info(t.Context()); string(meta.Body) != `"body"` || w.get(other, "y") != "new" {
		t.Errorf("after Swap the body is %s", meta.Body)
	}
}

// TestLossesAreNoticed: whatever shows that data was lost sets the floor, once, before anything else, for all
// handles.
func TestLossesAreNoticed(t *testing.T) {
	for what, lose := range map[string]func(w *testbed, backup storetest.Snapshot){
		"position":    func(w *testbed, backup storetest.Snapshot) { w.data.Restore(backup) },
		"lineage":     func(w *testbed, _ storetest.Snapshot) { w.data.SetLineage("another") },
		"wiped":       func(w *testbed, _ storetest.Snapshot) { w.data.Wipe(); w.data.Connect().Prepare(w.Context()) },
		"other space": func(w *testbed, _ storetest.Snapshot) { w.data.Wipe(); w.create() },
		"meta entry": func(w *testbed, backup storetest.Snapshot) {
			backup.Position = 1000
			w.data.Restore(backup)
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newTestbed(t)
			first, second := w.create(), w.open()
			backup := w.data.Snapshot()
			for _, s := range []*store.Space{first, second} {
				w.put(s, "x", "1")
				v, err := s.Read(t.Context(), nil, store.Page{})
				if err != nil {
					t.Fatal(err)
				}
				if done, _, err := s.Swap(t.Context(), v, store.Change{Body: []byte("1")}); !done || err != nil {
					t.Fatal(done, err)
				}
			}
			w.get(first, "x")
			lose(w, backup)
			if what != "wiped" {
				w.wantFloor("only looked at", w.open(), 0)
			}

			w.get(first, "x")
			w.wantFloor("read", first, pause)
			w.now = w.now.Add(time.Minute)
			w.get(second, "x")
			w.wantFloor("read by another handle, which knows what was lost too", second, pause-time.Minute)
			w.get(w.open(), "x")
			w.wantFloor("read by a new handle", first, pause-time.Minute)
			w.put(first, "x", "2")
			w.put(second, "x", "3")
			w.wantFloor("written", first, pause-time.Minute)
		})
	}
}

// TestLossAtSwap: a change that was made on data that had gone back has an unknown outcome, and one that was not made has
// none. Either way there is a floor.
func TestLossAtSwap(t *testing.T) {
	for _, lineage := range []string{"memory", "another"} {
		w := newTestbed(t)
		s := w.create()
		w.put(s, "x", "1")
		backup := w.data.Snapshot()
		for range 3 {
			w.put(s, "y", "1")
		}
		v, err := s.Read(t.Context(), []string{"x"}, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		backup.Lineage = lineage
		w.data.Restore(backup)
		if done, _, err := s.Swap(t.Context(), v, store.Change{Expect: v.Items, Put: []store.Item{{Name: "x", Body: []byte("2")}}}); done || !errors.Is(err, store.ErrUnknownOutcome) {
			t.Errorf("Swap that was made after a loss: %v, %v; want an error that leaves the outcome open", done, err)
		}
		if w.get(s, "x") != "2" {
			t.Error("Swap was not made: this shows nothing")
		}
		w.wantFloor("swapped", s, pause)

		s = w.open()
		v, _ = s.Read(t.Context(), []string{"x"}, store.Page{})
		w.data.Restore(backup)
		done, found, err := s.Swap(t.Context(), v, store.Change{Expect: v.Items, Put: []store.Item{{Name: "x", Body: []byte("3")}}})
		if done || err != nil || found.Meta.Floor == 0 {
			t.Errorf("Swap that was not made after a loss: %v, %+v, %v; want not done, with a floor", done, found, err)
		}
	}
}

// TestFork: two histories of one space that have as many floors each are told apart.
func TestFork(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	backup := w.data.Snapshot()
	if err := s.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	w.data.Restore(backup)
	w.now = w.now.Add(-20 * time.Second)
	if err := w.open().ReportLoss(t.Context(), "a test, in another history"); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(20 * time.Second)
	w.get(s, "x")
	w.wantFloor("seen by a handle of the first history", s, pause)
}

// TestLowFloor: a floor that a slow process set, without knowing of newer changes, is raised by a handle that knows them.
func TestLowFloor(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	backup := w.data.Snapshot()
	w.now = w.now.Add(2 * time.Hour)
	w.put(s, "x", "1")
	w.data.Restore(backup)
	w.now = w.now.Add(-15 * time.Minute)
	if err := w.open().ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(15 * time.Minute)
	w.get(s, "x")
	w.wantFloor("seen by a handle that knows more", s, pause)
	w.now = w.now.Add(time.Minute)
	w.get(w.open(), "x")
	w.get(s, "x")
	w.wantFloor("seen again", s, pause-time.Minute)
}

// TestFloorBesideSlowServer: a server whose clock is slow, but not so slow that it is refused, sets no floor too low.
func TestFloorBesideSlowServer(t *testing.T) {
	data := storetest.NewMemory()
	data.SetClock(func() time.Time { return time.Now().Add(-8 * time.Minute) })
	s, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Unix()
	if err := s.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	if meta, err := s.Info(t.Context()); err != nil || meta.Floor < before+int64(pause/time.Second) {
		t.Errorf("floor %d s after the process's clock, %v, want %v", meta.Floor-before, err, pause)
	}
}

// TestLossShowsInSwapsAlone: the reads of some engines tell no position.
func TestLossShowsInSwapsAlone(t *testing.T) {
	w := newTestbed(t)
	w.create().Close()
	s, err := store.Open(t.Context(), storetest.Intercept(w.data.Connect(), positionsOfSwaps), store.WithClock(w.clock))
	if err != nil {
		t.Fatal(err)
	}
	backup := w.data.Snapshot()
	for range 5 {
		w.put(s, "x", "1")
	}
	w.data.Restore(backup)
	w.get(s, "x")
	w.wantFloor("read", s, 0)
	v, err := s.Read(t.Context(), nil, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: "y", Body: []byte("1")}}}); err == nil {
		t.Error("Swap after a loss: no error")
	}
	w.wantFloor("put", s, pause)
	w.now = w.now.Add(time.Minute)
	w.put(s, "y", "2")
	w.wantFloor("put again", s, pause-time.Minute)
}

// TestLossShowsInSwapsOfAnotherLineage: where recovery is trusted, a read from a new lineage that tells no position does not
// make a handle forget the position that it saw.
func TestLossShowsInSwapsOfAnotherLineage(t *testing.T) {
	w := newTestbed(t)
	w.create().Close()
	s, err := store.Open(t.Context(), storetest.Intercept(w.data.Connect(), positionsOfSwaps), w.options([]store.Option{store.TrustRecovery()})...)
	if err != nil {
		t.Fatal(err)
	}
	backup := w.data.Snapshot()
	for range 5 {
		w.put(s, "x", "1")
	}
	backup.Lineage = "promoted"
	w.data.Restore(backup)
	w.get(s, "x")
	v := s.Assume()
	if _, _, err := s.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: "y", Body: []byte("1")}}}); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("Swap after a loss: %v", err)
	}
	w.wantFloor("put", s, pause)
}

// positionsOfSwaps makes an engine tell positions only with swaps that took effect.
func positionsOfSwaps(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
	answer, err := c.On(ctx, e)
	if !answer.Swapped {
		answer.Position = 0
	}
	return answer, err
}

// TestZeroSpace: the zero Space says what is wrong with it.
func TestZeroSpace(t *testing.T) {
	var s store.Space
	_, readErr := s.Read(t.Context(), nil, store.Page{})
	for what, err := range map[string]error{"Read": readErr, "ReportLoss": s.ReportLoss(t.Context(), "a test")} {
		if !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), "Open or Create") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Close(); err != nil || strings.Contains(s.String(), "%!") {
		t.Errorf("Close: %v, String: %s", err, s.String())
	}
}

func TestTrustRecovery(t *testing.T) {
	w := newTestbed(t)
	s := w.create(store.TrustRecovery())
	backup := w.data.Snapshot()
	w.put(s, "x", "1")
	w.data.SetLineage("another")
	w.put(s, "x", "2")
	w.put(w.open(store.TrustRecovery()), "x", "3")
	w.wantFloor("another lineage, trusted", s, 0)
	for _, lineage := range []string{"another", "a third"} {
		backup.Lineage = lineage
		w.data.Restore(backup)
		w.get(s, "x")
		w.wantFloor("a lower position", s, pause)
		w.put(s, "x", "4")
	}
}

// TestSecondLoss: a floor covers what was lost before it was set, and nothing after.
func TestSecondLoss(t *testing.T) {
	w := newTestbed(t)
	first, second := w.create(), w.open()
	w.put(second, "x", "1")
	backup := w.data.Snapshot()
	w.put(first, "x", "2")
	w.get(second, "x")
	w.data.Restore(backup)
	w.get(first, "x")
	w.now = w.now.Add(30 * time.Second)
	w.data.Restore(backup) // and with it goes the floor
	w.get(first, "x")
	w.wantFloor("the floor was lost", first, pause)
	w.now = w.now.Add(30 * time.Second)
	healed := w.data.Snapshot()
	w.get(second, "x")
	w.wantFloor("seen by another", second, pause-30*time.Second)
	w.put(second, "x", "3")
	w.data.Restore(healed)
	w.get(second, "x")
	w.wantFloor("lost again", second, pause)
}

// TestSlowClockSetsNoFloor: a floor that is set by a clock that is slow would be too low.
func TestSlowClockSetsNoFloor(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	backup := w.data.Snapshot()
	w.put(s, "x", "1")
	w.now = w.now.Add(-time.Hour)
	w.data.Restore(backup)
	if _, err := s.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrClock) {
		t.Errorf("with a clock an hour slow: %v, want ErrClock", err)
	}
	w.wantFloor("refused", w.open(), 0)
	w.now = noon.Add(-30 * time.Second)
	fresh := w.open()
	w.get(fresh, "x")
	if w.floor(fresh) < pause {
		t.Error("a new process with a right clock has not set the floor")
	}
	w.get(s, "x")
	w.wantFloor("covered", s, w.floor(fresh))

	w = newTestbed(t)
	s = w.create()
	backup = w.data.Snapshot()
	w.put(s, "x", "1")
	w.data.Restore(backup)
	w.now = noon.Add(-30 * time.Second)
	w.get(s, "x")
	w.wantFloor("with a clock 30 seconds slow", s, pause+30*time.Second)

	slow := newTestbed(t)
	slow.put(slow.create(), "x", "1")
	slow.now = slow.now.Add(-time.Hour)
	if err := slow.open().ReportLoss(t.Context(), "a test"); !errors.Is(err, store.ErrClock) {
		t.Errorf("ReportLoss with a clock an hour slow, by a handle that has seen nothing: %v, want ErrClock", err)
	}
}

// TestForgiveClock: a clock that was a year ahead keeps neither floors nor items in force for a year.
func TestForgiveClock(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	w.put(s, "x", "1")
	w.now = noon.AddDate(1, 0, 0)
	fast := w.open()
	w.put(fast, "y", "1")
	if err := fast.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	w.now = noon.Add(time.Minute)
	if err := s.ReportLoss(t.Context(), "a test"); !errors.Is(err, store.ErrClock) {
		t.Errorf("ReportLoss by a right clock: %v, want ErrClock, as a clock was ahead", err)
	}
	for _, from := range []time.Time{w.now, w.now.Add(pause), noon.AddDate(1, 0, 0).Add(time.Second), noon.AddDate(2, 0, 0)} {
		barred, err := s.ForgiveClock(t.Context(), from)
		if first := noon.AddDate(1, 0, 0).Format(time.RFC3339); err == nil || !strings.Contains(err.Error(), first+": take the first wrong time") {
			t.Errorf("ForgiveClock from %v: barred %+v, %v, want an error that names %s", from, barred, err, first)
		}
	}
	from := noon.AddDate(1, 0, 0)
	barred, err := s.ForgiveClock(t.Context(), from)
	if err != nil || barred.From != from.Unix() || !barred.Has(noon.AddDate(1, 0, 0).Add(pause).Unix()) {
		t.Errorf("ForgiveClock: barred %+v, %v", barred, err)
	}
	w.wantFloor("forgiven", fast, pause)
	if meta, _ := fast.Info(t.Context()); meta.Barred == nil || *meta.Barred != barred {
		t.Errorf("barred is %+v, want %+v", meta.Barred, barred)
	}
	w.now = w.now.Add(time.Minute)
	if err := w.open().ReportLoss(t.Context(), "a test"); err != nil {
		t.Errorf("ReportLoss after ForgiveClock: %v", err)
	}
	w.wantFloor("after ForgiveClock", s, pause)
}

// TestForgiveClockAfterLoss: what a clock has set years ahead is no reason to be stuck when data is lost as well.
func TestForgiveClockAfterLoss(t *testing.T) {
	w := newTestbed(t)
	w.create()
	w.now = noon.AddDate(1, 0, 0)
	w.put(w.open(), "y", "1")
	w.now = noon
	w.data.SetLineage("another")
	s := w.open()
	if _, err := s.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrClock) {
		t.Errorf("Read after the loss: %v, want ErrClock", err)
	}
	if _, err := s.ForgiveClock(t.Context(), noon.AddDate(0, 11, 0)); err != nil {
		t.Errorf("ForgiveClock: %v", err)
	}
	w.put(s, "x", "1")
	w.wantFloor("forgiven", s, pause)
}

func TestClocksApart(t *testing.T) {
	data := storetest.NewMemory()
	off := time.Duration(0)
	data.SetClock(func() time.Time { return time.Now().Add(off) })
	s, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		off  time.Duration
		want error
	}{{0, nil}, {10 * time.Minute, nil}, {-10 * time.Minute, nil}, {12 * time.Minute, store.ErrClock}, {-time.Hour, store.ErrClock}} {
		off = tt.off
		v, err := s.Read(t.Context(), nil, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Clock(); !errors.Is(err, tt.want) {
			t.Errorf("server %v ahead: %v, want %v", tt.off, err, tt.want)
		}
		if got := v.Now - time.Now().Add(off).Unix(); got < -5 || got > 0 {
			t.Errorf("server %v ahead: Now is %d seconds off", tt.off, got)
		}
		if got := s.Assume().Now - v.Now; got < 0 || got > 5 {
			t.Errorf("server %v ahead: assumed %d seconds later", tt.off, got)
		}
	}
}

func TestCorruptData(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	w.put(s, "x", "1")
	engine := w.data.Connect()
	const meta = `"incarnation":"a","changes":1,"maxTTL":600,"maxSkew":60,"lineage":""}`
	for _, c := range []struct {
		name, value string
		want        error
	}{
		{"default/x", "no second", store.ErrCorrupt},
		{"default/x", "0:1767268800 1", store.ErrCorrupt},
		{"default/x", fmt.Sprintf("%d:1767268800 1", store.Format+1), store.ErrFormat},
		{"default/meta", `{"format":0,` + meta, store.ErrCorrupt},
		{"default/meta", `{"format":1,"more":1,` + meta, store.ErrCorrupt},
		{"default/meta", fmt.Sprintf(`{"format":%d,"more":1,`, store.Format+1) + meta, store.ErrFormat},
	} {
		name, value := c.name, c.value
		before, err := engine.Read(t.Context(), []string{name}, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Swap(t.Context(), before.Named, []store.Entry{{Name: name, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(t.Context(), []string{"x"}, store.Page{}); !errors.Is(err, c.want) || errors.Is(err, store.ErrCorrupt) != (c.want == store.ErrCorrupt) {
			t.Errorf("Read with %s as %s: %v, want %v", name, value, err, c.want)
		}
		if _, err := s.Upgrade(t.Context()); name != "default/x" && !errors.Is(err, c.want) {
			t.Errorf("Upgrade with %s as %s: %v, want %v", name, value, err, c.want)
		}
		after, err := engine.Read(t.Context(), []string{name}, store.Page{})
		if err != nil || string(after.Named[0].Value) != value {
			t.Errorf("%s was changed to %s, %v", name, after.Named[0].Value, err)
		}
		if _, err := engine.Swap(t.Context(), after.Named, before.Named); err != nil {
			t.Fatal(err)
		}
	}
	left := newTestbed(t)
	left.put(left.create(), "x", "1")
	snapshot := left.data.Snapshot()
	left.data.Restore(snapshot)
	if _, err := store.Create(t.Context(), left.data.Connect(), store.ForNewSecret()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a space: %v", err)
	}
}

// TestUnknownOutcome: a Swap of unknown outcome is not sent again.
func TestUnknownOutcome(t *testing.T) {
	w := newTestbed(t)
	w.create().Close()
	swaps := 0
	lossy := storetest.Intercept(w.data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if c.Swap {
			swaps++
			return store.Answer{}, errors.New("the reply was lost")
		}
		return answer, err
	})
	s, err := store.Open(t.Context(), lossy, store.WithClock(w.clock))
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Read(t.Context(), []string{"x"}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Swap(t.Context(), v, store.Change{Expect: v.Items, Put: []store.Item{{Name: "x", Body: []byte("1")}}})
	if err == nil || swaps != 1 {
		t.Errorf("Swap with the reply lost: %v after %d swaps", err, swaps)
	}
	if got := w.get(s, "x"); got != "1" {
		t.Errorf("x is %q", got)
	}
}

func TestTakeOptions(t *testing.T) {
	query := url.Values{"space": {"orders"}, "recovery": {"trusted"}, "other": {"1"}}
	options, err := store.TakeOptions(query)
	if err != nil || len(options) != 2 || len(query) != 1 {
		t.Errorf("TakeOptions: %d options, %v, left %v", len(options), err, query)
	}
	w := newTestbed(t)
	s, err := store.Create(t.Context(), w.data.Connect(), append(options, store.ForNewSecret())...)
	if err != nil || s.Name() != "orders" {
		t.Errorf("Create: %v, %v", s, err)
	}
	if _, err := store.TakeOptions(url.Values{"recovery": {"maybe"}}); err == nil {
		t.Error("recovery=maybe: no error")
	}
	for raw, bad := range map[string]bool{
		"etcd://user:p%2Fw@host/?prefix=/a/": false,
		"etcd://user:p/w@host/":              true,
		"user:pass?word@host":                true,
	} {
		if err := store.CheckURL(raw); (err != nil) != bad || err != nil && strings.Contains(err.Error(), "p/w") {
			t.Errorf("CheckURL(%s): %v", raw, err)
		}
	}
}

func TestKeysText(t *testing.T) {
	for text, want := range map[string]store.Keys{
		"":                 nil,
		"0f000000000000a0": {{Check: store.CheckValue{0: 0x0f, 7: 0xa0}}},
		"0100000000000000,0200000000000000@1800000000,0300000000000000@1800000001": append(keysOf(1), store.Key{Check: store.CheckValue{2}, From: 1800000000}, store.Key{Check: store.CheckValue{3}, From: 1800000001}),
	} {
		var got store.Keys
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) || want.String() != text {
			t.Errorf("%q became %v, %v", text, got, err)
		}
	}
	const a, b = "0100000000000000", "0200000000000000"
	for _, bad := range []string{"0f", "0g000000000000a0", a + "@1800000000", a + "," + b, a + "," + b + "@", a + "," + b + "@1,", a + "," + b + "@0", a + "00," + b + "@1", a + "," + b + "@2," + b + "@2"} {
		if err := new(store.Keys).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// keysOf returns the keys of a secret with one key, whose check value begins with b.
func keysOf(b byte) store.Keys { return store.Keys{{Check: store.CheckValue{b}}} }

// TestAddKeys: keys are added once, far enough ahead, after those that are there, and by one space of an engine; and they
// are still there when the data goes back to a copy from before.
func TestAddKeys(t *testing.T) {
	w := newTestbed(t)
	s, other := w.create(store.ForSecret(keysOf(1))), w.create(store.WithSpace("other"), store.ForSecret(keysOf(9)))
	before := w.data.Snapshot()
	earliest := w.now.Add(pause).Unix()
	next := func(b byte, from int64) store.Keys {
		return append(keysOf(1), store.Key{Check: store.CheckValue{b}, From: from})
	}
	for i, step := range []struct {
		keys store.Keys
		want error
	}{
		{keysOf(1), nil},
		{next(2, earliest-1), store.ErrInvalidOption},
		{next(9, earliest), store.ErrWrongSecret}, // claimed by the other space
		{next(2, earliest), nil},
		{next(2, earliest), nil},
		{next(3, earliest), store.ErrWrongSecret},
		{keysOf(1), store.ErrWrongSecret},
	} {
		if err := s.AddKeys(t.Context(), step.keys); !errors.Is(err, step.want) {
			t.Errorf("step %d: %v, want %v", i, err, step.want)
		}
	}
	if err := other.AddKeys(t.Context(), append(keysOf(9), store.Key{Check: store.CheckValue{2}, From: earliest})); !errors.Is(err, store.ErrWrongSecret) {
		t.Errorf("two spaces have one key: %v", err)
	}
	w.data.Restore(before)
	v, err := s.Read(t.Context(), nil, store.Page{})
	if err != nil || !slices.Equal(v.Meta.Check, next(2, earliest)) || v.Meta.Losses != 1 {
		t.Errorf("after a restore: %+v, %v", v, err)
	}
}

// TestOneSpaceForASecret: two spaces of one engine with one secret would grant the same nodes twice.
func TestOneSpaceForASecret(t *testing.T) {
	w := newTestbed(t)
	secret, other := keysOf(1), keysOf(2)
	bind := func(s *store.Space, keys store.Keys) error {
		v := s.Assume()
		done, _, err := s.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: "x", Second: v.Now, Body: []byte("1")}}, Keys: keys})
		if err == nil && !done {
			t.Errorf("%s: nothing was changed", s)
		}
		return err
	}
	first, second := w.create(), w.create(store.WithSpace("second"))
	if err := bind(first, secret); err != nil {
		t.Fatal(err)
	}
	if err := bind(second, secret); !errors.Is(err, store.ErrWrongSecret) || !strings.Contains(err.Error(), `space "default"`) {
		t.Errorf("a second space was bound: %v, want ErrWrongSecret that names the first", err)
	}
	if err := bind(second, other); err != nil {
		t.Error(err)
	}
	for what, make := range map[string]func() (*store.Space, error){
		"Create with ForNewSecret": func() (*store.Space, error) {
			return store.Create(t.Context(), w.data.Connect(), store.WithSpace("third"), store.ForSecret(secret), store.ForNewSecret())
		},
		"Open with OrCreate": func() (*store.Space, error) {
			return store.Open(t.Context(), w.data.Connect(), store.WithSpace("third"), store.ForSecret(secret), store.OrCreate())
		},
	} {
		if s, err := make(); !errors.Is(err, store.ErrWrongSecret) {
			t.Errorf("%s: %v, %v, want ErrWrongSecret", what, s, err)
		}
	}
	byOperator := func() (*store.Space, error) {
		return store.Create(t.Context(), w.data.Connect(), w.options([]store.Option{store.WithSpace("third"), store.ForSecret(secret)})...)
	}
	if _, err := byOperator(); !errors.Is(err, store.ErrWrongSecret) {
		t.Errorf("Create beside a space that grants leases: %v, want ErrWrongSecret", err)
	}
	storetest.Put(t, w.data.Connect(), "default/meta", "damaged")
	third, err := byOperator()
	if err != nil {
		t.Fatal(err)
	}
	w.wantFloor("created for a secret of another space", third, pause)
	fourth := w.create(store.WithSpace("fourth"))
	if err := bind(fourth, secret); !errors.Is(err, store.ErrWrongSecret) || !strings.Contains(err.Error(), `space "third"`) {
		t.Errorf("a fourth space was bound: %v, want ErrWrongSecret that names the third", err)
	}
	storetest.Put(t, w.data.Connect(), "_secrets/"+store.CheckValue{3}.String(), "fourth") // the space is lost, its claim is not
	if err := bind(fourth, keysOf(3)); err != nil {
		t.Error(err)
	}
}

// TestClaimIsMadeAnew: a space that lost everything is made anew by a process that knows it, with its claim, unless another
// space has got its secret meanwhile.
func TestClaimIsMadeAnew(t *testing.T) {
	secret := keysOf(1)
	for _, taken := range []bool{false, true} {
		w := newTestbed(t)
		first := w.create(store.ForSecret(secret))
		w.data.Wipe()
		if err := w.data.Connect().Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if taken {
			w.create(store.WithSpace("second"), store.ForSecret(secret))
		}
		_, err := first.Read(t.Context(), nil, store.Page{})
		if want := map[bool]error{true: store.ErrWrongSecret}[taken]; !errors.Is(err, want) {
			t.Errorf("another space has the secret: %v: %v, want %v", taken, err, want)
		}
		options := w.options([]store.Option{store.WithSpace("third"), store.ForSecret(secret), store.ForNewSecret()})
		if _, err := store.Create(t.Context(), w.data.Connect(), options...); !errors.Is(err, store.ErrWrongSecret) {
			t.Errorf("another space has the secret: %v: Create: %v, want ErrWrongSecret", taken, err)
		}
	}
}
