// Package counter makes small numbers that never repeat, for orders, tickets and rows, in any number of processes.
//
// A Counter takes a run of numbers from a space by one durable compare-and-swap, and hands them out from memory; it takes the next
// run before the last one is used up. So a number costs a few nanoseconds, numbers grow within one handle and roughly over all
// handles, and a crash loses a run or two but repeats no number. A Strict counter takes each number from the space, so numbers grow
// in the order of calls over all processes. Package gapless makes numbers without gaps, and package numbers prints them.
//
//	counters := counter.On(space)
//	orders, err := counters.Open(ctx, "orders", counter.OrCreate(counter.Config{}))
//	n, err := orders.Wait(ctx)
//
// # When the store loses data
//
// Numbers carry no time, so unlike forgotten leases, forgotten numbers don't expire. After a loss of data a counter returns
// lease.ErrCounter until an operator says where it goes on: Counters.Set, or randflake counter set. Processes use up the runs that
// they have.
//
// A clone of a running virtual machine has the runs of its twin, and repeats their unused numbers.
package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/metrics"
)

// A Source has counters: those of a space, or of a service in front of one. Its errors are those of a space.
type Source interface {
	// CreateCounter makes a counter, whose Start, Step, End, Periods and Check are given.
	CreateCounter(ctx context.Context, c lease.Counter) error

	// TakeNumbers takes up to n numbers.
	TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error)

	// SetCounter says where a counter goes on.
	SetCounter(ctx context.Context, name string, next int64) error

	// Counter returns a counter.
	Counter(ctx context.Context, name string) (lease.Counter, error)

	// Counters returns up to limit counters, in the order of their names, which come after the name after.
	Counters(ctx context.Context, after string, limit int) ([]lease.Counter, error)
}

var _ Source = (*lease.Space)(nil)

// Errors of handles. Others are those of package lease: ErrNoCounter, ErrEnd, ErrCounter after a loss, ErrClock.
var (
	ErrPending  = errors.New("counter: the next run is not there yet") // Wait waits for it
	ErrClosed   = errors.New("counter: handle is closed")
	ErrMismatch = lease.ErrMismatch // the counter was created with another Config, or other periods: take those, or another name
)

// A Config is what a counter is created with, for good.
type Config struct {
	Start int64 // the first number, 1 or more; 1 by default
	Step  int64 // from one number to the next; 1 by default. With a step of 5, five databases whose counters start at 1 to 5 share no number
	End   int64 // no number is larger; the largest int64 by default

	Check string // up to 200 bytes that stand for what else must stay, as the secret of what the numbers are printed in
}

func (c Config) record(name string) lease.Counter {
	return lease.Counter{Name: name, Start: cmp.Or(c.Start, 1), Step: cmp.Or(c.Step, 1), End: cmp.Or(c.End, math.MaxInt64), Check: c.Check}
}

// Counters are the counters of a source.
type Counters struct {
	Source
}

// On returns the counters of a space.
func On(space *lease.Space) *Counters { return From(space) }

// From returns the counters of a source.
func From(source Source) *Counters { return &Counters{Source: source} }

// check panics unless From made s, of a source.
func (s *Counters) check() {
	if s == nil || s.Source == nil {
		panic("counter: no Counters, or zero ones: make some with On or From")
	}
}

// Create makes a counter without periods. It returns lease.ErrExists if there is one.
func (s *Counters) Create(ctx context.Context, name string, config Config) error {
	s.check()
	return s.CreateCounter(ctx, config.record(name))
}

// An Option changes a handle.
type Option struct{ set func(*settings) error }

type settings struct {
	create      *Config
	period      lease.Period
	least, most int64
	logger      *slog.Logger
}

// OrCreate makes Open create the counter if there is none, with the periods of OfPeriod. If there is one with another Config, Open
// returns ErrMismatch.
func OrCreate(config Config) Option {
	return Option{func(s *settings) error { s.create = &config; return nil }}
}

