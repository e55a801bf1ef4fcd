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
type Counter struct {
	Name   string `json:"-"`
	Next   int64  `json:"next"`             // number that nobody has taken; beyond End if there is none
	Start  int64  `json:"start"`            // number of a period
	Step   int64  `json:"step"`             // from one number to the next
	End    int64  `json:"end"`              // no number is larger
	Period string `json:"period,omitempty"` // that Next is of
	Lost   bool   `json:"-"`                // data were lost since it was made or set

	ID string `json:"id"` // meta.ID when it was made or set
}

// A Run is a run of numbers that a process has taken: First, First+Step and so on, N of them.
type Run struct{ First, N, Step int64 }

// A Period is a part of time in which the numbers of a counter begin at its start. The zero Period is all of time.
type Period struct {
	Key   string    // orders periods, as 2026-11-22 does
	Begin time.Time // in true time; no number of it is taken more than MaxSkew earlier
}

const (
	counterPrefix  = "c/"
	longestCounter = MaxName - 40 - len("/"+counterPrefix)
)

var counterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]*[a-z0-9])?$`)

// checkCounterName keeps the names of entries within what engines take.
func checkCounterName(name string) error {
	if len(name) > longestCounter || !counterName.MatchString(name) {
		return fmt.Errorf("%w: counter %.100q: want a name of 1 to %d of a-z, 0-9 and / - _ . that begins and ends with a letter or digit", ErrInvalid, name, longestCounter)
	}
	return nil
}

// CreateCounter makes a counter: its Start, its Step, 1 by default, and its End, the largest int64 by default. It returns
// ErrExists if there is one. In a space that has lost data, or was created for IDs that were in use, the counter waits until it
// is set.
func (s *Space) CreateCounter(ctx context.Context, c Counter) error {
	c.Step, c.End = cmp.Or(c.Step, 1), cmp.Or(c.End, math.MaxInt64)
	if c.Start < 0 || c.Step < 1 || c.Start > c.End {
		return fmt.Errorf("%w: counter %s from %d by %d to %d: want a start of 0 or more, an end that is not before it, and a step of 1 or more", ErrInvalid, c.Name, c.Start, c.Step, c.End)
	}
	return s.updateCounter(ctx, c.Name, func(at *snapshot, found *Counter) error {
		if found.Step > 0 {
			return fmt.Errorf("%w: counter %s of %s", ErrExists, c.Name, s)
		}
		*found = Counter{Next: c.Start, Start: c.Start, Step: c.Step, End: c.End, ID: at.meta.ID}
		if at.meta.Low > 0 {
			found.ID = "" // it may be one of those that were forgotten
		}
		return nil
	})
}

// TakeNumbers takes up to n numbers of a counter, for ever: fewer where there are no more, and at least one. It returns ErrNoCounter,
// ErrEnd where none is left, ErrCounter where data were lost since it was set, and ErrClock where the period is over, as another
// clock has begun a later one, or has not begun. After ErrUnknown the numbers may have been taken.
func (s *Space) TakeNumbers(ctx context.Context, name string, period Period, n int64) (run Run, err error) {
	if n < 1 {
		return run, fmt.Errorf("%w: %d numbers: want 1 or more", ErrInvalid, n)
	}
	err = s.updateCounter(ctx, name, func(at *snapshot, c *Counter) error {
		m := at.meta
		later := period.Key > c.Period
		anew := later && m.isNew(period)
		if later {
			if err := at.clockError(m); err != nil {
				return err
			}
		}
		switch {
		case c.Step == 0:
			return fmt.Errorf("%w: %s of %s: make it first", ErrNoCounter, name, s)
		case period.Key == "" && c.Period != "":
			return fmt.Errorf("%w: counter %s of %s starts again with each period, and is in %s: want one", ErrInvalid, name, s, c.Period)
		case period.Key < c.Period:
			return fmt.Errorf("%w: counter %s of %s is in %s already, and this machine's clock in %s", ErrClock, name, s, c.Period, period.Key)
		case later && period.Begin.Sub(at.to) > m.MaxSkew:
			return fmt.Errorf("%w: counter %s of %s: %s begins at %s", ErrClock, name, s, period.Key, period.Begin.UTC().Format(time.RFC3339))
		case anew:
			c.Next, c.ID = c.Start, m.ID
		case c.Next > c.End || c.Next < 0:
			return fmt.Errorf("%w: %s of %s ends at %d", ErrEnd, name, s, c.End)
		case c.Lost:
			known := fmt.Sprintf("%d is the highest number that is known to be taken", c.Next-c.Step)
			if c.Next == c.Start {
				known = "no number is known to be taken"
			}
			return fmt.Errorf("%w: %s of %s, after a loss of data: %s: set the counter beyond all that were", ErrCounter, name, s, known)
		}
		c.Period = period.Key
		run = Run{c.Next, min(n-1, (c.End-c.Next)/c.Step) + 1, c.Step}
		if c.Next > math.MaxInt64-run.N*c.Step { // the last number of all
			c.Next = -1
		} else {
			c.Next += run.N * c.Step
		}
		return nil
	})
	if err != nil {
		return Run{}, err
	}
	return run, nil
}

// isNew reports whether no number of a period can have been taken before the last loss. Numbers may be taken MaxSkew before the
// period begins.
func (m *meta) isNew(period Period) bool {
	return m.Low == 0 || !period.Begin.Before(m.start(m.Low).Add(m.MaxSkew))
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
		return json.Marshal(c)
	})
}

func decodeCounter(name string, value []byte, id string) (c Counter, err error) {
	if value != nil {
		if err = json.Unmarshal(value, &c); err != nil || c.Step < 1 {
			return c, fmt.Errorf("%w: counter %s: %.100q: %v", ErrCorrupt, name, value, err)
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
		return after.Period < before.Period
	}
	return uint64(after.Next) < uint64(before.Next)
}
