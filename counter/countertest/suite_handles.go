package countertest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/counter"
)

// The tests of handles.

// testNumbers: a counter gives its numbers in order, from its start on, in its stride, and no other, and then ErrEnd.
func testNumbers(w *testbed) {
	for name, want := range map[string][]int64{
		"to/three": {1, 2, 3}, "to/one": {0, 1}, "to/fourteen": {2, 7, 12}, "to/the-last": {last - 2, last},
	} {
		c := w.handle(w.Counters, name, counter.WithRunLength(2, 2))
		var got []int64
		var err error
		for n := int64(0); err == nil; {
			if n, err = c.Wait(w.Context()); err == nil {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			w.Errorf("%s: %d, want %d", name, got, want)
		}
		w.wantErr(name+": after the last", err, counter.ErrEnd)
		_, err = w.strict(w.Counters, name).Next(w.Context())
		w.wantErr(name+": strict, after the last", err, counter.ErrEnd)
		if info := w.get(name); info.Left != 0 || info.Next != 0 || info.Taken != uint64(len(want)) {
			w.Errorf("%s: %+v, want none left", name, info)
		}
	}
}

// testManyHandles: numbers of many handles, used by many goroutines, are unique, in order in each handle, and the books
// balance.
func testManyHandles(w *testbed) {
	const handles, callers, each = 4, 4, 2000
	var all []int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	var issued, returned, lost uint64
	for range handles {
		c := w.handle(w.open(), "orders", counter.WithRunLength(1, 1000))
		var users sync.WaitGroup
		for range callers {
			users.Go(func() {
				numbers := make([]int64, each)
				for i := range numbers {
					n, err := c.Wait(w.Context())
					if err != nil {
						w.Error(err)
						return
					}
					numbers[i] = n
				}
				if !slices.IsSorted(numbers) {
					w.Error("numbers of one caller are not in order")
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, numbers...)
			})
		}
		wg.Go(func() {
			users.Wait()
			if err := c.Close(); err != nil {
				w.Error(err)
			}
			s := c.Status()
			mu.Lock()
			defer mu.Unlock()
			issued, returned, lost = issued+s.Issued, returned+s.Returned, lost+s.Lost
			if s.Held != 0 || s.Unsure != 0 || s.Issued != callers*each {
				w.Errorf("%+v", s)
			}
		})
	}
	wg.Wait()
	w.wantDifferent(all, handles*callers*each)
	if info := w.get("orders"); info.Taken != issued+returned+lost || info.Returned != returned || uint64(info.Next-1) != info.Taken-info.Returned {
		w.Errorf("%+v, and handles have issued %d, returned %d and lost %d", info, issued, returned, lost)
	}
}

// wantDifferent checks that there are so many numbers, each once.
func (w *testbed) wantDifferent(numbers []int64, want int) {
	w.Helper()
	slices.Sort(numbers)
	if n := len(slices.Compact(numbers)); n != want {
		w.Errorf("%d different numbers, want %d", n, want)
	}
}

// testStrict: numbers of many handles are in the order of calls, without gaps.
func testStrict(w *testbed) {
	var handles []*counter.Strict
	for range 3 {
		handles = append(handles, w.strict(w.open(), "threes"))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []int64
	for i := range 20 {
		wg.Go(func() {
			before := int64(0)
			for j := range 30 {
				n, err := handles[(i+j)%len(handles)].Next(w.Context())
				if err != nil || n <= before {
					w.Errorf("%d after %d, %v", n, before, err)
					return
				}
				before = n
				mu.Lock()
				all = append(all, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	for i, n := range all {
		if n != int64(2+3*i) {
			w.Fatalf("number %d where %d should be", n, 2+3*i)
		}
	}
}

// testStrictBesideOthers: a strict number is larger than all that anybody had before.
func testStrictBesideOthers(w *testbed) {
	s, c := w.strict(w.open(), "orders"), w.handle(w.open(), "orders", counter.WithRunLength(5, 5))
	var highest int64
	for range 20 {
		n, err := c.Wait(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		highest = max(highest, n)
		dst := make([]int64, 3)
		if n, err := s.Fill(w.Context(), dst); n != 3 || err != nil || dst[0] <= highest || dst[2] != dst[0]+2 {
			w.Fatalf("%d numbers %d, %v, want 3 beyond %d", n, dst, err, highest)
		}
		highest = dst[2]
	}
}

// testReturn: what is left of the first run goes back while nobody has taken a later one, and is lost otherwise.
func testReturn(w *testbed) {
	for _, tt := range []struct {
		name  string
		later bool
	}{{"orders", false}, {"others", true}} {
		c := w.handle(w.Counters, tt.name, counter.WithRunLength(10, 10))
		if n, err := c.Next(); n != 1 || err != nil {
			w.Fatalf("%d, %v, want 1", n, err)
		}
		want, next := int64(9), int64(2)
		if tt.later {
			w.handle(w.open(), tt.name, counter.WithRunLength(10, 10))
			want, next = 0, 21
		}
		if n, err := c.Return(w.Context()); n != want || err != nil {
			w.Errorf("%s: %d numbers went back, %v, want %d", tt.name, n, err, want)
		}
		if s := c.Status(); s.Issued != 1 || s.Returned != uint64(want) || s.Lost != uint64(9-want) || s.Held != 0 {
			w.Errorf("%s: %+v", tt.name, s)
		}
		if n, err := c.Wait(w.Context()); n != next || err != nil {
			w.Errorf("%s: %d, %v, want %d", tt.name, n, err, next)
		}
	}
}

// testReturnWhileUsed has callers take numbers while others give them back: none comes twice, and the books balance.
func testReturnWhileUsed(w *testbed) {
	const callers, each = 4, 500
	c := w.handle(w.Counters, "orders", counter.WithRunLength(100, 1000))
	var all [callers][each]int64
	var users, returning sync.WaitGroup
	over := make(chan struct{})
	for i := range all {
		users.Go(func() {
			for j := range all[i] {
				n, err := c.Wait(w.Context())
				if err != nil {
					w.Error(err)
				}
				all[i][j] = n
			}
		})
	}
	var taken atomic.Int64 // by those who return
	for range 2 {
		returning.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := c.Return(w.Context()); err != nil {
					w.Error(err)
				}
				for range 50 { // or hardly a number would stay
					if _, err := c.Next(); err == nil {
						taken.Add(1)
					}
				}
			}
		})
	}
	users.Wait()
	close(over)
	returning.Wait()
	if err := c.Close(); err != nil {
		w.Error(err)
	}
	var numbers []int64
	for i := range all {
		if !slices.IsSorted(all[i][:]) {
			w.Error("numbers of one caller are not in order")
		}
		numbers = append(numbers, all[i][:]...)
	}
	w.wantDifferent(numbers, callers*each)
	s, info := c.Status(), w.get("orders")
	if s.Issued != uint64(callers*each)+uint64(taken.Load()) || s.Held != 0 || info.Taken != s.Taken || info.Returned != s.Returned || uint64(info.Next)-1 != s.Issued+s.Lost {
		w.Errorf("%+v, and the place has %+v", s, info)
	}
}

// testRate: the numbers of twenty seconds may be taken at once, and those of each second after it has passed.
func testRate(w *testbed) {
	s := w.strict(w.Counters, "rated")
	fill := func(want int) {
		w.Helper()
		n, err := s.Fill(w.Context(), make([]int64, 1000))
		if w.wantErr("more than the rate", err, counter.ErrRate); n != want {
			w.Errorf("%d numbers at once, want %d", n, want)
		}
	}
	begun := w.get("rated").Next
	w.clock.Advance(time.Hour)
	fill(200)
	fill(0)
	w.clock.Advance(3 * time.Second)
	fill(30)
	if info := w.get("rated"); info.Next != begun+230 || info.Rate != 10 {
		w.Errorf("%+v, want %d next", info, begun+230)
	}
	c, err := w.Open(w.Context(), "rated", quiet)
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	_, err = c.Next()
	w.wantErr("Next without a number left at the rate", err, counter.ErrRate)
}

// testClosed: a handle that was closed gives nothing, and nobody who has gone gets one.
func testClosed(w *testbed) {
	c, s := w.handle(w.Counters, "orders"), w.strict(w.Counters, "orders")
	gone, cancel := context.WithCancel(w.Context())
	cancel()
	_, err := w.Open(gone, "orders", quiet)
	w.wantErr("Open of who has gone", err, context.Canceled)
	c.Close()
	s.Close()
	_, next := c.Next()
	_, waited := c.Wait(w.Context())
	_, strict := s.Next(w.Context())
	for _, err := range []error{next, waited, strict} {
		w.wantErr("closed", err, counter.ErrClosed)
	}
	if err := c.Close(); err != nil {
		w.Errorf("Close again: %v", err)
	}
}
