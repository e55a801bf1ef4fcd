package lease

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// A space has many counters. Each call below reads or changes the record of one of them, as update
// does with any record.

// CreateCounter makes a counter: its Start, its Step, 1 by default, its Last, the largest int64 by
// default, its Periods and its Series. It returns ErrExists if there is one. In a space that has
// lost data, or was created for IDs that were in use, the counter waits until it is set.
func (s *Space) CreateCounter(ctx context.Context, c Counter) error {
	c.Step = cmp.Or(c.Step, 1)
	c.Last = cmp.Or(c.Last, math.MaxInt64)
	if c.Start < 0 || c.Step < 1 || c.Start > c.Last {
		return fmt.Errorf("%w: counter %s from %d by %d to %d: "+
			"want a start of 0 or more, a last number that is not before it, and a step of 1 or more",
			ErrInvalid, c.Name, c.Start, c.Step, c.Last)
	}
	if max(len(c.Periods), len(c.Series)) > longestShape {
		return fmt.Errorf("%w: counter %s: periods %.100q, series %.100q: want at most %d bytes",
			ErrInvalid, c.Name, c.Periods, c.Series, longestShape)
	}
	return s.updateCounter(ctx, c.Name, func(seen *snapshot, found *storedCounter) error {
		if found.exists() {
			return fmt.Errorf("%w: counter %s of %s", ErrExists, c.Name, s)
		}
		found.Next = c.Start
		found.Start = c.Start
		found.Step = c.Step
		found.Last = c.Last
		found.Periods = c.Periods
		found.Series = c.Series
		found.Term = seen.meta.Term
		if seen.meta.Floor > 0 {
			found.Term = "" // lost from birth, until it is set: the space may have forgotten one of this name
		}
		return nil
	})
}

// TakeNumbers takes up to n numbers of a counter, for ever: fewer where fewer are left, and at
// least one. It returns ErrNoCounter, ErrMismatch where the counter has other periods, ErrCounterEnded where
// no number is left, ErrCounterLost where the counter must be set first, as after a loss of data, and
// ErrClock where the period has not begun, or is over because another clock has begun a later one.
// After ErrOutcomeUnknown the numbers may have been taken.
func (s *Space) TakeNumbers(ctx context.Context, name string, period Period, n int64) (run Run, err error) {
	if n < 1 {
		return run, fmt.Errorf("%w: %d numbers: want 1 or more", ErrInvalid, n)
	}
	if err := period.check(); err != nil {
		return run, err
	}
	err = s.updateCounter(ctx, name, func(seen *snapshot, c *storedCounter) error {
		if !c.exists() {
			return fmt.Errorf("%w: %s of %s: make it first", ErrNoCounter, name, s)
		}
		if err := s.enter(seen, c, period); err != nil {
			return err
		}
		if err := s.checkNumbers(c); err != nil {
			return err
		}
		run = c.take(n)
		return nil
	})
	if err != nil {
		return Run{}, err
	}
	return run, nil
}

// checkNumbers returns why no number of a counter can be taken, or nil.
func (s *Space) checkNumbers(c *storedCounter) error {
	switch {
	case c.Ended():
		return fmt.Errorf("%w: %s of %s ends at %d", ErrCounterEnded, c.Name, s, c.Last)
	case c.Lost:
		highest := "no number"
		if c.Next > c.Start {
			highest = fmt.Sprintf("no number above %d", c.Next-c.Step)
		}
		return fmt.Errorf("%w: %s of %s, after a loss of data: %s is known to be taken: "+
			"set the counter beyond all that were",
			ErrCounterLost, c.Name, s, highest)
	}
	return nil
}

