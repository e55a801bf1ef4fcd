package coarse

import (
	"testing"
	"testing/synctest"
	"time"
)

// wantNow checks for three units, twice in each, that c says what the system does. Meanwhile its
// timer starts, goes on or stops.
func wantNow(t *testing.T, where string, c *Clock) {
	t.Helper()
	for range 6 {
		for name, read := range map[string]func() int64{"Read": c.Read, "Now": c.Now} {
			before := c.units(systemTime())
			got := read()
			// The published time is late at times, by less than this.
			if now := c.units(systemTime()); got < before-int64(10*time.Second/c.unit) || got > now {
				t.Fatalf("%s: %s says %d, want %d", where, name, got, now)
			}
		}
		if !InBubble(time.Now()) {
			time.Sleep(c.unit / 2)
		}
	}
}

// Clocks of the process show the right time in a bubble and after it, be they at rest before or not.
func TestClockSurvivesBubbles(t *testing.T) {
	for name, rest := range map[string]bool{"at rest": true, "in use": false} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []*Clock{{unit: time.Second / 10}, {unit: time.Millisecond}} {
				if !rest {
					wantNow(t, "before the bubble", c)
				}
				for range 2 {
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(time.Hour)
						wantNow(t, "in a bubble", c)
						time.Sleep(time.Hour)
						wantNow(t, "in a bubble, later", c)
					})
				}
				wantNow(t, "after the bubble", c)
			}
		})
	}
}

// The system's time in a bubble is to the microsecond what it is outside.
func TestSystemTime(t *testing.T) {
	for range 100 {
		before := time.Now().Truncate(time.Microsecond)
		now := systemTime()
		if after := time.Now(); now.Before(before) || now.After(after) {
			t.Fatalf("the system's time is %v, between %v and %v", now, before, after)
		}
	}
}
