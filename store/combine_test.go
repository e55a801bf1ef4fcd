package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// oneEngine is a handle whose swaps are those of an engine that several handles share.
type oneEngine struct {
	store.Engine
	shared store.Engine
	closed atomic.Bool
}

func (e *oneEngine) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	if e.closed.Load() {
		return e.Engine.Swap(ctx, expect, put)
	}
	return e.shared.Swap(ctx, expect, put)
}

func (e *oneEngine) Close() error {
	e.closed.Store(true)
	return e.Engine.Close()
}

// TestCombinedEngine: an engine whose swaps are combined keeps the promises of one.
func TestCombinedEngine(t *testing.T) {
	storetest.RunEngine(t, func(t *testing.T) func(t *testing.T) store.Engine {
		data := storetest.NewMemory()
		shared := store.Combined(storetest.Intercept(data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			time.Sleep(100 * time.Microsecond) // so that others wait
			return c.On(ctx, e)
		}))
		return func(t *testing.T) store.Engine { return &oneEngine{Engine: data.Connect(), shared: shared} }
	})
}

// A gate is a combined engine in memory whose swaps wait until they are let through. The first one is under way.
type gate struct {
	*testing.T
	store.Engine
	open  chan struct{} // closed to let them through
	begun chan struct{} // a swap is under way
	calls []string      // what each swap of the engine put
	fail  error         // of those after the first
	group sync.WaitGroup
}

func newGate(t *testing.T) *gate {
	g := &gate{T: t, open: make(chan struct{}), begun: make(chan struct{}, 1)}
	engine := storetest.NewMemory().Connect()
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Engine = store.Combined(storetest.Intercept(engine, g.call))
	g.group.Go(func() { storetest.Put(t, g, "first", "1") })
	<-g.begun
	return g
}

// call is one of the engine: one at a time.
func (g *gate) call(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
	var names []string
	for _, entry := range c.Put {
		names = append(names, entry.Name)
	}
	g.calls = append(g.calls, strings.Join(names, " "))
	select {
	case g.begun <- struct{}{}:
	default:
	}
	<-g.open
	if g.fail != nil && len(g.calls) > 1 {
		return store.Answer{}, g.fail
	}
	return c.On(ctx, e)
}

// swap makes a call that waits, and checks its answer.
func (g *gate) swap(ctx context.Context, expect, put []store.Entry, swapped bool, want error, found ...store.Entry) {
	g.Helper()
	waiting := store.Waiting(g.Engine)
	g.group.Go(func() {
		a, err := g.Swap(ctx, expect, put)
		if a.Swapped != swapped || !errors.Is(err, want) {
			g.Errorf("put %s: swapped %t, %v, want %t, %v", put[0].Name, a.Swapped, err, swapped, want)
		}
		if found != nil && fmt.Sprintf("%q", a.Named) != fmt.Sprintf("%q", found) {
			g.Errorf("put %s: found %q, want %q", put[0].Name, a.Named, found)
		}
	})
	for deadline := time.Now().Add(time.Minute); store.Waiting(g.Engine) == waiting; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			g.Fatal("the swap does not wait")
		}
	}
}

// want lets all through, and checks what each swap after the first put.
func (g *gate) want(calls ...string) {
	g.Helper()
	close(g.open)
	g.group.Wait()
	if got := g.calls[1:]; !slices.Equal(got, calls) {
		g.Errorf("swaps put %q, want %q", got, calls)
	}
	storetest.Put(g, g, "last", "1") // nothing is left under way
}

// entries returns entries of names and values by turns. An empty value stands for none.
func entries(all ...string) (list []store.Entry) {
	for i := 0; i < len(all); i += 2 {
		list = append(list, storetest.Entry(all[i], all[i+1])...)
	}
	return list
}

// TestCombinedSwaps: those that have nothing to do with each other are one, and the others are not.
func TestCombinedSwaps(t *testing.T) {
	type swap struct{ expect, put []store.Entry }
	long := func(name string) swap { return swap{nil, entries(name, strings.Repeat("x", store.MaxValue))} }
	var many []store.Entry
	for i := range store.MaxEntries {
		many = append(many, entries(fmt.Sprint("many", i), "")...)
	}
	for name, test := range map[string]struct {
		swaps []swap
		want  []string
	}{
		"each its own":                      {[]swap{{nil, entries("a", "1")}, {nil, entries("b", "1")}, {nil, entries("c", "1")}}, []string{"a b c"}},
		"all expect the same":               {[]swap{{entries("m", ""), entries("a", "1")}, {entries("m", ""), entries("b", "1")}}, []string{"a b"}},
		"two put the same":                  {[]swap{{nil, entries("a", "1")}, {nil, entries("a", "2")}, {nil, entries("b", "1")}}, []string{"a b", "a"}},
		"one expects what another one puts": {[]swap{{nil, entries("a", "1")}, {entries("a", "1"), entries("b", "1")}}, []string{"a", "b"}},
		"one puts what another one expects": {[]swap{{entries("a", ""), entries("b", "1")}, {nil, entries("a", "1")}}, []string{"b", "a"}},
		"too many":                          {[]swap{{entries("x", ""), entries("a", "1")}, {many, entries("b", "1")}, {nil, entries("c", "1")}}, []string{"a c", "b"}},
		"too much":                          {[]swap{long("a"), long("b"), long("c"), long("d"), long("e"), long("f"), long("g"), long("h"), long("i")}, []string{"a b c d e f g h", "i"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			for _, s := range test.swaps {
				g.swap(t.Context(), s.expect, s.put, true, nil, s.expect...)
			}
			g.want(test.want...)
		})
	}
}

// TestCombinedRefusals: one whose expectation is wrong learns what there is, and has no part in what becomes of the others.
func TestCombinedRefusals(t *testing.T) {
	g := newGate(t)
	g.swap(t.Context(), entries("m", "", "a", ""), entries("a", "1"), true, nil, entries("m", "", "a", "")...)
	g.swap(t.Context(), entries("m", "", "b", "9"), entries("b", "1"), false, nil, entries("m", "", "b", "")...)
	g.swap(t.Context(), entries("first", ""), entries("c", "1"), false, nil, entries("first", "1")...)
	g.swap(t.Context(), entries("m", "", "d", ""), entries("d", "1"), true, nil, entries("m", "", "d", "")...)
	g.swap(t.Context(), entries("m", "9"), entries("e", "1"), false, nil, entries("m", "")...)
	g.want("a b c d", "a d", "e")
}

// TestCombinedErrors: an error is that of all.
func TestCombinedErrors(t *testing.T) {
	g := newGate(t)
	g.fail = errors.New("no answer")
	for _, name := range []string{"a", "b", "c"} {
		g.swap(t.Context(), nil, entries(name, "1"), false, g.fail)
	}
	close(g.open)
	g.group.Wait()
	if want := []string{"first", "a b c"}; !slices.Equal(g.calls, want) {
		t.Errorf("swaps put %q, want %q", g.calls, want)
	}
}

// TestCombinedGone: a caller that has gone while it waited is not waited for, and nothing that it asked for is done.
func TestCombinedGone(t *testing.T) {
	for _, others := range [][]string{nil, {"b"}, {"b", "c"}} {
		g := newGate(t)
		ctx, cancel := context.WithCancel(t.Context())
		g.swap(ctx, nil, entries("a", "1"), false, context.Canceled)
		for _, name := range others {
			g.swap(t.Context(), nil, entries(name, "1"), true, nil)
		}
		cancel()
		if len(others) == 0 {
			g.want()
		} else {
			g.want(strings.Join(others, " "))
		}
	}
}
