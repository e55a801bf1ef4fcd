package space

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A fake is a space on data in memory, whose store fails when it is told to.
type fake struct {
	*Space
	fails atomic.Bool
}

func newFake(t *testing.T, c config.Space, counters ...config.Counter) *fake {
	t.Helper()
	f, data := new(fake), storetest.NewMemory()
	made, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	f.fails.Store(c.Nodes < 0) // from the beginning
	c.Nodes = max(c.Nodes, 0)
	f.Space, err = Start(c, Options{Logger: slog.New(slog.DiscardHandler), Counters: counters, Open: func(ctx context.Context, _ string, options ...store.Option) (*store.Space, error) {
		return store.Open(ctx, storetest.Intercept(data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			if f.fails.Load() {
				return store.Answer{}, errors.New("the server is away")
			}
			return c.On(ctx, e)
		}), options...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// open waits until the space is open.
func (f *fake) open(t *testing.T) *State {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if state, err := f.State(); err == nil {
			return state
		}
		if time.Now().After(end) {
			t.Fatalf("not open after a minute: %v", f.Ready())
		}
	}
}

// TestBegun: a space whose store is away is not there yet, opens once the store is back, and stays begun when it goes away again.
func TestBegun(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory", Nodes: -1})
	for f.Ready() == nil || !errors.Is(f.Ready(), ErrNotOpen) {
		time.Sleep(time.Millisecond)
	}
	if _, err := f.State(); f.Begun() || !errors.Is(err, ErrNotOpen) {
		t.Errorf("without its store: begun %v, error %v", f.Begun(), err)
	}
	f.begun = f.begun.Add(-time.Hour)
	if !f.Begun() {
		t.Error("other spaces are waited for this one for an hour")
	}
	f.fails.Store(false)
	state := f.open(t)
	f.fails.Store(true)
	if ids, err := state.Minter.Texts(t.Context(), 3); err != nil || len(ids) != 3 || !f.Begun() || f.Ready() != nil {
		t.Errorf("once its store is away again: %d IDs, error %v, begun %v, ready %v: want IDs by the lease that is there", len(ids), err, f.Begun(), f.Ready())
	}
}

// TestPatterns: counters of a pattern are made at their first use, as it says, and there are only so many.
func TestPatterns(t *testing.T) {
	start := int64(100)
	f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, config.Counter{Name: "orders/*", Space: "demo", Start: &start},
		config.Counter{Name: "orders/de", Space: "demo"}, config.Counter{Name: "other/*", Space: "else"})
	all := f.open(t).Counters
	for name, want := range map[string]int64{"orders/fr": 100, "orders/de": 1, "orders/de/1": 100} {
		h, err := all.Handle(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := h.Wait(t.Context()); n != want || err != nil {
			t.Errorf("%s: the first number is %d, error %v, want %d", name, n, err, want)
		}
	}
	for _, name := range []string{"orders/*", "orders/", "orders/É", "orders/ "} {
		if _, err := all.Handle(t.Context(), name); !errors.Is(err, counter.ErrInvalidName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	for i := len(all.made); i < maxMade; i++ {
		if err := all.Made(t.Context(), fmt.Sprintf("orders/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := all.Handle(t.Context(), "orders/more")
	if made := all.Made(t.Context(), "orders/more"); !errors.Is(err, ErrMany) || !errors.Is(made, ErrMany) {
		t.Errorf("one more than there may be: errors %v, %v", err, made)
	}
	if _, err := all.Handle(t.Context(), "orders/999"); err != nil || slices.Contains(all.Names(), "orders/*") || len(all.Names()) != maxMade+1 {
		t.Errorf("one that is there: error %v; names %d", err, len(all.Names()))
	}
	f.fails.Store(true)
	if _, err := all.Handle(t.Context(), "orders/998"); err == nil {
		t.Error("a counter came from a store that fails")
	}
}

// TestClose: what fails while the store is away works again later, and nothing does after the space was closed.
func TestClose(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"})
	state := f.open(t)
	f.fails.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := state.Leases.List(ctx); err == nil {
		t.Error("a store that fails lists leases")
	}
	f.fails.Store(false)
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := f.State(); !errors.Is(err, ErrNotOpen) || f.Ready() == nil {
		t.Errorf("after close: error %v, ready %v", err, f.Ready())
	}
}
