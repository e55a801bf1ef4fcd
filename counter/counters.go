// Package counter makes small numbers that never repeat, for orders, tickets and rows, in any number of processes.
//
// A [Counter] takes a run of numbers from a space by one durable compare-and-set, on any engine of package store, and
// hands them out from memory; it takes the next run before the last one is used up. So a number costs a few
// nanoseconds, numbers grow within one handle and roughly over all handles, and a crash loses a run or two but repeats
// no number. A [Strict] counter takes each number from the space, so numbers grow in the order of calls over all
// processes. Package gapless makes numbers without gaps, and package numbers prints them.
//
//	counters := counter.On(space)
//	orders, err := counters.Open(ctx, "orders", counter.OrCreate())
//	n, err := orders.Wait(ctx)
//
// # When the store loses data
//
// Numbers carry no time, so unlike forgotten leases, forgotten numbers don't expire. After a loss of data, which package
// store detects, a counter made [WithRate] continues at the lowest number that it can't have reached. Every other counter
// returns [ErrForgotten] until an operator says where to continue: [Counters.Advance], or randflake counter advance.
// Processes use up the runs that they have.
//
// A clone of a running virtual machine can't be detected: it has the runs of its twin, and repeats their unused numbers.
package counter

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
	"github.com/randflake/randflake/store"
)

// Counters gives access to the counters of one space. It is safe for concurrent use.
type Counters struct {
	space  *store.Space // or nil, where there is a source
	source Source
	now    func() time.Time // of the source's tokens
	by     string           // who makes the changes of an operator
	calls  calls

	limit, handles atomic.Int64 // of handles, or 0 for no limit; and how many are open
}

// On returns the counters of a space, which may have leases too. The caller closes the space.
func On(space *store.Space) *Counters { return &Counters{space: space} }

// LimitOpen makes Open fail with ErrTooMany while n handles of s are open, in a program that opens counters for names which
// its callers choose. A series of package numbers has two handles around the end of a period. It returns s.
func (s *Counters) LimitOpen(n int) *Counters {
	s.limit.Store(int64(n))
	return s
}

// admit counts another handle, unless there are too many.
func (s *Counters) admit(name string) error {
	if limit := s.limit.Load(); s.handles.Add(1) > limit && limit > 0 {
		s.handles.Add(-1)
		return fmt.Errorf("%w: open %s: %d are", ErrTooMany, name, limit)
	}
	return nil
}

// The errors of this package. Errors with more detail wrap one of these, so compare with errors.Is. Functions also
// return errors of package store. ErrInvalidOption and ErrClosed wrap the errors of the same names in the root package.
var (
	// ErrNoCounter says that the space has no counter of this name.
	ErrNoCounter = errors.New("counter: no counter")

	// ErrTooMany says that as many handles are open as [Counters.LimitOpen] allows.
	ErrTooMany = errors.New("counter: too many handles are open")

	// ErrPending says that the next run is not there yet. If the last attempt to take it failed, the error also
	// wraps that failure. Wait waits for the run.
	ErrPending = errors.New("counter: the next numbers are not there yet")

	// ErrEnd says that all numbers of the counter are taken.
	ErrEnd = errors.New("counter: counter has reached its end")

	// ErrRate says that the counter has no number now because of its rate.
	ErrRate = errors.New("counter: no number left at the counter's rate")

	// ErrForgotten says that the store lost data, so it is not known which numbers were taken. See
	// [Counters.Advance].
	ErrForgotten = errors.New("counter: the store has lost data, and this counter may have given more numbers than it shows")

	// ErrMismatch says that the counter was created with other parameters than an option says.
	ErrMismatch = errors.New("counter: counter was made otherwise")

	// ErrInvalidName says that a counter can't have this name.
	ErrInvalidName = errors.New("counter: invalid name")

	// ErrInvalidOption says that an option, or a combination of options, can't be used.
	ErrInvalidOption = alike.Error("counter: invalid option", randflake.ErrInvalidOption)

	// ErrClosed says that the handle was closed.
	ErrClosed = alike.Error("counter: counter is closed", randflake.ErrClosed)
)
