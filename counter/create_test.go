package counter_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestBadInput has names and options that no counter has: errors say what was expected.
func TestBadInput(t *testing.T) {
	counters := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	for _, name := range []string{"", "-a", "a-", "a b", "A", "a/", strings.Repeat("a", 51), "a~", "ä"} {
		_, created := counters.Create(t.Context(), name)
		_, opened := counters.Open(t.Context(), name, counter.OrCreate())
		_, strict := counters.OpenStrict(t.Context(), name)
		_, got := counters.Get(t.Context(), name)
		_, advanced := counters.Advance(t.Context(), name, 5)
		for _, err := range []error{created, opened, strict, got, advanced} {
			if !errors.Is(err, counter.ErrInvalidName) || !strings.Contains(err.Error(), "want up to 50 of a-z") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for want, option := range map[string]counter.Option{
		"want 0 <= start <= end":         counter.WithStart(-1),
		"end 0: want":                    counter.WithEnd(0),
		"stride 0: want 1 or more":       counter.WithStride(0),
		"numbers a second":               counter.WithRate(-1),
		"1000000000000000001: want 0 to": counter.WithRate(1e18 + 1),
		"want 1 <= least":                counter.WithRunLength(0, 5),
		"<= most":                        counter.WithRunLength(5, 4),
		"logger is nil":                  counter.WithLogger(nil),
		"invalid option: option 1":       {},
		"OrCreate is for Open":           counter.OrCreate(),
	} {
		if _, err := counters.Create(t.Context(), "orders", option); !errors.Is(err, counter.ErrInvalidOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := counters.Get(t.Context(), "orders"); !errors.Is(err, counter.ErrNoCounter) || !strings.Contains(err.Error(), "randflake counter create") {
		t.Errorf("%v, want ErrNoCounter", err)
	}
}

// TestCreated: a counter is made once, is what it was made to be, and can't be opened as another one.
func TestCreated(t *testing.T) {
	counters := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	for _, name := range []string{"b", "a/2", "a/10", strings.Repeat("z", 50)} {
		if _, err := counters.Create(t.Context(), name, counter.WithStart(5), counter.WithStride(10), counter.WithEnd(95), counter.WithRate(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := counters.Create(t.Context(), name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v, want fs.ErrExist", err)
		}
	}
	if i := get(t, counters, "b"); i.Start != 5 || i.Stride != 10 || i.End != 95 || i.Rate != 7 || i.Next != 5 || i.Left != 10 || i.Taken != 0 {
		t.Errorf("%+v", i)
	}
	for want, option := range map[string]counter.Option{
		"start is 5, not 6": counter.WithStart(6), "stride is 10, not 1": counter.WithStride(1),
		"end is 95, not 94": counter.WithEnd(94), "rate is 7, not 0": counter.WithRate(0),
	} {
		_, err := counters.Open(t.Context(), "b", option, counter.OrCreate())
		_, strict := counters.OpenStrict(t.Context(), "b", option)
		if !errors.Is(err, counter.ErrMismatch) || !errors.Is(strict, counter.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v and %v, want %q", err, strict, want)
		}
	}
	for begin, want := range map[string][]string{"a/": {"a/10", "a/2"}, "b": {"b"}, "c": nil, "": {"a/10", "a/2", "b", strings.Repeat("z", 50)}} {
		var names []string
		for info, err := range counters.List(t.Context(), begin) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("list %q: %q, want %q", begin, names, want)
		}
	}
}

// TestAdvance goes to the first number that is not before the one that is wanted, and never back.
func TestAdvance(t *testing.T) {
	counters := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5), counter.WithStride(10), counter.WithEnd(100)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to, next int64
		skipped  uint64
	}{{0, 5, 0}, {5, 5, 0}, {6, 15, 1}, {35, 35, 3}, {30, 35, 3}, {95, 95, 9}, {96, 0, 10}} {
		info, err := counters.Advance(t.Context(), "orders", c.to)
		if err != nil || info.Next != c.next || info.Skipped != c.skipped {
			t.Errorf("to %d: %+v, %v, want %d", c.to, info, err, c.next)
		}
	}
	if _, err := counters.Advance(t.Context(), "orders", 50); err == nil || !strings.Contains(err.Error(), "the numbers up to 95 were taken") {
		t.Errorf("back: %v", err)
	}
	if _, err := counters.Open(t.Context(), "orders", quiet); !errors.Is(err, counter.ErrEnd) {
		t.Errorf("%v, want ErrEnd", err)
	}
	if _, err := counters.Create(t.Context(), "rated", counter.WithRate(10)); err != nil {
		t.Fatal(err)
	}
	if info, err := counters.Advance(t.Context(), "rated", 150); err != nil || info.Next != 150 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := counters.Advance(t.Context(), "rated", 1000); !errors.Is(err, counter.ErrRate) {
		t.Errorf("%v, want ErrRate", err)
	}
}

// TestCorrupt has something else where a record should be: nothing is changed, and nothing given.
func TestCorrupt(t *testing.T) {
	engine := storetest.NewMemory().Connect()
	counters := counter.On(newSpace(t, engine))
	storetest.Put(t, engine, "default/c/orders", "1769860800 what is this")
	_, got := counters.Get(t.Context(), "orders")
	_, opened := counters.Open(t.Context(), "orders", counter.OrCreate())
	_, advanced := counters.Advance(t.Context(), "orders", 5)
	for _, err := range []error{got, opened, advanced} {
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "orders") {
			t.Errorf("%v, want ErrCorrupt", err)
		}
	}
}