// SetCounter says where a counter goes on, for instance after a loss: at next, beyond all numbers that were
// taken. If the counter has periods, one that may have begun before the loss goes on at next too; all others
// begin at the start, so without a loss there is nothing to set before the first one. SetCounter never lowers a
// counter. If data are found to be lost just then, it is not set: look at it again.
func (s *Space) SetCounter(ctx context.Context, name string, next int64) error {
	if err := checkCounterName(name); err != nil {
		return err
	}
	before, err := s.read(ctx, counterRecord(name)) // the space that the person knows
	if err != nil {
		return err
	}
	return s.updateCounter(ctx, name, func(seen *snapshot, c *storedCounter) error {
		switch {
		case !c.exists():
			return fmt.Errorf("%w: %s of %s: make it first", ErrNoCounter, name, s)
		case seen.term() != before.term():
			return fmt.Errorf("%w: %s of %s: data were found to be lost just now: "+
				"set it once more, beyond all numbers that were taken",
				ErrCounterLost, name, s)
		case c.Ended(): // there is nothing to set, even after a loss
			return fmt.Errorf("%w: %s of %s ends at %d", ErrCounterEnded, name, s, c.Last)
		case c.Periods != "" && c.Period == "" && seen.meta.Floor == 0:
			return fmt.Errorf("%w: set counter %s: no period has begun, and each begins at %d: take a number before",
				ErrInvalid, name, c.Start)
		case next < c.Next || !c.has(next):
			return fmt.Errorf("%w: set counter %s to %d: want %d or more, by steps of %d, and at most %d",
				ErrInvalid, name, next, c.Next, c.Step, c.Last)
		}
		c.Next = next
		c.Term = seen.term()
		return nil
	})
}

// Counter returns a counter. It returns ErrNoCounter if there is none.
func (s *Space) Counter(ctx context.Context, name string) (c Counter, err error) {
	if err := checkCounterName(name); err != nil {
		return c, err
	}
	seen, err := s.read(ctx, counterRecord(name))
	if err != nil {
		return c, err
	}
	if seen.value == nil {
		return c, fmt.Errorf("%w: %s of %s", ErrNoCounter, name, s)
	}
	found, err := decodeCounter(name, seen.value, seen.term())
	return found.Counter, err
}

// Counters returns the first limit counters, 1 to 1,000, whose names come after the name after, ordered by name.
func (s *Space) Counters(ctx context.Context, after string, limit int) (counters []Counter, err error) {
	if len(after) > longestCounter || notInName.MatchString(after) {
		return nil, fmt.Errorf("%w: counters after %.100q: want a name, or nothing for all", ErrInvalid, after)
	}
	seen, err := s.read(ctx, leasesRecord) // for the term alone; List may be of another moment
	if err != nil {
		return nil, err
	}
	prefix := s.entryName(counterPrefix)
	entries, err := s.engine.List(ctx, prefix, prefix+after, min(max(limit, 1), 1000))
	if err != nil {
		return nil, s.storeError("list", err)
	}
	for _, entry := range entries {
		c, err := decodeCounter(strings.TrimPrefix(entry.Name, prefix), entry.Value, seen.term())
		if err != nil {
			return nil, err
		}
		counters = append(counters, c.Counter)
	}
	return counters, nil
}

const (
	counterPrefix  = "c/"
	longestCounter = MaxName - longestSpace - len("/"+counterPrefix)
	longestShape   = 200 // bytes of Periods, and of Series
)

var (
	counterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]*[a-z0-9])?$`)
	notInName   = regexp.MustCompile(`[^a-z0-9/_.-]`) // characters that some stores refuse, as NUL
)

// checkCounterName keeps the names of entries within MaxName.
func checkCounterName(name string) error {
	if len(name) > longestCounter || !counterName.MatchString(name) {
		return fmt.Errorf("%w: counter %.100q: "+
			"want a name of 1 to %d of a-z, 0-9 and / - _ . that begins and ends with a letter or digit",
			ErrInvalid, name, longestCounter)
	}
	return nil
}

// updateCounter changes a counter. If there is none, change gets the zero counter with that name, and the counter
// is made.
func (s *Space) updateCounter(ctx context.Context, name string, change func(seen *snapshot, c *storedCounter) error) error {
	if err := checkCounterName(name); err != nil {
		return err
	}
	return s.update(ctx, counterRecord(name), func(seen *snapshot) ([]byte, error) {
		c, err := decodeCounter(name, seen.value, seen.meta.Term)
		if err != nil {
			return nil, err
		}
		if err := change(seen, &c); err != nil {
			return nil, err
		}
		return c.encode(seen.value)
	})
}
