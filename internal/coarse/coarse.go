// Package coarse publishes the current time in one word, for callers that need it so often that
// asking the system would be most of their work.
package coarse

import (
	"sync/atomic"
	"time"
)

// The clocks of the process.
var (
	Seconds      = Clock{unit: time.Second}
	Milliseconds = Clock{unit: time.Millisecond}
)

// A Clock holds the current time, in whole units since 1970, in one word. A timer updates it at
// each unit's boundary while the clock is in use, and stops after a full unit without a call, so
// that an idle process never wakes.
//
// The published time may be late, when the timer is or when the process was asleep: timers are late
// by a millisecond or two as a rule, and by more on a loaded machine.
//
// It is the time of the system, in testing/synctest bubbles too: see bubble.go.
type Clock struct {
	_    [64]byte     // now is read for every ID: it has its cache line to itself
	now  atomic.Int64 // the current time, or 0 while the timer is stopped
	_    [56]byte
	used atomic.Bool   // whether there was a call since the last tick
	unit time.Duration // divides a second
	mine bool          // a test's own, which lives in the bubble that it is made in
}

// Published returns the published time, or 0 when there is none. Unlike Now it does not keep the clock going.
func (c *Clock) Published() int64 { return c.now.Load() }

// Now returns the published time, or reads the clock when none is published.
func (c *Clock) Now() int64 {
	now := c.now.Load()
	if now == 0 {
		return c.Read()
	}
	c.MarkUsed()
	return now
}

// Read reads the system's clock, publishes what it says and starts the timer if need be.
func (c *Clock) Read() int64 {
	c.MarkUsed()
	published := c.now.Load()
	t := time.Now()
	if InBubble(t) && !c.mine {
		return c.units(systemTime())
	}
	return c.publish(published, t)
}

// publish publishes the time t, which was read after published was loaded, and returns it. A goroutine that was
// held up in between must not turn the clock back, so it compares and swaps. (If the clock was
// started and stopped meanwhile the word is 0 again, and an old time may stay until the timer's first tick.) Who swaps
// the word from 0 starts the timer, so there is never more than one.
func (c *Clock) publish(published int64, t time.Time) (now int64) {
	now = c.units(t)
	if now == published {
		return now
	}
	swapped := c.now.CompareAndSwap(published, now)
	if swapped && published == 0 {
		time.AfterFunc(UntilNext(t, c.unit), c.tick)
	}
	return now
}

// MarkUsed keeps the clock going. It writes only when it must: all processors share the word.
func (c *Clock) MarkUsed() {
	if !c.used.Load() {
		c.used.Store(true)
	}
}

// tick publishes the new time and goes on, or stops when the clock was not used.
func (c *Clock) tick() {
	if !c.used.Swap(false) {
		c.now.Store(0)
		return
	}
	published := c.now.Load()
	t := time.Now()
	c.now.CompareAndSwap(published, c.units(t))
	time.AfterFunc(UntilNext(t, c.unit), c.tick)
}

func (c *Clock) units(t time.Time) int64 {
	return t.Unix()*int64(time.Second/c.unit) + int64(t.Nanosecond())/int64(c.unit)
}

// UntilNext returns how long after t the next unit begins. The unit divides a second.
func UntilNext(t time.Time, unit time.Duration) time.Duration {
	return unit - time.Duration(t.Nanosecond())%unit
}
