package counter_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var quiet = counter.WithLogger(slog.New(slog.DiscardHandler))

// newSpace returns a new space on engine.
func newSpace(t testing.TB, engine store.Engine, options ...store.Option) *store.Space {
	t.Helper()
	space, err := store.Create(t.Context(), engine, append(options, store.ForNewSecret())...)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, counters *counter.Counters, name string, options ...counter.Option) *counter.Counter {
	t.Helper()
	c, err := counters.Open(t.Context(), name, append(options, counter.OrCreate(), quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var onMemory = storetest.Start(func(*testing.T) func(*testing.T) store.Engine {
	data := storetest.NewMemory()
	return func(*testing.T) store.Engine { return data.Connect() }
}).Counters

// TestConformance: counters of a space, and those of a Source before one, are as the package promises.
func TestConformance(t *testing.T) {
	t.Run("space", func(t *testing.T) { storetest.RunCounters(t, onMemory) })
	t.Run("source", func(t *testing.T) {
		storetest.RunCounters(t, func(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
			open := onMemory(t, clock, counters)
			return func() *counter.Counters { return counter.From(open(), clock) }
		})
	})
}
