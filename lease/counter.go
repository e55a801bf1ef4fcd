package lease

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// A Counter is one number that only grows, taken in the same way as nodes. Where it has periods, each later
// one begins at Start. Periods is what the Of of each [Period] must be, such as "day in UTC"; Period is the
// Key of the present one.
//
// The record of a counter that counts from 1 in each month, of which 41 numbers were taken in May 2027:
//
//	{"format":2,"counter":{
//		"next":42,                                                    the number that is taken next
//		"start":1, "step":1, "end":9999, "periods":"month in UTC",    what it is, which never changes
//		"period":"2027-05", "begin":1809129600,                       the period of next
//		"id":"QZ5TW..."}}                                             the space's ID when it was made or set
//
// Three more numbers are 42 to 44, and make Next 45. The first one of June makes Next 2, and June the period.
// Numbers carry no time, so no floor helps after a loss of data: then the space has another ID than the
// counter, which grants nothing until a person sets it, unless it goes on to a period that is later than all
// that was lost. A period that may have begun before the loss goes on where the counter was set.
type Counter struct {
	Name string `json:"-"`
	Next int64  `json:"next"` // that nobody has taken; beyond End, or -1, if there is none

	Start   int64  `json:"start"`             // the first number, of each period if there are any
	Step    int64  `json:"step"`              // from one number to the next
	End     int64  `json:"end"`               // no number is larger
	Periods string `json:"periods,omitempty"` // what they are, such as "day in UTC"; empty for none
	Check   string `json:"check,omitempty"`   // of what else must stay, such as the secret of printed numbers

	Period string `json:"period,omitempty"` // of Next, such as 2026-11-22; empty before the first
	Begin  int64  `json:"begin,omitempty"`  // of that period, in Unix seconds

	ID   string `json:"id"` // of the space when the counter was made or set: see meta
	Lost bool   `json:"-"`  // the space has another ID: data were lost since then
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

// A Period is a part of time in which the numbers of a counter begin at its start. The zero Period is all of
// time, for a counter without periods.
type Period struct {
	Of    string    // what the counter's periods are, such as "day in UTC"
	Key   string    // the name of this one, such as 2026-11-22
	Begin time.Time // in true time, which orders periods; no number of it is taken more than MaxSkew earlier
}

// isUsedUp reports whether no number is left.
func (c *Counter) isUsedUp() bool { return c.Next > c.End || c.Next < 0 }

// has reports whether a number is one of the counter's.
func (c *Counter) has(n int64) bool {
	return n >= c.Start && n <= c.End && (n-c.Start)%c.Step == 0
}

// take returns up to n numbers from Next on, fewer where fewer are left.
func (c *Counter) take(n int64) Run {
	run := Run{c.Next, min(n-1, (c.End-c.Next)/c.Step) + 1, c.Step}
	if c.Next > math.MaxInt64-run.N*c.Step { // the last number of all
		c.Next = -1
	} else {
		c.Next += run.N * c.Step
	}
	return run
}

// begin is when the counter's period began, in Unix seconds. Without a period yet, it is before all others.
func (c *Counter) begin() int64 {
	if c.Period == "" {
		return math.MinInt64
	}
	return c.Begin
}

// A counterEntry is how a counter is kept. A program that knows another format refuses it: it would drop what
// it does not know.
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

// counterWentBack reports whether a counter is in an earlier period, or at a lower number, than it was. A
// Next of -1 is beyond all.
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
