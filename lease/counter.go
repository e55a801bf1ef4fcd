package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// A Counter is one number that only grows, taken in the same way as nodes. Its numbers carry no time, so no floor helps after a
// loss: then it grants nothing until a person sets it, unless it starts again in a period that is later than all that was lost. A
// period that may have begun before the loss goes on where the counter was set.
//
// What it is never changes: Start, Step, End, Periods and Check.
type Counter struct {
	Name    string `json:"-"`
	Next    int64  `json:"next"`              // number that nobody has taken; beyond End if there is none
	Start   int64  `json:"start"`             // number of a period
	Step    int64  `json:"step"`              // from one number to the next
	End     int64  `json:"end"`               // no number is larger
	Periods string `json:"periods,omitempty"` // in each of which it starts again, as Period.Of names them; empty if it never does
	Check   string `json:"check,omitempty"`   // of what else must stay, as the secret of the texts that its numbers are in

	Period string `json:"period,omitempty"` // key of the one that Next is of
	Begin  int64  `json:"begin,omitempty"`  // of that period, in Unix seconds
	Lost   bool   `json:"-"`                // data were lost since it was made or set

	ID string `json:"id"` // meta.ID when it was made or set
}

// Match returns ErrMismatch, with both, unless c is what want is.
func (c Counter) Match(want Counter) error {
	is, wanted := c.shape(), want.shape()
	if is == wanted {
		return nil
	}
	return fmt.Errorf("%w: %s: it is %s, and %s is wanted", ErrMismatch, c.Name, is, wanted)
}

// shape is what never changes.
func (c Counter) shape() string {
	text := fmt.Sprintf("from %d by %d to %d", c.Start, c.Step, c.End)
	if c.Periods != "" {
		text += fmt.Sprintf(" in each %q", c.Periods)
	}
	if c.Check != "" {
		text += fmt.Sprintf(" of check value %q", c.Check)
	}
	return text
}

// A Run is a run of numbers that a process has taken: First, First+Step and so on, N of them.
type Run struct{ First, N, Step int64 }

// A Period is a part of time in which the numbers of a counter begin at its start. The zero Period is all of time, for a counter
// without periods.
type Period struct {
	Of    string    // what the counter's periods are, such as "day in UTC"
	Key   string    // its name, such as 2026-11-22
	Begin time.Time // in true time, which orders periods; no number of it is taken more than MaxSkew earlier
}

const (
	counterPrefix  = "c/"
	longestCounter = MaxName - 40 - len("/"+counterPrefix)
	longestShape   = 200 // bytes of Periods, and of Check
)

var counterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]*[a-z0-9])?$`)

// checkCounterName keeps the names of entries within what engines take.
func checkCounterName(name string) error {
	if len(name) > longestCounter || !counterName.MatchString(name) {
		return fmt.Errorf("%w: counter %.100q: want a name of 1 to %d of a-z, 0-9 and / - _ . that begins and ends with a letter or digit", ErrInvalid, name, longestCounter)
	}
	return nil
}

// CreateCounter makes a counter: its Start, its Step, 1 by default, its End, the largest int64 by default, its Periods and its
// Check. It returns ErrExists if there is one. In a space that has lost data, or was created for IDs that were in use, the counter waits until it
// is set.
func (s *Space) CreateCounter(ctx context.Context, c Counter) error {
	c.Step, c.End = cmp.Or(c.Step, 1), cmp.Or(c.End, math.MaxInt64)
	if c.Start < 0 || c.Step < 1 || c.Start > c.End {
		return fmt.Errorf("%w: counter %s from %d by %d to %d: want a start of 0 or more, an end that is not before it, and a step of 1 or more", ErrInvalid, c.Name, c.Start, c.Step, c.End)
	}
	if max(len(c.Periods), len(c.Check)) > longestShape {
		return fmt.Errorf("%w: counter %s: periods %.100q, check value %.100q: want at most %d bytes", ErrInvalid, c.Name, c.Periods, c.Check, longestShape)
	}
	return s.updateCounter(ctx, c.Name, func(at *snapshot, found *Counter) error {
		if found.Step > 0 {
			return fmt.Errorf("%w: counter %s of %s", ErrExists, c.Name, s)
		}
		*found = Counter{Next: c.Start, Start: c.Start, Step: c.Step, End: c.End, Periods: c.Periods, Check: c.Check, ID: at.meta.ID}
		if at.meta.Low > 0 {
			found.ID = "" // it may be one of those that were forgotten
		}
		return nil
	})
}

// TakeNumbers takes up to n numbers of a counter, for ever: fewer where there are no more, and at least one. It returns ErrNoCounter,
// ErrMismatch where the counter has other periods, ErrEnd where none is left, ErrCounter where data were lost since it was set, and
// ErrClock where the period is over, as another clock has begun a later one, or has not begun. After ErrUnknown the numbers may have
// been taken.
func (s *Space) TakeNumbers(ctx context.Context, name string, period Period, n int64) (run Run, err error) {
	if n < 1 {
		return run, fmt.Errorf("%w: %d numbers: want 1 or more", ErrInvalid, n)
	}
	if (period.Of == "") != (period.Key == "") {
		return run, fmt.Errorf("%w: period %.100q of each %.100q: want both, or neither", ErrInvalid, period.Key, period.Of)
	}
	err = s.updateCounter(ctx, name, func(at *snapshot, c *Counter) error {
		if c.Step == 0 {
			return fmt.Errorf("%w: %s of %s: make it first", ErrNoCounter, name, s)
		}
		if err := s.enter(at, c, period); err != nil {
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

// enter returns why no number of a period can be taken, or nil: then the counter is in that period.
func (s *Space) enter(at *snapshot, c *Counter, period Period) error {
	if period.Of != c.Periods {
		want := *c
		want.Periods = period.Of
		return c.Match(want)
	}
	m := at.meta
	begin := period.Begin.Unix()
	later := period.Key != c.Period && begin > c.begin()
	if later {
		if err := at.clockError(m); err != nil {
			return err
		}
	}
	switch {
	case period.Key != c.Period && !later:
		return fmt.Errorf("%w: counter %s of %s is in %s already, and this machine's clock in %s", ErrClock, c.Name, s, c.Period, period.Key)
	case later && period.Begin.Sub(at.to) > m.MaxSkew:
		return fmt.Errorf("%w: counter %s of %s: %s begins at %s", ErrClock, c.Name, s, period.Key, period.Begin.UTC().Format(time.RFC3339))
	case later && m.isNew(period):
		c.Next, c.ID = c.Start, m.ID
	case c.Next > c.End || c.Next < 0:
		return fmt.Errorf("%w: %s of %s ends at %d", ErrEnd, c.Name, s, c.End)
	case c.Lost:
		known := fmt.Sprintf("%d is the highest number that is known to be taken", c.Next-c.Step)
		if c.Next == c.Start {
			known = "no number is known to be taken"
		}
		return fmt.Errorf("%w: %s of %s, after a loss of data: %s: set the counter beyond all that were", ErrCounter, c.Name, s, known)
	}
	if later { // also one that may have begun before a loss: Next is beyond its numbers too
		c.Period, c.Begin = period.Key, begin
	}
	return nil
}

// isNew reports whether no number of a period can have been taken before the last loss. Numbers may be taken MaxSkew before the
// period begins.
func (m *meta) isNew(period Period) bool {
	return m.Low == 0 || !period.Begin.Before(m.start(m.Low).Add(m.MaxSkew))
}

// begin is when the counter's period began, in Unix seconds: before all others if it is in none yet.
func (c *Counter) begin() int64 {
	if c.Period == "" {
		return math.MinInt64
	}
	return c.Begin
}

// take returns up to n numbers from Next on, of those that there are.
func (c *Counter) take(n int64) Run {
	run := Run{c.Next, min(n-1, (c.End-c.Next)/c.Step) + 1, c.Step}
	if c.Next > math.MaxInt64-run.N*c.Step { // the last number of all
		c.Next = -1
	} else {
		c.Next += run.N * c.Step
	}
	return run
}

// SetCounter says where a counter goes on, for instance after a loss: at next, beyond all numbers that were taken. Where they began
// anew with each period, a period that may have begun before the loss goes on at next too. It never lowers one. If data are found
// to be lost just then, the counter is not set: look at it again.
func (s *Space) SetCounter(ctx context.Context, name string, next int64) error {
	before, err := s.read(ctx, counterRecord(name))
	if err != nil {
		return err
	}
	return s.updateCounter(ctx, name, func(at *snapshot, c *Counter) error {
		switch {
		case c.Step == 0:
			return fmt.Errorf("%w: %s of %s: make it first", ErrNoCounter, name, s)
		case at.id() != before.id():
			return fmt.Errorf("%w: %s of %s: data were found to be lost just now: set it once more, beyond all numbers that were taken", ErrCounter, name, s)
		case c.Next > c.End || c.Next < 0:
			return fmt.Errorf("%w: %s of %s ends at %d", ErrEnd, name, s, c.End)
		case next < c.Next || next-c.Start < 0 || (next-c.Start)%c.Step != 0 || next > c.End:
			return fmt.Errorf("%w: set counter %s to %d: want %d or more, by steps of %d, and at most %d", ErrInvalid, name, next, c.Next, c.Step, c.End)
		}
		c.Next = next
		c.ID = at.id()
		return nil
	})
}

// Counter returns a counter. It returns ErrNoCounter if there is none.
func (s *Space) Counter(ctx context.Context, name string) (c Counter, err error) {
	if err := checkCounterName(name); err != nil {
		return c, err
	}
	at, err := s.read(ctx, counterRecord(name))
	if err != nil {
		return c, err
	}
	if at.value == nil {
		return c, fmt.Errorf("%w: %s of %s", ErrNoCounter, name, s)
	}
	return decodeCounter(name, at.value, at.id())
}

// Counters returns up to limit counters, 1 to 1,000, in the order of their names, which come after the name after.
func (s *Space) Counters(ctx context.Context, after string, limit int) (counters []Counter, err error) {
	at, err := s.read(ctx, leases)
	if err != nil {
		return nil, err
	}
	prefix := s.entry(counterPrefix)
	entries, err := s.engine.List(ctx, prefix, prefix+after, min(max(limit, 1), 1000))
	if err != nil {
		return nil, s.failed("list", err)
	}
	for _, entry := range entries {
		c, err := decodeCounter(strings.TrimPrefix(entry.Name, prefix), entry.Value, at.id())
		if err != nil {
			return nil, err
		}
		counters = append(counters, c)
	}
	return counters, nil
}

// updateCounter changes a counter, which has no step if there is none.
func (s *Space) updateCounter(ctx context.Context, name string, change func(at *snapshot, c *Counter) error) error {
	if err := checkCounterName(name); err != nil {
		return err
	}
	return s.update(ctx, counterRecord(name), func(at *snapshot) ([]byte, error) {
		c, err := decodeCounter(name, at.value, at.meta.ID)
		if err != nil {
			return nil, err
		}
		if err := change(at, &c); err != nil {
			return nil, err
		}
		return c.encode()
	})
}

// A counterEntry is how a counter is kept. A program that knows another format refuses it: it would drop what it does not know.
type counterEntry struct {
	Format  int     `json:"format"`
	Counter Counter `json:"counter"`
}

const counterFormat = 2

func (c Counter) encode() ([]byte, error) { return json.Marshal(counterEntry{counterFormat, c}) }

func decodeCounter(name string, value []byte, id string) (c Counter, err error) {
	if value != nil {
		var entry counterEntry
		err = json.Unmarshal(value, &entry)
		c = entry.Counter
		if err == nil && (entry.Format != counterFormat || c.Step < 1) {
			err = fmt.Errorf("want one of format %d", counterFormat)
		}
		if err != nil {
			return c, fmt.Errorf("%w: counter %s: %.100q: %w", ErrCorrupt, name, value, err)
		}
		c.Lost = c.ID != id
	}
	c.Name = name
	return c, nil
}

func counterRecord(name string) record { return record{counterPrefix + name, counterWentBack} }

// counterWentBack reports whether a counter is in an earlier period, or at a lower number, than it was. A Next of -1 is beyond all.
func counterWentBack(was, is []byte) bool {
	before, err := decodeCounter("", was, "")
	after, wrong := decodeCounter("", is, "")
	if err != nil || wrong != nil {
		return false // the next take returns ErrCorrupt
	}
	if after.Period != before.Period {
		return after.begin() < before.begin()
	}
	return uint64(after.Next) < uint64(before.Next)
}
