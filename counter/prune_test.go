package counter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// TestPrune removes the counters of periods that are over, and no others. Their names are never used again, even for a clock that
// is years behind, nor in a program that still has one open.
func TestPrune(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	space := newSpace(t, leasetest.NewMemory().Connect(), store.WithClock(func() time.Time { return now }))
	counters := counter.On(space).As("ada")
	var kept []string
	for _, name := range []string{"a/fy2027", "a/2026-11", "a/2026", "a/2026-11-24", "a/2026-12-31", "a/2026-q4", "a/2026-w48", "a/2026-00", "a/orders", "b/2025"} {
		open(t, counters, name)
		kept = append(kept, name)
	}
	gone := []string{"a/fy2025", "a/2025", "a/2026-10", "a/2026-11-23", "a/x/2024-02-30", "a/2026-q3", "a/2026-w47"}
	handles := map[string]*counter.Counter{}
	for _, name := range gone {
		handles[name] = open(t, counters, name, counter.WithRunLength(2, 2))
	}
	for i := range 70 { // several batches
		open(t, counters, fmt.Sprintf("a/%03d/2026-01-01", i))
	}
	if _, err := counters.Prune(t.Context(), "a/", now.Add(time.Hour)); !errors.Is(err, counter.ErrInvalidOption) {
		t.Errorf("in the future: %v", err)
	}
	for _, begin := range []string{"A/", "/a", "a//~", strings.Repeat("a", 58)} {
		if _, err := counters.Prune(t.Context(), begin, now); !errors.Is(err, counter.ErrInvalidName) {
			t.Errorf("%q: %v", begin, err)
		}
	}
	if v, err := space.Look(t.Context(), nil, store.Page{}); err != nil || len(v.Meta.Ended) > 0 {
		t.Errorf("%+v, %v after prunes that were refused", v.Meta, err)
	}
	removed, err := counters.Prune(t.Context(), "a/", now)
	if removed != len(gone)+70 || err != nil {
		t.Errorf("%d removed, %v", removed, err)
	}
	found := map[string]bool{}
	for info, err := range counters.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		found[info.Name] = true
	}
	for _, name := range kept {
		if !found[name] {
			t.Errorf("%s is gone", name)
		}
	}
	if len(found) != len(kept) {
		t.Errorf("left: %v", found)
	}
	now = now.AddDate(-3, 0, 0) // a clock that is wrong
	for name, c := range handles {
		for want := int64(1); want <= 2; want++ {
			if n, err := c.Next(); n != want || err != nil {
				t.Errorf("%s, open: %d, %v", name, n, err)
			}
		}
		if n, err := c.Wait(t.Context()); !errors.Is(err, counter.ErrEnd) {
			t.Errorf("%s, open: %d, %v, want ErrEnd", name, n, err)
		}
		_, err := counters.Open(t.Context(), name, counter.OrCreate(), counter.UnusedBefore(now))
		if !errors.Is(err, counter.ErrEnd) {
			t.Errorf("%s, anew: %v, want ErrEnd", name, err)
		}
	}
	if v, err := space.Look(t.Context(), nil, store.Page{}); err != nil || v.Meta.Floor != 0 {
		t.Errorf("a prune passes for a loss: %+v, %v", v.Meta, err)
	}
	if words, err := counters.Log(t.Context(), ""); err != nil || len(words) != 1 || words[0].By != "ada" { // of three steps
		t.Errorf("%+v, %v", words, err)
	}
}

