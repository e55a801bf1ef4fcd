package coarse

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// eachUnit runs test with a clock of each unit, in a bubble of its own.
func eachUnit(t *testing.T, test func(t *testing.T, c *Clock, unit time.Duration, now func() int64)) {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		t.Run(unit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, &Clock{unit: unit, mine: true}, unit, func() int64 { return time.Now().UnixNano() / int64(unit) })
			})
		})
	}
}

func TestClockPublishesWhileUsed(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		time.Sleep(unit * 3 / 10)
		require.Equal(t, c.Now(), now(), "the first call says")
		for range 5 {
			time.Sleep(unit)
			synctest.Wait()
			require.Equal(t, c.now.Load(), now(), "published")
			require.Equal(t, c.Now(), now(), "it says")
		}
	})
}

func TestClockStopsWhenIdle(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		c.Now()
		time.Sleep(unit * 5 / 2)
		synctest.Wait()
		require.Equal(t, c.now.Load(), 0, "idle for two units, it still publishes")
		// No timer runs any more; the next call starts one.
		time.Sleep(time.Hour)
		require.Equal(t, c.Now(), now(), "after an hour's rest it says")
		time.Sleep(unit)
		synctest.Wait()
		require.Equal(t, c.now.Load(), now(), "started again, it publishes")
	})
}

// A reader that sees that the published time is late sets it right, and starts no second timer.
func TestClockIsSetRightByReaders(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		c.Now()
		for _, wrong := range []int64{-1, +1, -3600} {
			c.now.Add(wrong)
			if got, want := c.Read(), now(); got != want || c.now.Load() != want {
				t.Fatalf("read says %d and publishes %d, want %d", got, c.now.Load(), want)
			}
		}
		time.Sleep(unit)
		synctest.Wait()
		require.Equal(t, c.now.Load(), now(), "in use, it publishes: a second timer has stopped it")
		time.Sleep(unit * 5 / 2)
		synctest.Wait()
		require.Equal(t, c.now.Load(), 0, "the timer is still running, and published")
	})
}

// A source says what is published, although it may be late, and reads the clock only where it must.
// One with an injected clock asks that, on every call.
func TestSource(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		c.Now()
		late := c.now.Add(-1)
		published := Source{Clock: c}
		if got, fresh := published.Now(); got != late || fresh {
			t.Errorf("it says %d, read just now: %t; want %d, which is published", got, fresh, late)
		}
		require.Equal(t, published.Read(), now(), "read, it says")

		injected := Source{Clock: c, Injected: func() time.Time { return time.Now().Add(-time.Hour) }}
		want := now() - int64(time.Hour/unit)
		if got, fresh := injected.Now(); got != want || !fresh {
			t.Errorf("with a clock an hour late it says %d, read just now: %t; want %d", got, fresh, want)
		}
		if got := injected.Time(); !got.Equal(time.Now().Add(-time.Hour)) {
			t.Errorf("with a clock an hour late the time is %v", got)
		}
	})
}

// The clocks of the process say what their names do, and publish it.
func TestClocksOfTheProcess(t *testing.T) {
	for _, tt := range []struct {
		name  string
		clock *Clock
		units func(time.Time) int64
	}{
		{"Seconds", &Seconds, time.Time.Unix},
		{"Milliseconds", &Milliseconds, time.Time.UnixMilli},
	} {
		published := false
		for range 100 { // at times the clock stops in between, on a slow machine
			before := time.Now()
			got := tt.clock.Read()
			if after := time.Now(); got < tt.units(before) || got > tt.units(after) {
				t.Fatalf("%s says %d, want %d to %d", tt.name, got, tt.units(before), tt.units(after))
			}
			published = published || tt.clock.Published() > 0
		}
		if !published && !InBubble(time.Now()) {
			t.Errorf("%s publishes nothing", tt.name)
		}
	}
}

// Readers that looked at the clock before it was started start no second timer, and readers that
// were held up don't turn it back.
func TestReadersAtOnce(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		early := time.Now()
		for range 3 {
			c.publish(0, early)
		}
		for range 3 {
			c.MarkUsed()
			time.Sleep(unit)
			synctest.Wait()
			if got, want := c.Published(), now(); got != want {
				t.Fatalf("published %d, want %d: a second timer has stopped the clock, or none goes on", got, want)
			}
		}
		c.publish(c.units(early), early)
		require.Equal(t, c.Published(), now(), "a reader that was held up turned the clock to")
	})
}
