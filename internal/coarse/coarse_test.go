package coarse

import (
	"testing"
	"testing/synctest"
	"time"
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
		if got, want := c.Now(), now(); got != want {
			t.Fatalf("the first call says %d, want %d", got, want)
		}
		for range 5 {
			time.Sleep(unit)
			synctest.Wait()
			if got, want := c.now.Load(), now(); got != want {
				t.Fatalf("published %d, want %d", got, want)
			}
			if got, want := c.Now(), now(); got != want {
				t.Fatalf("it says %d, want %d", got, want)
			}
		}
	})
}

func TestClockStopsWhenIdle(t *testing.T) {
	eachUnit(t, func(t *testing.T, c *Clock, unit time.Duration, now func() int64) {
		c.Now()
		time.Sleep(unit * 5 / 2)
		synctest.Wait()
		if got := c.now.Load(); got != 0 {
			t.Fatalf("idle for two units, it still publishes %d", got)
		}
		// Nothing runs any more; the next user starts it again.
		time.Sleep(time.Hour)
		if got, want := c.Now(), now(); got != want {
			t.Fatalf("after an hour's rest it says %d, want %d", got, want)
		}
		time.Sleep(unit)
		synctest.Wait()
		if got, want := c.now.Load(), now(); got != want {
			t.Fatalf("started again, it publishes %d, want %d", got, want)
		}
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
		time.Sleep(unit * 5 / 2)
		synctest.Wait()
		if got := c.now.Load(); got != 0 {
			t.Errorf("the timer is still running, and published %d", got)
		}
	})
}
