package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/randflake/randflake/lease"
)

// A Source has counters: those of a space, or of a service in front of one. Its errors are those of a space.
type Source interface {
	// CreateCounter makes a counter, whose Start, Step, Last, Periods and Series are given.
	CreateCounter(ctx context.Context, c lease.Counter) error

	// TakeNumbers takes 1 to n numbers, or returns an error.
	TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error)

	// SetCounter says where a counter goes on.
	SetCounter(ctx context.Context, name string, next int64) error

	// Counter returns a counter.
	Counter(ctx context.Context, name string) (lease.Counter, error)

	// Counters returns the first limit counters, ordered by name, whose names come after the name after.
	Counters(ctx context.Context, after string, limit int) ([]lease.Counter, error)
}

var _ Source = (*lease.Space)(nil)

// Errors of handles. Others are those of package lease, such as ErrNoCounter, ErrCounterEnded, lease.ErrMismatch
// where the counter was created with another Config or other periods, and ErrCounterLost after a loss
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

	Last int64 // no number is larger; the largest int64 by default

	// Series has up to 200 bytes that stand for what else must stay, such as the secret of printed numbers.
	Series string
}

// counter returns what to create in a source. periods is what the periods are, or "".
func (c Config) counter(name, periods string) lease.Counter {
	return lease.Counter{
		Name:    name,
		Start:   cmp.Or(c.Start, 1),
		Step:    cmp.Or(c.Step, 1),
		Last:    cmp.Or(c.Last, math.MaxInt64),
		Series:  c.Series,
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

// callTimeout bounds a call of the source.
const callTimeout = 10 * time.Second

// take takes 1 to n numbers. It checks that the source keeps this promise: if there were none and no
// error, the source would be asked again and again, without a pause.
func (cs *Counters) take(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	got, err := cs.source.TakeNumbers(ctx, name, period, n)
	if err == nil && (got.N < 1 || got.N > n) {
		return lease.Run{}, fmt.Errorf("counter: %s: the source gave %d numbers: want 1 to %d", name, got.N, n)
	}
	return got, err
}

// resolve applies options, and finds the counter. With OrCreate it creates a missing one. If another
// process creates one at the same time, resolve takes that, and checks that it is as wanted.
func (cs *Counters) resolve(ctx context.Context, name string, options []Option) (settings, error) {
	cs.check()
	set := settings{least: 10, most: longestRun, logger: slog.Default()}
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
		err = cs.source.CreateCounter(ctx, set.create.counter(name, set.period.Periods))
		if err == nil || errors.Is(err, lease.ErrExists) {
			found, err = cs.source.Counter(ctx, name)
		}
	}
	if err != nil {
		return set, err
	}
	want := found
	want.Periods = set.period.Periods // without OrCreate only the periods have to match
	if set.create != nil {
		want = set.create.counter(name, set.period.Periods)
	}
	return set, found.Match(want)
}
