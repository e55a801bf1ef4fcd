// Package counter keeps counters: small numbers that never repeat, for orders, tickets and rows, from any number of
// processes.
//
// A [Counter] takes a block of numbers from a space by one durable compare-and-set, on any engine of package store, and
// hands them out from memory; the next block is there before the last one runs out. So a number costs a few nanoseconds,
// numbers grow within one handle and roughly over all of them, and a crash loses a block or two and repeats none.
// A [Strict] counter takes each number from the space, so that numbers grow over all processes in the order of calls.
// Numbers without any gap are package gapless's business, and what people print that of package numbers.
//
//	counters := counter.On(space)
//	orders, err := counters.Open(ctx, "orders", counter.OrCreate())
//	n, err := orders.Wait(ctx)
//
// # When the store loses data
//
// Numbers carry no time, so what a store forgot can't be waited out, as with leases. After a loss of data, which package
// store notices, a counter that was made [WithRate] goes on at the lowest number that it can't have reached. Any other fails with
// [ErrForgotten] until a person says where to go on: [Counters.Advance], or randflake counter advance. Processes go on
// with the blocks that they have.
//
// What can't be noticed: the clone of a running virtual machine has its twin's blocks, and repeats what is left of them.
package counter

import (
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
	"github.com/randflake/randflake/store"
)

// Counters are those of one space. They are safe for concurrent use.
type Counters struct {
	space  *store.Space // or nil, where there is a source
	source Source
	now    func() time.Time // of the source's tokens
	calls  calls
}

// On returns the counters that are kept in a space, which may have leases too. Closing the space is up to the caller.
func On(space *store.Space) *Counters { return &Counters{space: space} }

// The errors of this package. Those that carry more detail wrap one of these, so compare with errors.Is. Those of
// package store may come as well. ErrInvalidOption and ErrClosed wrap the errors of the root package that have their names.
var (
	// ErrNoCounter says that the space has no counter of this name.
	ErrNoCounter = errors.New("counter: no counter")

	// ErrPending says that the next block is not there yet; what it wraps besides says why, if the last attempt to get it
	// failed. Wait waits for it.
	ErrPending = errors.New("counter: the next numbers are not there yet")

	// ErrEnd says that every number of the counter was taken.
	ErrEnd = errors.New("counter: counter has reached its end")

	// ErrRate says that the counter has no number for now, because of the bound on its rate.
	ErrRate = errors.New("counter: no number left at the counter's rate")

	// ErrForgotten says that the store lost data, so that nobody knows which numbers were taken from the counter.
	ErrForgotten = errors.New("counter: the store has lost data, and this counter may have given more numbers than it shows")

	// ErrMismatch says that a counter is there and was made otherwise than an option says.
	ErrMismatch = errors.New("counter: counter was made otherwise")

	// ErrInvalidName says that no counter can have this name.
	ErrInvalidName = errors.New("counter: invalid name")

	// ErrInvalidOption says that an option, or options together, can't be used.
	ErrInvalidOption = alike.Error("counter: invalid option", randflake.ErrInvalidOption)

	// ErrClosed says that the handle was closed.
	ErrClosed = alike.Error("counter: counter is closed", randflake.ErrClosed)
)
