// Package counter makes small numbers that never repeat, for orders, tickets and rows, in any
// number of processes.
//
// There are two kinds of handles:
//
//   - A [Counter] takes a run of numbers from a space by one durable compare-and-swap, and gives
//     them out from memory. It takes the next run before the current one is used up. So a number
//     costs a few nanoseconds. Numbers grow within one handle, and roughly over all handles. A
//     crash loses a run or two, but repeats no number.
//   - A [Strict] takes each number from the space. So numbers grow in the order of calls over all
//     processes.
//
// Package gapless makes numbers without gaps, and package numbers prints them.
//
//	engine, err := file.New("store") // on several machines another engine
//	space, err := lease.Open(ctx, engine, lease.Config{})
//	defer space.Close()
//	orders, err := counter.From(space).Open(ctx, "orders", counter.OrCreate(counter.Config{}))
//	defer orders.Close()
//	n, err := orders.Wait(ctx) // 1, 2, 3
//
// The command randflake store init --new --store store makes the space, or [lease.Create] does.
//
// # When the store loses data
//
// Forgotten leases expire, but numbers carry no time, so forgotten numbers don't. After a loss of
// data a counter returns lease.ErrCounter until an operator says where it goes on, with SetCounter
// or randflake counter set. Processes use up the runs that they have.
//
// A clone of a running virtual machine has the same runs, and repeats the numbers that are left of
// them.
package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/randflake/randflake/lease"
)

// A Source has counters: those of a space, or of a service in front of one. Its errors are those of
// a space.
type Source interface {
	// CreateCounter makes a counter, whose Start, Step, End, Periods and Check are given.
	CreateCounter(ctx context.Context, c lease.Counter) error

	// TakeNumbers takes up to n numbers.
	TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error)

	// SetCounter says where a counter goes on.
	SetCounter(ctx context.Context, name string, next int64) error

	// Counter returns a counter.
	Counter(ctx context.Context, name string) (lease.Counter, error)

	// Counters returns the first limit counters, ordered by name, whose names come after the name
	// after.
	Counters(ctx context.Context, after string, limit int) ([]lease.Counter, error)
}

var _ Source = (*lease.Space)(nil)

// Errors of handles. Others are those of package lease, such as ErrNoCounter, ErrEnd, lease.ErrMismatch
// where the counter was created with another Config or other periods, and ErrCounter after a loss
// of data.
var (
	ErrPending = errors.New("counter: the next run is not there yet") // Wait waits for the run
	ErrClosed  = errors.New("counter: handle is closed")
)

// A Config is what a counter is created with, for good.
type Config struct {
	Start int64 // the first number, 1 or more; 1 by default

	// Step leads from one number to the next; 1 by default. With a step of 5, five databases whose
	// counters start at 1 to 5 share no number.
	Step int64

	End int64 // no number is larger; the largest int64 by default

	// Check has up to 200 bytes that stand for what else must stay, such as the secret of printed
	// numbers.
	Check string
}

// counter returns the counter to create. periods is what its periods are, or "".
func (c Config) counter(name, periods string) lease.Counter {
	return lease.Counter{
		Name:    name,
		Start:   cmp.Or(c.Start, 1),
		Step:    cmp.Or(c.Step, 1),
		End:     cmp.Or(c.End, math.MaxInt64),
		Check:   c.Check,
		Periods: periods,
	}
}

// Counters are the counters of a source.
type Counters struct{ source Source }

// From returns the counters of a source, such as a *lease.Space.
func From(source Source) *Counters { return &Counters{source} }

// Source returns where the counters are, for what is about none of a handle's numbers: to list and to set them.
func (cs *Counters) Source() Source {
	cs.check()
	return cs.source
}

// check panics unless From made cs.
func (cs *Counters) check() {
	if cs == nil || cs.source == nil {
		panic("counter: no Counters, or zero ones: make some with From")
	}
}

// Create makes a counter without periods. It returns lease.ErrExists if there is one.
func (cs *Counters) Create(ctx context.Context, name string, config Config) error {
	cs.check()
	return cs.source.CreateCounter(ctx, config.counter(name, ""))
}

// open applies options, and finds the counter. With OrCreate it creates a missing one. If another
// process creates the counter at the same time, open uses that, unless it is another one.
func (cs *Counters) open(ctx context.Context, name string, options []Option) (settings, error) {
	cs.check()
	set := settings{least: 10, most: 1e9, logger: slog.Default()}
	for i, option := range options {
		if option.set == nil {
			return set, fmt.Errorf("%w: option %d is the zero Option: leave it out", lease.ErrInvalid, i+1)
		}
		if err := option.set(&set); err != nil {
			return set, err
		}
	}
	set.logger = set.logger.With("counter", name)
	found, err := cs.source.Counter(ctx, name)
	if errors.Is(err, lease.ErrNoCounter) && set.create != nil {
		err = cs.source.CreateCounter(ctx, set.create.counter(name, set.period.Of))
		if err == nil || errors.Is(err, lease.ErrExists) {
			found, err = cs.source.Counter(ctx, name)
		}
	}
	if err != nil {
		return set, err
	}
	want := found
	want.Periods = set.period.Of // without OrCreate only the periods have to match
	if set.create != nil {
		want = set.create.counter(name, set.period.Of)
	}
	return set, found.Match(want)
}