// OfPeriod makes a handle take the numbers of a period alone, which begin at the start. A later period ends it: see lease.Period. Open
// returns ErrMismatch if the counter has other periods, or none.
func OfPeriod(period lease.Period) Option {
	return Option{func(s *settings) error { s.period = period; return nil }}
}

// WithRunLength bounds how many numbers a run has, by default 10 to 1,000,000,000. Small runs make smaller gaps, but last for
// shorter outages.
func WithRunLength(least, most int64) Option {
	return Option{func(s *settings) error {
		if s.least, s.most = least, most; least < 1 || most < least || most > 1e9 {
			return fmt.Errorf("%w: run length of %d to %d: want 1 to 1,000,000,000, the smaller one first", lease.ErrInvalid, least, most)
		}
		return nil
	}}
}

// WithLogger makes a handle log to l instead of slog.Default() when it gets no more numbers, and when it does again.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if s.logger = l; l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", lease.ErrInvalid)
		}
		return nil
	}}
}

func (s *Counters) open(ctx context.Context, name string, options []Option) (set settings, err error) {
	s.check()
	set = settings{least: 10, most: 1e9, logger: slog.Default()}
	for i, option := range options {
		if option.set == nil {
			return set, fmt.Errorf("%w: option %d is the zero Option: leave it out", lease.ErrInvalid, i+1)
		}
		if err := option.set(&set); err != nil {
			return set, err
		}
	}
	found, err := s.Counter(ctx, name)
	if errors.Is(err, lease.ErrNoCounter) && set.create != nil {
		made := set.create.record(name)
		made.Periods = set.period.Of
		if err = s.CreateCounter(ctx, made); err == nil || errors.Is(err, lease.ErrExists) {
			found, err = s.Counter(ctx, name)
		}
	}
	if err != nil {
		return set, err
	}
	want := found
	if set.create != nil {
		want = set.create.record(name)
	}
	want.Periods = set.period.Of
	return set, found.Match(want)
}

// A Status is a snapshot of a handle.
type Status struct {
	Taken  uint64 // numbers, since the handle was opened
	Issued uint64 // of these that callers were given
	Held   uint64 // that are left in memory
	Err    error  // why the last attempt to get numbers failed, or nil
}

// Status returns a snapshot. It never waits for the space.
func (c *Counter) Status() Status {
	c.load() // or c is of no use
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Taken: c.taken, Issued: c.issued(), Err: c.why}
	if !c.closed {
		s.Held = s.Taken - s.Issued
	}
	return s
}

// Status returns a snapshot, in which Held is 0. It never waits for the space.
func (s *Strict) Status() Status {
	s.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Taken: s.taken, Issued: s.issued, Err: s.why}
}

var _, _ metrics.Reporter = (*Counter)(nil), (*Strict)(nil)

// Metrics implements [metrics.Reporter].
func (c *Counter) Metrics() []metrics.Metric { return c.Status().Metrics(c.name) }

// Metrics implements [metrics.Reporter].
func (s *Strict) Metrics() []metrics.Metric { return s.Status().Metrics(s.name) }

// Metrics returns the metrics of a counter of that name.
func (s Status) Metrics(name string) []metrics.Metric {
	all := []metrics.Metric{
		metrics.Counter("randflake_counter_taken_total", "Numbers of a counter that this process has taken from the store.", s.Taken),
		metrics.Counter("randflake_counter_issued_total", "Numbers of a counter given to callers.", s.Issued),
		metrics.Gauge("randflake_counter_held", "Numbers of a counter that were taken and are left in memory.", s.Held),
		metrics.Flag("randflake_counter_failing", "1 if the last attempt to get numbers of a counter failed, otherwise 0.", s.Err != nil),
	}
	for i := range all {
		all[i].Labels = map[string]string{"counter": name}
	}
	return all
}
