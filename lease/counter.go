package lease

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/randflake/randflake/lease/internal/stored"
)

// A Counter is one number that only grows, taken in the same way as nodes. A counter may have
// periods: then each later period begins at Start.
type Counter struct {
	Name string
	Next int64 // the next free number, unless the counter has Ended

	// What never changes.
	Start   int64  // the first number, of each period if there are any
	Step    int64  // from one number to the next
	Last    int64  // no number is larger
	Periods string // what they are, as in each Period, such as "day@UTC"; empty for none
	Series  string // stands for what else must stay, such as a secret

	Period string // of Next, the Key of a Period, such as 2026-11-22; empty before the first
	Lost   bool   // no number is granted until SetCounter, or a new period: as after a loss of data
}

// A storedCounter is a counter with what only the store's entry says.
type storedCounter struct {
	Counter
	Begin int64  // when the period begins, in Unix seconds
	Term  string // a former or the present term of the space, or ""
}

// A counterEntry is the entry of a counter. One that counts from 1 in each month is, after 41
// numbers of May 2027,
//
//	{"format":1,
//		"next":42,                                                    the number that is taken next
//		"start":1, "step":1, "last":9999, "periods":"month@UTC",      what never changes
//		"period":"2027-05", "begin":1809129600,                       the period of next
//		"term":"QZ5TW..."}                                            the space's term: see below
//
// Three more numbers are 42 to 44, and make Next 45. The first one of June makes Next 2, and June the period.
//
// Numbers carry no time, so no floor helps after a loss of data. A counter has the term that the space had when
// the counter was made, set or moved to it, or when a period began that no loss can have touched. After a loss
// the space has another term, and the counter grants nothing until a person sets it, or such a period begins. A
// period that may have begun before the loss goes on where the counter was set.
//
// In a space with a floor a counter is made without a term, as the space may have forgotten one of
// that name. So it waits for the same as after a loss.
type counterEntry struct {
	Format  int    `json:"format"` // a program that knows only another one refuses the counter
	Next    int64  `json:"next"`
	Start   int64  `json:"start"`
	Step    int64  `json:"step"`
	Last    int64  `json:"last"`
	Periods string `json:"periods,omitempty"`
	Series  string `json:"series,omitempty"`
	Period  string `json:"period,omitempty"`
	Begin   int64  `json:"begin,omitempty"`
	Term    string `json:"term"`
}

const counterFormat = 1

// exists reports whether there is such a counter: all have a step. The zero Counter stands for none.
func (c *Counter) exists() bool { return c.Step > 0 }

// Match returns ErrMismatch, which says what both are, unless c has the shape of want: the same
// start, step, last number, periods and series.
func (c Counter) Match(want Counter) error {
	is, wanted := c.shape(), want.shape()
	if is == wanted {
		return nil
	}
	return fmt.Errorf("%w: %s: it is %s, and %s is wanted", ErrMismatch, c.Name, is, wanted)
}

// shape is what never changes.
func (c Counter) shape() string {
	text := fmt.Sprintf("from %d by %d to %d", c.Start, c.Step, c.Last)
	if c.Periods != "" {
		text += fmt.Sprintf(" in each %q", c.Periods)
	}
	if c.Series != "" {
		text += fmt.Sprintf(" of series %q", c.Series)
	}
	return text
}

// A Run is what a process has taken of a counter: N numbers, First, First+Step and so on.
type Run struct{ First, N, Step int64 }

// Ended reports whether no number is left, in this period if the counter has any. Next is then beyond
// Last, or -1 if that would overflow.
func (c Counter) Ended() bool { return c.Next > c.Last || c.Next < 0 }

// has reports whether a number is one of the counter's.
func (c *Counter) has(n int64) bool {
	return n >= c.Start && n <= c.Last && (n-c.Start)%c.Step == 0
}

// take returns up to n numbers from Next on, fewer where fewer are left.
func (c *Counter) take(n int64) Run {
	more := min(n-1, (c.Last-c.Next)/c.Step) // numbers after the first one
	run := Run{First: c.Next, N: 1 + more, Step: c.Step}
	last := c.Next + more*c.Step
	if last > math.MaxInt64-c.Step {
		c.Next = -1
	} else {
		c.Next = last + c.Step
	}
	return run
}

// encode returns the record that replaces one, or nil.
func (c storedCounter) encode(before []byte) ([]byte, error) {
	entry := counterEntry{
		Format:  counterFormat,
		Next:    c.Next,
		Start:   c.Start,
		Step:    c.Step,
		Last:    c.Last,
		Periods: c.Periods,
		Series:  c.Series,
		Period:  c.Period,
		Begin:   c.Begin,
		Term:    c.Term,
	}
	return stored.Encode(entry, before)
}

// decodeCounter returns the zero counter, with a name, if value is nil. term is the present one of the space.
func decodeCounter(name string, value []byte, term string) (c storedCounter, err error) {
	c.Name = name
	if value == nil {
		return c, nil
	}
	var entry counterEntry
	err = json.Unmarshal(value, &entry)
	if err == nil && (entry.Format != counterFormat || entry.Step < 1) {
		err = fmt.Errorf("want one of format %d", counterFormat)
	}
	if err != nil {
		return c, fmt.Errorf("%w: counter %s: %.100q: %w", ErrCorrupt, name, value, err)
	}
	return entry.counter(name, term), nil
}

// counter returns the counter that the entry describes. term is the present one of the space.
func (e counterEntry) counter(name, term string) storedCounter {
	c := Counter{
		Name:    name,
		Next:    e.Next,
		Start:   e.Start,
		Step:    e.Step,
		Last:    e.Last,
		Periods: e.Periods,
		Series:  e.Series,
		Period:  e.Period,
		Lost:    e.Term != term,
	}
	return storedCounter{c, e.Begin, e.Term}
}

func counterRecord(name string) record { return record{counterPrefix + name, counterWentBack} }

// counterWentBack reports whether a counter is in an earlier period, or at a lower number, than it
// was. A Next of -1 is beyond all.
func counterWentBack(was, is []byte) bool {
	before, err := decodeCounter("", was, "")
	after, wrong := decodeCounter("", is, "")
	if err != nil || wrong != nil {
		return false // the next take returns ErrCorrupt
	}
	if after.Period != before.Period {
		return after.begin() < before.begin()
	}
	return uint64(after.Next) < uint64(before.Next) // -1 is the largest uint64
}
