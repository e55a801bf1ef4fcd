package segments_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/randflake/randflake/segments"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var quiet = segments.WithLogger(slog.New(slog.DiscardHandler))

// newSpace returns a new space on engine.
func newSpace(t testing.TB, engine store.Engine, options ...store.Option) *store.Store {
	t.Helper()
	space, err := store.Create(t.Context(), engine, append(options, store.ForNewSecret())...)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, counters *segments.Counters, name string, options ...segments.Option) *segments.Counter {
	t.Helper()
	c, err := counters.Open(t.Context(), name, append(options, segments.OrCreate(), quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestNumbers: a counter gives its numbers in order, from its start on, in its stride, and no other, and then ErrEnd.
func TestNumbers(t *testing.T) {
	space := newSpace(t, storetest.NewMemory().Connect())
	for name, want := range map[string]struct {
		options []segments.Option
		numbers []int64
	}{
		"one":    {[]segments.Option{segments.WithEnd(3)}, []int64{1, 2, 3}},
		"zero":   {[]segments.Option{segments.WithStart(0), segments.WithEnd(1)}, []int64{0, 1}},
		"stride": {[]segments.Option{segments.WithStart(2), segments.WithStride(5), segments.WithEnd(14)}, []int64{2, 7, 12}},
		"last":   {[]segments.Option{segments.WithStart(1<<63 - 3), segments.WithStride(2)}, []int64{1<<63 - 3, 1<<63 - 1}},
	} {
		for _, block := range []int64{1, 2, 10} {
			c := open(t, segments.On(space), name+"/"+string(rune('a'+block)), append(want.options, segments.WithBlock(block, block))...)
			var got []int64
			var err error
			for n := int64(0); err == nil; {
				if n, err = c.Wait(t.Context()); err == nil {
					got = append(got, n)
				}
			}
			if !slices.Equal(got, want.numbers) || !errors.Is(err, segments.ErrEnd) {
				t.Errorf("%s in blocks of %d: %d, %v, want %d and ErrEnd", name, block, got, err, want.numbers)
			}
		}
	}
}

// TestManyHandles: numbers of many handles, used by many goroutines, are unique, in order in each handle, and the books
// balance.
func TestManyHandles(t *testing.T) {
	const handles, callers, each = 4, 4, 5000
	space := newSpace(t, storetest.NewMemory().Connect())
	var all []int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var issued, returned, lost uint64
	for range handles {
		c := open(t, segments.On(space), "orders", segments.WithBlock(1, 1000))
		var users sync.WaitGroup
		for range callers {
			users.Go(func() {
				numbers := make([]int64, each)
				for i := range numbers {
					n, err := c.Wait(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					numbers[i] = n
				}
				if !slices.IsSorted(numbers) {
					t.Error("numbers of one caller are not in order")
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, numbers...)
			})
		}
		wg.Go(func() {
			users.Wait()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			s := c.Status()
			mu.Lock()
			defer mu.Unlock()
			issued, returned, lost = issued+s.Issued, returned+s.Returned, lost+s.Lost
			if s.Held != 0 || s.Unsure != 0 || s.Issued != callers*each {
				t.Errorf("%+v", s)
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != handles*callers*each {
		t.Errorf("%d different numbers of %d", n, handles*callers*each)
	}
	info, err := segments.On(space).Get(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if info.Taken != issued+returned+lost || info.Returned != returned || uint64(info.Next-1) != info.Taken-info.Returned {
		t.Errorf("%+v, and handles have issued %d, returned %d and lost %d", info, issued, returned, lost)
	}
}

// TestStrict: numbers of many handles are in the order of calls, without gaps.
func TestStrict(t *testing.T) {
	space := newSpace(t, storetest.NewMemory().Connect())
	var handles []*segments.Strict
	for range 3 {
		s, err := segments.On(space).OpenStrict(t.Context(), "tickets", segments.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, s)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []int64
	for i := range 30 {
		wg.Go(func() {
			last := int64(0)
			for j := range 200 {
				n, err := handles[(i+j)%len(handles)].Next(t.Context())
				if err != nil || n <= last {
					t.Errorf("%d after %d, %v", n, last, err)
					return
				}
				last = n
				mu.Lock()
				all = append(all, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i+1) {
			t.Fatalf("number %d where %d should be", n, i+1)
		}
	}
}
