package leasetest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
)

// A CounterMaker makes a place for one test that keeps counters, new and empty, which has these: of each the name, start,
// stride, end and rate are said. It takes its time from clock and nothing else. It returns a function that opens the place
// once more; what it makes is gone, at the latest, when t ends.
type CounterMaker func(t *testing.T, clock func() time.Time, counters []counter.Info) (open func() *counter.Counters)

// Counters is the [CounterMaker] on an engine.
func (start Start) Counters(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
	open := start.spaces(t, clock)
	CreateCounters(t, open(), counters)
	return func() *counter.Counters { return counter.On(open()) }
}

// CreateCounters makes the counters that a [CounterMaker] is told to have.
func CreateCounters(t *testing.T, space *store.Space, counters []counter.Info) {
	t.Helper()
	for _, c := range counters {
		if _, err := counter.On(space).Create(t.Context(), c.Name, counter.WithStart(c.Start), counter.WithStride(c.Stride), counter.WithEnd(c.End), counter.WithRate(c.Rate)); err != nil {
			t.Fatalf("create %s: %v", c.Name, err)
		}
	}
}

const last = 1<<63 - 1

// kept are the counters of each place under test.
var kept = []counter.Info{
	{Name: "orders", Start: 1, Stride: 1, End: last},
	{Name: "others", Start: 1, Stride: 1, End: last},
	{Name: "threes", Start: 2, Stride: 3, End: last},
	{Name: "rated", Start: 1, Stride: 1, End: last, Rate: 10},
	{Name: "to/one", Start: 0, Stride: 1, End: 1},
	{Name: "to/fourteen", Start: 2, Stride: 5, End: 14},
	{Name: "to/the-last", Start: last - 2, Stride: 2, End: last},
}

// RunCounters tests that the counters which make makes are as package counter promises, each in a subtest with a place of
// its own.
func RunCounters(t *testing.T, make CounterMaker) {
	for _, tt := range []struct {
		name string
		run  func(w *counterBed)
	}{
		{"Numbers", testNumbers}, {"ManyHandles", testManyHandles}, {"Strict", testStrict}, {"Return", testReturn},
		{"Rate", testRate}, {"Refusals", testRefusals}, {"Allocate", testAllocate},
		{"ReturnRun", testReturnRun}, {"ReturnRunOfAnother", testReturnRunOfAnother},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &counterBed{T: t, clock: NewClock(time.Now())}
			w.open = make(t, w.clock.Now, kept)
			w.Counters = w.open()
			tt.run(w)
		})
	}
}

// A counterBed is what one test of the suite plays in: a place, and a clock that stands still.
type counterBed struct {
	*testing.T
	*counter.Counters // the place as it was opened first

	clock  *Clock
	open   func() *counter.Counters // opens it once more
	tokens atomic.Uint32            // that were made
}

var quiet = counter.WithLogger(slog.New(slog.DiscardHandler))

