package counter_test

import (
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestAbsurdClock: a clock beyond the year 9999, or before 1970, damages no record: another process goes on.
func TestAbsurdClock(t *testing.T) {
	for _, wrong := range []int64{1 << 40, -1 << 40, 253402300800} {
		memory := storetest.NewMemory()
		now := time.Now().Unix()
		space := newSpace(t, memory.Connect(), store.WithClock(func() time.Time { return time.Unix(now, 0) }))
		counters := counter.On(space)
		c, err := counters.OpenStrict(t.Context(), "a", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		now = wrong
		c.Next(t.Context())
		counters.Create(t.Context(), "b")
		counters.Advance(t.Context(), "a", 50)
		counters.Prune(t.Context(), "", time.Unix(0, 0))
		now = time.Now().Unix()
		for _, name := range []string{"a", "b"} {
			if c, err := counters.OpenStrict(t.Context(), name, counter.OrCreate()); err != nil {
				t.Errorf("%d: %v", wrong, err)
			} else if _, err := c.Next(t.Context()); err != nil {
				t.Errorf("%d: %v", wrong, err)
			}
		}
	}
}
