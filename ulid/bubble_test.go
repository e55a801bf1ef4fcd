package ulid

import (
	"testing"
	"testing/synctest"
	"time"
)

// A generator that was made in a bubble goes by the bubble's time, and any other one by the system's, in a
// bubble and after it.
func TestTimesInAndAfterBubbles(t *testing.T) {
	since := func(g *Generator, begin time.Time, where string) {
		t.Helper()
		id, err := g.Generate()
		if made := Inspect(id).Time; err != nil || made.Sub(begin).Abs() > time.Hour/2 {
			t.Errorf("%s: made at %v, %v; want about %v", where, made, err, begin)
		}
	}
	begin, outside := time.Now(), mustNew()
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			since(outside, begin, "made outside of the bubble")
			since(mustNew(), time.Now(), "made in a bubble")
			time.Sleep(time.Hour)
		})
		for range 3 {
			since(outside, begin, "after the bubble")
			time.Sleep(10 * time.Millisecond)
		}
	}
}
