package lease

import (
	"fmt"
	"math"
	"time"
)

// A Period is a part of time in which the numbers of a counter begin at its start. The zero Period
// is all of time, for a counter without periods.
type Period struct {
	Periods string    // what the counter's periods are, such as "day@UTC"
	Key     string    // the name of this one, such as 2026-11-22: at most 40 bytes
	Begin   time.Time // orders the periods; no number is taken more than MaxSkew before its period begins
}

const longestKey = 40 // bytes of a Key: see entry.Growth

func (p Period) check() error {
	if (p.Periods == "") != (p.Key == "") {
		return fmt.Errorf("%w: period %.100q of each %.100q: want both, or neither", ErrInvalid, p.Key, p.Periods)
	}
	if len(p.Key) > longestKey {
		return fmt.Errorf("%w: period %.100q: want at most %d bytes", ErrInvalid, p.Key, longestKey)
	}
	return nil
}

// enter puts a counter into a period, or returns why the counter can't be in it.
func (s *Space) enter(seen *snapshot, c *storedCounter, period Period) error {
	want := c.Counter
	want.Periods = period.Periods
	if err := c.Match(want); err != nil {
		return err
	}
	if period.Key == c.Period { // it is in there already
		return nil
	}
	if err := s.checkBegin(seen, c, period); err != nil {
		return err
	}
	// A period that is not new goes on: a person who sets the counter after the loss sets it beyond
	// the numbers of that period too.
	if seen.meta.isNew(period) {
		c.Next = c.Start
		c.Term = seen.meta.Term
		c.Lost = false
	}
	c.Period = period.Key
	c.Begin = period.Begin.Unix()
	return nil
}

// checkBegin returns why a counter can't go on to another period, or nil. The period must be a later one,
// and must have begun.
func (s *Space) checkBegin(seen *snapshot, c *storedCounter, period Period) error {
	if period.Begin.Unix() <= c.begin() {
		return fmt.Errorf("%w: counter %s of %s is in %s already, and this machine's clock in %s",
			ErrClock, c.Name, s, c.Period, period.Key)
	}
	if err := seen.clockError(seen.meta); err != nil {
		return err
	}
	if period.Begin.Sub(seen.answered) > seen.meta.MaxSkew { // the numbers are taken after the answer
		return fmt.Errorf("%w: counter %s of %s: %s begins at %s",
			ErrClock, c.Name, s, period.Key, period.Begin.UTC().Format(time.RFC3339))
	}
	return nil
}

// begin returns when the counter's period begins, in Unix seconds, or before all if it has none yet.
func (c *storedCounter) begin() int64 {
	if c.Period == "" {
		return math.MinInt64
	}
	return c.Begin
}

// isNew reports whether no number of a period can have been taken before the last loss. No clock
// had reached the floor by then, and a number may be taken MaxSkew before its period begins.
func (m *meta) isNew(period Period) bool {
	return m.Floor == 0 || !period.Begin.Before(m.start(m.Floor).Add(m.MaxSkew))
}
