package randflake

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockPublishesWhileUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		c := new(clock)
		if got, want := c.glance(), time.Now().Unix(); got != want {
			t.Fatalf("the first glance says %d, want %d", got, want)
		}
		for range 5 {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := c.second.Load(), time.Now().Unix(); got != want {
				t.Fatalf("published %d, want %d", got, want)
			}
			if got, want := c.glance(), time.Now().Unix(); got != want {
				t.Fatalf("glance says %d, want %d", got, want)
			}
		}
	})
}

func TestClockStopsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clock)
		c.glance()
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if got := c.second.Load(); got != 0 {
			t.Fatalf("idle for two seconds, it still publishes %d", got)
		}
		// Nothing runs any more; the next user starts it again.
		time.Sleep(time.Hour)
		if got, want := c.glance(), time.Now().Unix(); got != want {
			t.Fatalf("after an hour's rest it says %d, want %d", got, want)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := c.second.Load(), time.Now().Unix(); got != want {
			t.Fatalf("started again, it publishes %d, want %d", got, want)
		}
	})
}

// A reader that sees that the published second is late sets it right, and starts no second timer.
func TestClockIsSetRightByReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clock)
		c.glance()
		for _, wrong := range []int64{-1, +1, -3600} {
			c.second.Add(wrong)
			if got, want := c.read(), time.Now().Unix(); got != want || c.second.Load() != want {
				t.Fatalf("read says %d and publishes %d, want %d", got, c.second.Load(), want)
			}
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if got := c.second.Load(); got != 0 {
			t.Errorf("the timer is still running, and published %d", got)
		}
	})
}

func TestClockUsedByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(clock)
		for range 10 {
			go func() {
				for range 100 {
					if got, want := c.glance(), time.Now().Unix(); got != want && got != want-1 {
						t.Errorf("glance says %d at %d", got, want)
					}
					time.Sleep(70 * time.Millisecond)
				}
			}()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := c.second.Load(); got != 0 {
			t.Errorf("idle for three seconds, it still publishes %d", got)
		}
	})
}
