//go:build uncached

package coarse

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestUncached: with the tag all generators ask time.Now, and no time is published, in a bubble or outside.
func TestUncached(t *testing.T) {
	ask := func(t *testing.T) {
		c := Clock{unit: time.Second}
		if now := OfBubble(); now == nil || time.Since(now()).Abs() > time.Minute {
			t.Error("a generator does not ask time.Now")
		}
		before := systemTime().Unix()
		if got := c.Read(); got < before || got > systemTime().Unix() || c.Published() != 0 {
			t.Errorf("%d was read at %d, and %d published", got, before, c.Published())
		}
	}
	ask(t)
	synctest.Test(t, ask)
}
