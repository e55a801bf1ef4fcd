// Package countertest has the conformance suite that counters must pass, those of a space on any engine and those of a
// service.
package countertest

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// A Maker makes a place for one test that keeps counters, new and empty, which has these: of each the name, start, stride,
// end and rate are said. It takes its time from clock and nothing else. It returns a function that opens the place once
// more; what it makes is gone, at the latest, when t ends.
type Maker func(t *testing.T, clock func() time.Time, counters []counter.Info) (open func() *counter.Counters)

// OnEngine makes spaces on engines: start makes empty data for one test, as storetest.Run wants it, and connect opens one
// more handle on it.
func OnEngine(start func(t *testing.T) (connect func(t *testing.T) store.Engine)) Maker {
	return func(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
		connect := start(t)
		space, err := store.Create(t.Context(), connect(t), store.ForNewSecret(), store.WithClock(clock))
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		t.Cleanup(func() { space.Close() })
		Create(t, counter.On(space), counters)
		return func() *counter.Counters {
			space, err := store.Open(t.Context(), connect(t), store.WithClock(clock))
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			t.Cleanup(func() { space.Close() })
			return counter.On(space)
		}
	}
}

// Create makes the counters that a [Maker] is told to have.
func Create(t *testing.T, all *counter.Counters, counters []counter.Info) {
	t.Helper()
	for _, c := range counters {
		if _, err := all.Create(t.Context(), c.Name, counter.WithStart(c.Start), counter.WithStride(c.Stride), counter.WithEnd(c.End), counter.WithRate(c.Rate)); err != nil {
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
	{Name: "to/three", Start: 1, Stride: 1, End: 3},
	{Name: "to/one", Start: 0, Stride: 1, End: 1},
	{Name: "to/fourteen", Start: 2, Stride: 5, End: 14},
	{Name: "to/the-last", Start: last - 2, Stride: 2, End: last},
}

// Run tests that the counters which make makes are as package counter promises, each in a subtest with a place of its own.
func Run(t *testing.T, make Maker) {
	for _, tt := range []struct {
		name string
		run  func(w *testbed)
	}{
		{"Numbers", testNumbers},
		{"ManyHandles", testManyHandles},
		{"Strict", testStrict},
		{"StrictBesideOthers", testStrictBesideOthers},
		{"Return", testReturn},
		{"ReturnWhileUsed", testReturnWhileUsed},
		{"Rate", testRate},
		{"Refusals", testRefusals},
		{"List", testList},
		{"Closed", testClosed},
		{"Allocate", testAllocate},
		{"AllocateRefuses", testAllocateRefuses},
		{"ReturnRun", testReturnRun},
		{"ReturnRunOfAnother", testReturnRunOfAnother},
		{"ReturnRunsInTurn", testReturnRunsInTurn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &testbed{T: t, clock: leasetest.NewClock(time.Now())}
			w.open = make(t, w.clock.Now, kept)
			w.Counters = w.open()
			tt.run(w)
		})
	}
}

// A testbed is what one test of the suite plays in: a place, and a clock that stands still.
type testbed struct {
	*testing.T
	*counter.Counters // the place as it was opened first

	clock  *leasetest.Clock
	open   func() *counter.Counters // opens it once more
	tokens atomic.Uint32            // that were made
}

var quiet = counter.WithLogger(slog.New(slog.DiscardHandler))

// handle returns a handle that is closed when the test ends.
func (w *testbed) handle(all *counter.Counters, name string, options ...counter.Option) *counter.Counter {
	w.Helper()
	c, err := all.Open(w.Context(), name, append(options, quiet)...)
	if err != nil {
		w.Fatalf("Open %s: %v", name, err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *testbed) strict(all *counter.Counters, name string) *counter.Strict {
	w.Helper()
	s, err := all.OpenStrict(w.Context(), name, quiet)
	if err != nil {
		w.Fatalf("OpenStrict %s: %v", name, err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *testbed) get(name string) counter.Info {
	w.Helper()
	info, err := w.Get(w.Context(), name)
	if err != nil {
		w.Fatalf("Get %s: %v", name, err)
	}
	return info
}

// token returns a fresh token, which is told from the last 255 by its last byte, and so by where its receipt lies.
func (w *testbed) token() counter.Token {
	token := counter.NewToken(w.clock.Now())
	token[15] = byte(w.tokens.Add(1))
	return token
}

// wantErr fails the test unless err is target.
func (w *testbed) wantErr(what string, err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("%s: error %v, want %v", what, err, target)
	}
}