// TestPruneDuringCreate: a creation that began before a prune does not come true after it.
func TestPruneDuringCreate(t *testing.T) {
	memory := leasetest.NewMemory()
	newSpace(t, memory.Connect())
	first := true
	space, err := store.Open(t.Context(), leasetest.Intercept(memory.Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		if !c.Swap || !first {
			return c.On(ctx, e)
		}
		first = false
		other, err := store.Open(t.Context(), memory.Connect())
		if err == nil {
			_, err = counter.On(other).Prune(t.Context(), "", time.Now())
		}
		if err != nil {
			t.Error(err)
		}
		return c.On(ctx, e)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := counter.On(space).Create(t.Context(), "a/2025"); !errors.Is(err, counter.ErrEnd) {
		t.Errorf("%v, want ErrEnd", err)
	}
}

// TestReset begins a counter anew by an operator's word, with which numbers repeat. What an older handle or run gives back is
// of no use to the new numbers, though their positions are the same.
func TestReset(t *testing.T) {
	counters := counter.On(newSpace(t, leasetest.NewMemory().Connect())).As("ada")
	before := open(t, counters, "a", counter.WithRunLength(5, 5))
	open(t, counters, "b", counter.WithRunLength(5, 5)).Return(t.Context())
	run, _, err := counters.Allocate(t.Context(), "b", 5, counter.NewToken(time.Now()))
	if err != nil || run.First != 1 {
		t.Fatal(run, err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := counters.Reset(t.Context(), name, 5, 1); !errors.Is(err, counter.ErrMismatch) {
			t.Errorf("%v, want ErrMismatch", err)
		}
		if info, err := counters.Reset(t.Context(), name, 6, 1); err != nil || info.Next != 1 || info != get(t, counters, name) {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	if again, _, err := counters.Allocate(t.Context(), "b", 5, run.Token); !errors.Is(err, counter.ErrInvalidToken) {
		t.Errorf("a run from before the reset, asked for again: %+v, %v, want ErrInvalidToken", again, err)
	}
	if anew, _, err := counters.Allocate(t.Context(), "a", 5, counter.NewToken(time.Now())); err != nil || anew.First != 1 {
		t.Fatal(anew, err)
	}
	if anew, _, err := counters.Allocate(t.Context(), "b", 5, counter.NewToken(time.Now())); err != nil || anew.First != 1 {
		t.Fatal(anew, err)
	}
	if n, err := before.Return(t.Context()); n != 0 || err != nil {
		t.Errorf("%d returned, %v", n, err)
	}
	if done, err := counters.ReturnRun(t.Context(), "b", run, 5); done || err != nil {
		t.Errorf("%t, %v", done, err)
	}
	for _, name := range []string{"a", "b"} {
		if next := get(t, counters, name).Next; next != 6 {
			t.Errorf("%s: %d next", name, next)
		}
	}
	if words, err := counters.Log(t.Context(), "a"); err != nil || len(words) != 2 || words[1].What != "reset from 6 to 1" || words[1].By != "ada" {
		t.Errorf("%+v, %v", words, err)
	}
	if _, err := counters.Reset(t.Context(), "a", 6, -1); err != nil {
		t.Error(err)
	}
}

// TestDelete: a program can't make a deleted counter anew, but an operator can.
func TestDelete(t *testing.T) {
	space := newSpace(t, leasetest.NewMemory().Connect())
	counters := counter.On(space)
	handle := open(t, counters, "a", counter.WithRunLength(5, 5))
	if err := counters.Delete(t.Context(), "a", 1); !errors.Is(err, counter.ErrMismatch) {
		t.Errorf("%v, want ErrMismatch", err)
	}
	if err := counters.Delete(t.Context(), "a", 6); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if n, err := handle.Wait(t.Context()); i < 5 && err != nil || i == 5 && !errors.Is(err, counter.ErrNoCounter) {
			t.Errorf("%d, %v", n, err)
		}
	}
	_, opened := counters.Open(t.Context(), "a", counter.OrCreate())
	_, dated := counters.Open(t.Context(), "a", counter.OrCreate(), counter.WithRate(1), counter.UnusedBefore(time.Now().Add(-time.Hour)))
	_, got := counters.Get(t.Context(), "a")
	_, _, allocated := counters.Allocate(t.Context(), "a", 1, counter.NewToken(time.Now()))
	_, advanced := counters.Advance(t.Context(), "a", 9)
	for _, err := range []error{opened, dated, got, allocated, advanced, counters.Delete(t.Context(), "a", 6)} {
		if !errors.Is(err, counter.ErrNoCounter) {
			t.Errorf("%v, want ErrNoCounter", err)
		}
	}
	for info, err := range counters.List(t.Context(), "") {
		t.Errorf("%+v, %v", info, err)
	}
	word := counter.UnusedBefore(time.Now())
	if info, err := counters.Create(t.Context(), "a", word, counter.WithRate(5)); err != nil || info.Next != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	if _, err := counters.Create(t.Context(), "a", word); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want ErrExist", err)
	}
	if n, err := open(t, counters, "a").Next(); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if v, err := space.Look(t.Context(), nil, store.Page{}); err != nil || v.Meta.Floor != 0 {
		t.Errorf("a deletion passes for a loss: %+v, %v", v.Meta, err)
	}
}