// handle returns a handle that is closed when the test ends.
func (w *counterBed) handle(all *counter.Counters, name string, options ...counter.Option) *counter.Counter {
	w.Helper()
	c, err := all.Open(w.Context(), name, append(options, quiet)...)
	if err != nil {
		w.Fatalf("Open %s: %v", name, err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *counterBed) strict(all *counter.Counters, name string) *counter.Strict {
	w.Helper()
	s, err := all.OpenStrict(w.Context(), name, quiet)
	if err != nil {
		w.Fatalf("OpenStrict %s: %v", name, err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *counterBed) get(name string) counter.Info {
	w.Helper()
	info, err := w.Get(w.Context(), name)
	if err != nil {
		w.Fatalf("Get %s: %v", name, err)
	}
	return info
}

// token returns a fresh token, which is told from the last 255 by its last byte, and so by where its receipt lies.
func (w *counterBed) token() counter.Token {
	token := counter.NewToken(w.clock.Now())
	token[15] = byte(w.tokens.Add(1))
	return token
}

// wantDifferent checks that there are so many numbers, each once.
func (w *counterBed) wantDifferent(numbers []int64, want int) {
	w.Helper()
	slices.Sort(numbers)
	if n := len(slices.Compact(numbers)); n != want {
		w.Errorf("%d different numbers, want %d", n, want)
	}
}

// testNumbers: a counter gives its numbers in order, from its start on, in its stride, and no other, and then ErrEnd.
func testNumbers(w *counterBed) {
	all := map[string][]int64{"to/fourteen": {2, 7, 12}, "to/one": {0, 1}, "to/the-last": {last - 2, last}}
	for name, want := range all {
		if info := w.get(name); info.Taken > 0 || info.Next != info.Start || info.Forgotten {
			w.Errorf("%+v of a counter that nobody has used", info)
		}
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
		wantErr(w.T, name+": after the last", err, counter.ErrEnd)
		_, err = w.strict(w.Counters, name).Next(w.Context())
		wantErr(w.T, name+": strict, after the last", err, counter.ErrEnd)
		if info := w.get(name); info.Left != 0 || info.Next != 0 || info.Taken != uint64(len(want)) {
			w.Errorf("%s: %+v, want none left", name, info)
		}
	}
	var names []string
	for info, err := range w.List(w.Context(), "to/") {
		if names = append(names, info.Name); err != nil || info != w.get(info.Name) {
			w.Fatalf("List: %+v, %v", info, err)
		}
	}
	if !slices.IsSorted(names) || len(names) != len(all) {
		w.Errorf("List: %q", names)
	}
}

// testManyHandles: numbers of many handles, used by many goroutines, are unique, in order in each handle, and the books
// balance.
func testManyHandles(w *counterBed) {
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
				numbers := w.take(c, each)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, numbers...)
			})
		}
		wg.Go(func() {
			users.Wait()
			wantErr(w.T, "Close", c.Close(), nil)
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

// take waits for so many numbers, which have to be in order.
func (w *counterBed) take(c *counter.Counter, count int) []int64 {
	numbers := make([]int64, count)
	for i := range numbers {
		n, err := c.Wait(w.Context())
		if numbers[i] = n; err != nil || i > 0 && n <= numbers[i-1] {
			w.Errorf("%d, %v after %d", n, err, numbers[max(i-1, 0)])
			break
		}
	}
	return numbers
}

// testStrict: numbers of many handles are in the order of calls, without gaps, and larger than all that anybody had before.
func testStrict(w *counterBed) {
	handles := []*counter.Strict{w.strict(w.open(), "threes"), w.strict(w.open(), "threes"), w.strict(w.open(), "threes")}
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
	s, c := w.strict(w.open(), "orders"), w.handle(w.open(), "orders", counter.WithRunLength(5, 5))
	var highest int64
	for range 20 {
		highest = max(highest, w.take(c, 1)[0])
		dst := make([]int64, 3)
		if n, err := s.Fill(w.Context(), dst); n != 3 || err != nil || dst[0] <= highest || dst[2] != dst[0]+2 {
			w.Fatalf("%d numbers %d, %v, want 3 beyond %d", n, dst, err, highest)
		}
		highest = dst[2]
	}
}

// testReturn: what is left of the first run goes back while nobody has taken a later one, and is lost otherwise.
func testReturn(w *counterBed) {
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

// testRate: the numbers of twenty seconds may be taken at once, and those of each second after it has passed.
func testRate(w *counterBed) {
	s := w.strict(w.Counters, "rated")
	fill := func(want int) {
		w.Helper()
		n, err := s.Fill(w.Context(), make([]int64, 1000))
		if wantErr(w.T, "more than the rate", err, counter.ErrRate); n != want {
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
	_, err := w.handle(w.Counters, "rated").Next()
	wantErr(w.T, "Next without a number left at the rate", err, counter.ErrRate)
}

// testRefusals: what is not there, is otherwise, or was closed is refused with an error that says so.
func testRefusals(w *counterBed) {
	for _, tt := range []struct {
		name   string
		option counter.Option
		want   error
	}{
		{"No", counter.WithStart(1), counter.ErrInvalidName},
		{"orders", counter.WithStride(-1), counter.ErrInvalidOption},
		{"threes", counter.WithStart(6), counter.ErrMismatch},
		{"threes", counter.WithStride(1), counter.ErrMismatch},
		{"threes", counter.WithEnd(94), counter.ErrMismatch},
		{"rated", counter.WithRate(0), counter.ErrMismatch},
	} {
		_, err := w.Open(w.Context(), tt.name, tt.option, quiet)
		wantErr(w.T, tt.name, err, tt.want)
		_, err = w.OpenStrict(w.Context(), tt.name, tt.option, quiet)
		wantErr(w.T, tt.name+", strict", err, tt.want)
	}
	c := w.handle(w.Counters, "threes", counter.WithStart(2), counter.WithStride(3), counter.WithEnd(last), counter.WithRate(0))
	s := w.strict(w.Counters, "orders")
	gone, cancel := context.WithCancel(w.Context())
	cancel()
	_, err := w.Open(gone, "orders", quiet)
	wantErr(w.T, "Open with a cancelled context", err, context.Canceled)
	c.Close()
	s.Close()
	_, next := c.Next()
	_, waited := c.Wait(w.Context())
	_, strict := s.Next(w.Context())
	for _, err := range []error{next, waited, strict} {
		wantErr(w.T, "closed", err, counter.ErrClosed)
	}
	wantErr(w.T, "Close again", c.Close(), nil)
}

// testAllocate: a token gets one run, however often it asks, from whichever handle; no number is in two runs; and a token
// that is not fresh is refused.
func testAllocate(w *counterBed) {
	const callers = 20
	runs := make([]counter.Run, callers)
	places := []*counter.Counters{w.open(), w.open(), w.open()}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			token := w.token()
			for _, all := range places {
				b, info, err := all.Allocate(w.Context(), "threes", 10, token)
				if err != nil || runs[i].Count > 0 && b != runs[i] || info.Stride != 3 || info.Next < b.First+30 {
					w.Errorf("run %+v of %+v, error %v, want %+v again", b, info, err, runs[i])
				}
				runs[i] = b
			}
		})
	}
	wg.Wait()
	var numbers []int64
	for _, b := range runs {
		for k := range b.Count {
			numbers = append(numbers, b.First+int64(k)*b.Stride)
		}
	}
	w.wantDifferent(numbers, 10*callers)
	if info := w.get("threes"); info.Taken != 10*callers {
		w.Errorf("%+v, want %d taken", info, 10*callers)
	}
	for what, token := range map[string]counter.Token{
		"a token that lasts": counter.Token([]byte("web-1.prod.local")), "an old token": counter.NewToken(w.clock.Now().Add(-time.Hour)),
		"a token of another counter": w.allocate("others", 1).Token,
	} {
		_, _, err := w.Allocate(w.Context(), "orders", 1, token)
		wantErr(w.T, what, err, counter.ErrInvalidToken)
	}
	if info := w.get("orders"); info.Taken != 0 {
		w.Errorf("%+v after what was refused, want none taken", info)
	}
}

func (w *counterBed) allocate(name string, n uint64) counter.Run {
	w.Helper()
	b, _, err := w.Allocate(w.Context(), name, n, w.token())
	if err != nil || b.Count != n {
		w.Fatalf("Allocate %d of %s: %+v, %v", n, name, b, err)
	}
	return b
}

// giveBack checks whether numbers of a run of orders can go back.
func (w *counterBed) giveBack(b counter.Run, unused uint64, want bool) {
	w.Helper()
	if done, err := w.ReturnRun(w.Context(), "orders", b, unused); done != want || err != nil {
		w.Errorf("ReturnRun %d of %+v: %v, error %v, want %v", unused, b, done, err, want)
	}
}

// testReturnRun: what is left of a run goes back once, where no later number is out, and its token is of no use then.
func testReturnRun(w *counterBed) {
	a := w.allocate("orders", 10)
	w.giveBack(a, 4, true)
	b := w.allocate("orders", 4) // the numbers that went back
	if b.First != 7 {
		w.Errorf("the next run begins at %d, want 7", b.First)
	}
	w.giveBack(a, 4, true) // again, as after a lost answer: nothing is changed
	w.giveBack(a, 3, false)
	_, _, err := w.Allocate(w.Context(), "orders", 10, a.Token)
	wantErr(w.T, "the token of a run that went back in part", err, counter.ErrInvalidToken)
	w.allocate("orders", 1)
	w.giveBack(b, 1, false)
	c := w.allocate("orders", 5)
	w.giveBack(c, 5, true)
	d := w.allocate("orders", 5)
	if d.First != c.First {
		w.Errorf("run %+v, want the numbers of %+v, which went back", d, c)
	}
	w.giveBack(c, 5, true) // though there is a run with the same numbers now, which stays
	w.giveBack(c, 0, false)
	if info := w.get("orders"); info.Next != 17 || info.Returned != 9 {
		w.Errorf("%+v, want 17 next, and 9 returned", info)
	}
	_, err = w.ReturnRun(w.Context(), "orders", b, 5)
	wantErr(w.T, "more than the run has", err, counter.ErrInvalidOption)
	e := w.allocate("orders", 10) // two runs go back, the newer one first
	w.giveBack(d, 5, false)
	w.giveBack(e, 10, true)
	w.giveBack(d, 5, true)
}

// testReturnRunOfAnother: nobody gives back what is somebody else's, whose token he does not know.
func testReturnRunOfAnother(w *counterBed) {
	b := w.allocate("orders", 10)
	for _, token := range []counter.Token{{}, w.token(), w.allocate("others", 10).Token} {
		forged := b
		forged.Token = token
		w.giveBack(forged, 10, false)
	}
	longer := b
	longer.First, longer.Count = 0, 11
	w.giveBack(longer, 11, false)
	if info := w.get("orders"); info.Next != 11 {
		w.Errorf("%+v, want 11 next", info)
	}
	w.giveBack(b, 10, true)
}
