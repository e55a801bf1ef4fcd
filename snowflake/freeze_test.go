package snowflake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// TestFreezeGenerator: no ID is made once Freeze has returned, wherever the clock goes, and Close and Replace know the last
// second that was used.
func TestFreezeGenerator(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	layout := layoutOf(t, time.Millisecond, snowflake.Time(41), snowflake.Rollback(2), snowflake.Static("worker", 8), snowflake.Sequence(12))
	for _, policy := range []snowflake.Option{snowflake.StepBack(), snowflake.RunAhead(0)} {
		now := start
		g, err := snowflake.New(layout, randflake.Lease{FirstNode: 3, LastNode: 3, Start: start, End: start.Add(time.Minute)}, policy,
			snowflake.WithClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		now = start.Add(10 * time.Second)
		if _, err := g.Generate(); err != nil {
			t.Fatal(err)
		}
		g.Freeze()
		for _, at := range []time.Duration{0, 9 * time.Second, 10 * time.Second, 10*time.Second + time.Millisecond, 30 * time.Second} {
			now = start.Add(at)
			if id, err := g.Generate(); err == nil {
				t.Errorf("frozen, at %v: made %v", at, id)
			}
			if err := g.Ready(); err == nil {
				t.Errorf("frozen, at %v: ready", at)
			}
		}
		if _, err := g.Generate(); !errors.Is(err, snowflake.ErrLeaseEnded) {
			t.Errorf("frozen: error %v, want ErrLeaseEnded", err)
		}
		if err := g.Extend(start.Add(time.Hour)); !errors.Is(err, snowflake.ErrLeaseEnded) {
			t.Errorf("frozen: Extend: %v, want ErrLeaseEnded", err)
		}
		lastUsed, err := g.Replace(randflake.Lease{FirstNode: 4, LastNode: 4, Start: start.Add(20 * time.Second), End: start.Add(time.Hour)})
		if want := start.Add(10 * time.Second); err != nil || !lastUsed.Equal(want) {
			t.Errorf("Replace: last used %v, %v; want %v", lastUsed, err, want)
		}
		now = start.Add(40 * time.Second)
		if _, err := g.Generate(); err != nil {
			t.Errorf("after Replace: %v", err)
		}
		g.Freeze()
		if lastUsed, err := g.Close(); err != nil || !lastUsed.Equal(now) {
			t.Errorf("Close: last used %v, %v; want %v", lastUsed, err, now)
		}
	}
}
