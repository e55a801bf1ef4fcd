package countertest

import (
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/counter"
)

// The tests of single calls.

// testRefusals: what is not there, or is otherwise, is refused with an error that says so.
func testRefusals(w *testbed) {
	ctx := w.Context()
	for what, tt := range map[string]struct {
		name   string
		option counter.Option
		want   error
	}{
		"no such name":     {"No", counter.WithStart(1), counter.ErrInvalidName},
		"no such option":   {"orders", counter.WithStride(-1), counter.ErrInvalidOption},
		"another start":    {"threes", counter.WithStart(6), counter.ErrMismatch},
		"another stride":   {"threes", counter.WithStride(1), counter.ErrMismatch},
		"another end":      {"threes", counter.WithEnd(94), counter.ErrMismatch},
		"another rate":     {"rated", counter.WithRate(0), counter.ErrMismatch},
		"as it is, almost": {"rated", counter.WithRate(11), counter.ErrMismatch},
	} {
		_, err := w.Open(ctx, tt.name, tt.option, quiet)
		w.wantErr(what, err, tt.want)
		_, err = w.OpenStrict(ctx, tt.name, tt.option, quiet)
		w.wantErr(what+", strict", err, tt.want)
	}
	w.handle(w.Counters, "threes", counter.WithStart(2), counter.WithStride(3), counter.WithEnd(last), counter.WithRate(0))
}

// testList: counters are told as they were made, in the order of their names.
func testList(w *testbed) {
	for begin, want := range map[string][]string{"to/": {"to/fourteen", "to/one", "to/the-last", "to/three"}, "or": {"orders"}, "q": nil} {
		var names []string
		for info, err := range w.List(w.Context(), begin) {
			if err != nil {
				w.Fatal(err)
			}
			names = append(names, info.Name)
			if info != w.get(info.Name) || info.Taken > 0 || info.Next != info.Start || info.Forgotten {
				w.Errorf("%+v of a counter that nobody has used, which is %+v", info, w.get(info.Name))
			}
		}
		if !slices.Equal(names, want) {
			w.Errorf("list %q: %q, want %q", begin, names, want)
		}
	}
}

// testAllocate: a token gets one run, however often it asks, from whichever handle; and no number is in two runs.
func testAllocate(w *testbed) {
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
}

// testAllocateRefuses: what can't be is refused, and a token that is not fresh above all.
func testAllocateRefuses(w *testbed) {
	used := w.allocate("others", 1)
	for _, tt := range []struct {
		what, name string
		token      counter.Token
		want       error
	}{
		{"a token that lasts", "orders", counter.Token([]byte("web-1.prod.local")), counter.ErrInvalidToken},
		{"an old token", "orders", counter.NewToken(w.clock.Now().Add(-time.Hour)), counter.ErrInvalidToken},
		{"a token of another counter", "orders", used.Token, counter.ErrInvalidToken},
	} {
		_, _, err := w.Allocate(w.Context(), tt.name, 1, tt.token)
		w.wantErr(tt.what, err, tt.want)
	}
	if info := w.get("orders"); info.Taken != 0 {
		w.Errorf("%+v after what was refused, want none taken", info)
	}
}

func (w *testbed) allocate(name string, n uint64) counter.Run {
	w.Helper()
	b, _, err := w.Allocate(w.Context(), name, n, w.token())
	if err != nil || b.Count != n {
		w.Fatalf("Allocate %d of %s: %+v, %v", n, name, b, err)
	}
	return b
}

// giveBack checks whether numbers of a run of orders can go back.
func (w *testbed) giveBack(b counter.Run, unused uint64, want bool) {
	w.Helper()
	if done, err := w.ReturnRun(w.Context(), "orders", b, unused); done != want || err != nil {
		w.Errorf("ReturnRun %d of %+v: %v, error %v, want %v", unused, b, done, err, want)
	}
}

// testReturnRun: what is left of a run goes back once, where no later number is out, and its token is of no use then.
func testReturnRun(w *testbed) {
	a := w.allocate("orders", 10)
	w.giveBack(a, 4, true)
	b := w.allocate("orders", 4) // the numbers that went back
	if b.First != 7 {
		w.Errorf("the next run begins at %d, want 7", b.First)
	}
	w.giveBack(a, 4, true) // again, as after a lost answer: nothing is changed
	w.giveBack(a, 3, false)
	_, _, err := w.Allocate(w.Context(), "orders", 10, a.Token)
	w.wantErr("the token of a run that went back in part", err, counter.ErrInvalidToken)
	w.allocate("orders", 1)
	w.giveBack(b, 1, false)
	c := w.allocate("orders", 5)
	w.giveBack(c, 5, true)
	if d := w.allocate("orders", 5); d.First != c.First {
		w.Errorf("run %+v, want the numbers of %+v, which went back", d, c)
	}
	w.giveBack(c, 5, true) // though there is a run with the same numbers now, which stays
	w.giveBack(c, 0, false)
	if info := w.get("orders"); info.Next != 17 || info.Returned != 9 {
		w.Errorf("%+v, want 17 next, and 9 returned", info)
	}
	_, err = w.ReturnRun(w.Context(), "orders", b, 5)
	w.wantErr("more than the run has", err, counter.ErrInvalidOption)
}

// testReturnRunOfAnother: nobody gives back what is somebody else's, whose token he does not know.
func testReturnRunOfAnother(w *testbed) {
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

// testReturnRunsInTurn: two runs go back, the newer one first.
func testReturnRunsInTurn(w *testbed) {
	a := w.allocate("orders", 10)
	b := w.allocate("orders", 10)
	w.giveBack(a, 5, false)
	w.giveBack(b, 10, true)
	w.giveBack(a, 5, true)
	if c := w.allocate("orders", 1); c.First != 6 {
		w.Errorf("run %+v, want the numbers from 6 on, which went back", c)
	}
}
