// Package storetest helps to test engines, and what stands on them: [Run] is the conformance suite that every
// [store.Engine] must pass, [Memory] is an engine to play with, [Intercept] makes calls fail, [Plant] plants bugs.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
)

// Run tests that an engine keeps the promises of [store.Engine], each in a subtest with data of its own:
// start makes empty data, on which Prepare was not called yet, and returns a function that opens one more
// handle on it. Run closes the handles.
//
// It does not test what takes more than handles: that no crash loses anything, that the lineage changes when
// it must, that unsafe settings are refused. An engine has tests of its own for that.
func Run(t *testing.T, start func(t *testing.T) (connect func(t *testing.T) store.Engine)) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(newTestbed(t, t, start(t))) })
	}
}

// A testbed is what one check plays in.
type testbed struct {
	testing.TB
	open    func() store.Engine
	handles [4]store.Engine
}

func newTestbed(t *testing.T, tb testing.TB, connect func(t *testing.T) store.Engine) *testbed {
	w := &testbed{TB: tb}
	w.open = func() store.Engine {
		engine := connect(t)
		t.Cleanup(func() { engine.Close() })
		return engine
	}
	for i := range w.handles {
		w.handles[i] = w.open()
	}
	return w
}

var checks = []struct {
	name string
	run  func(w *testbed)
}{
	{"Prepare", checkPrepare},
	{"Calls", func(w *testbed) { w.play(1, 160, anything(store.MaxEntries, trickyNames())) }},
	{"Concurrent", func(w *testbed) { w.play(6, 25, anything(3, []string{"a", "b", "c"})) }},
	{"Counter", func(w *testbed) { w.play(8, 12, func(p *player) Call { return p.swap("counter", "counter") }) }},
	{"WriteSkew", func(w *testbed) { w.play(4, 24, func(p *player) Call { return p.swap(fmt.Sprint(p.who%2), "0", "1") }) }},
	{"Meta", func(w *testbed) { w.play(5, 24, underMeta) }},
	{"Context", checkContext},
	{"Close", checkClose},
}

// trickyNames returns names that an order by anything but bytes would misplace, and long ones.
func trickyNames() []string {
	names := strings.Fields("a a- a. a/ a/. a/1 a/10 a/2 a0 a_ aa b - . .. / _ 0 9")
	for i := range store.MaxEntries {
		names = append(names, strings.Repeat("/", i+2), strings.Repeat("n", store.MaxName-i))
	}
	return names
}

// anything makes calls of any kind, with most entries at most, that expect what is there more often than not.
func anything(most int, names []string) func(*player) Call {
	long := make([]byte, store.MaxValue*most/store.MaxEntries)
	for i := range long {
		long[i] = byte(i ^ i>>8)
	}
	return func(p *player) Call {
		some := func() (some []string) {
			for _, i := range p.Perm(len(names))[:p.IntN([]int{4, most + 1}[p.IntN(2)])] {
				some = append(some, names[i])
			}
			return some
		}
		if p.IntN(3) == 0 {
			from, to := names[p.IntN(len(names))], []string{names[p.IntN(len(names))], "zzz"}[p.IntN(2)]
			return Call{Names: some(), Page: store.Page{From: from, To: to, Limit: []int{0, 1, 2, 50, store.MaxPage}[p.IntN(5)]}}
		}
		c := p.swap("", some()...)
		values := [][]byte{nil, {}, {}, {0}, {0, 0}, c.Put[0].Value, []byte("\xff'\"\\\n%s$1"), long[:256], long[:257], long}
		if n := len(c.Expect); n > 0 && p.IntN(4) == 0 {
			c.Expect[p.IntN(n)].Value = values[p.IntN(len(values))]
		}
		c.Put = nil
		for i, name := range some() { // nothing but the first may be long
			c.Put = append(c.Put, store.Entry{Name: name, Value: values[p.IntN(len(values)-min(i, 1))]})
		}
		return c
	}
}

