package randflake

import (
	"sync/atomic"
	"time"
)

// systemClock publishes the current Unix second, so that Generate need not ask for the time.
var systemClock clock

// A clock holds the current Unix second in one word. A timer keeps it up to date at each second's
// boundary while somebody uses it, and stops after a full second in which nobody did, so that an
// idle process never wakes.
//
// The published second may be late, when the timer is or when the process was asleep. That makes
// IDs carry the second before, and nothing worse: see the cursor.
type clock struct {
	_      [64]byte     // second is read for every ID: it has its cache line to itself
	second atomic.Int64 // the current Unix second, or 0 while the timer is stopped
	_      [56]byte
	used   atomic.Bool // whether somebody asked since the last tick
}

// glance returns the published second, or reads the clock when none is published.
func (c *clock) glance() int64 {
	second := c.second.Load()
	if second == 0 {
		return c.read()
	}
	c.markUsed()
	return second
}

// read reads the clock, publishes what it says and sees that the timer runs.
func (c *clock) read() int64 {
	c.markUsed()
	published := c.second.Load()
	now := time.Now()
	second := now.Unix()
	// Publish by compare-and-swap: who was delayed since the Load must not turn the clock back.
	// Whoever turns it from 0 starts the timer, so there is never more than one.
	if second != published && c.second.CompareAndSwap(published, second) && published == 0 {
		time.AfterFunc(untilNextSecond(now), c.tick)
	}
	return second
}

// markUsed writes only when it must: the line is shared by all processors.
func (c *clock) markUsed() {
	if !c.used.Load() {
		c.used.Store(true)
	}
}

// tick publishes the new second and goes on, or stops when the clock was not used.
func (c *clock) tick() {
	if !c.used.Swap(false) {
		c.second.Store(0)
		return
	}
	published := c.second.Load()
	now := time.Now()
	c.second.CompareAndSwap(published, now.Unix())
	time.AfterFunc(untilNextSecond(now), c.tick)
}

// untilNextSecond returns how long after t the next second begins.
func untilNextSecond(t time.Time) time.Duration {
	return time.Second - time.Duration(t.Nanosecond())
}