// underMeta is a call of one of several players who all expect an entry that one of them replaces.
func underMeta(p *player) Call {
	if own := fmt.Sprint("own/", p.who); p.who > 0 {
		return p.swap(own, "meta", own)
	} else if p.n%2 == 0 {
		return p.swap("meta", "meta")
	}
	return Call{Names: []string{"meta"}, Page: store.Page{From: "own", To: "p", Limit: 9}}
}

// is checks an error.
func (w *testbed) is(what string, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// put puts the entry a, of which the checks that follow tell what became.
func put(value string) Call {
	return Call{Swap: true, Put: []store.Entry{{Name: "a", Value: []byte(value)}}}
}

// first puts 1, and 2 and 1 again and again.
func (w *testbed) first() { w.play(1, 9, func(p *player) Call { return put(fmt.Sprint(1 + p.n%2)) }) }

// found checks that the entry is 1, and returns that.
func (w *testbed) found(when string, engine store.Engine) []byte {
	w.Helper()
	answer, err := engine.Read(w.Context(), []string{"a"}, store.Page{})
	if err != nil || !equal(answer.Named, put("1").Put) {
		w.Fatalf("%s: found %s, error %v, want 1", when, show(answer.Named), err)
	}
	return answer.Named[0].Value
}

// fail checks that calls fail.
func (w *testbed) fail(when string, ctx context.Context, engine store.Engine, want error) {
	w.Helper()
	for _, c := range []Call{put("2"), {Names: []string{"a"}}} {
		_, err := c.On(ctx, engine)
		w.is(when+": "+c.String(), err, want)
	}
}

func checkPrepare(w *testbed) {
	// An engine that needs nothing holds nothing either.
	if answer, err := w.handles[0].Read(w.Context(), []string{"a"}, store.Page{To: "z", Limit: 1}); err == nil {
		if answer.Named[0].Value != nil || len(answer.Page) > 0 {
			w.Errorf("before Prepare a Read found %s and %s", show(answer.Named), show(answer.Page))
		}
	} else {
		w.fail("before Prepare", w.Context(), w.handles[0], store.ErrNoStore)
	}
	var wg sync.WaitGroup
	for _, engine := range w.handles {
		wg.Go(func() { w.is("Prepare while others do", engine.Prepare(w.Context()), nil) })
	}
	wg.Wait()
	w.first()
	one := put("1")
	w.handles[0].Swap(w.Context(), nil, one.Put)
	one.Put[0].Value[0] = 'x'
	w.is("another Prepare", w.handles[1].Prepare(w.Context()), nil)
	w.found("after another Prepare, and a change of the buffer that was put", w.handles[0])[0] = 'x'
	w.found("after a change of an answer", w.handles[0])
	if s := w.handles[0].String(); s == "" || regexp.MustCompile(`://[^/@]*:[^/@]*[^/@x][^/@]*@`).MatchString(s) {
		w.Errorf("String: %q: want it to tell the place, and no password", s)
	}
}

func checkContext(w *testbed) {
	w.first()
	done, cancel := context.WithCancel(w.Context())
	cancel()
	w.fail("context cancelled", done, w.handles[0], context.Canceled)
	w.is("Prepare with a cancelled context", w.handles[0].Prepare(done), context.Canceled)
	w.found("after calls with a cancelled context", w.handles[1])
	for i := range 20 { // at any moment of a call
		soon, cancel := context.WithTimeout(w.Context(), time.Duration(i)*100*time.Microsecond)
		if _, err := put("1").On(soon, w.handles[0]); err != nil {
			w.is("Swap whose context timed out", err, context.DeadlineExceeded)
		}
		cancel()
		w.found("after a context timed out", w.handles[i%2])
	}
}

func checkClose(w *testbed) {
	w.first()
	for _, engine := range w.handles {
		other := w.open()
		w.is("Close", engine.Close(), nil)
		w.fail("after Close", w.Context(), engine, fs.ErrClosed)
		w.is("Prepare after Close", engine.Prepare(w.Context()), fs.ErrClosed)
		w.found("after another handle was closed", other)
		other.Close()
	}
	w.found("after all handles were closed", w.open())
}
