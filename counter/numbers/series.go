package numbers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/ff1"
	"github.com/randflake/randflake/lease"
)

// A Series makes the numbers of a [Format], from one counter. It is safe for concurrent use, and
// any number of Series in any number of processes may make numbers of the same name. Uniqueness
// depends only on the counter; clocks only pick the period.
type Series struct {
	*Format
	counters *counter.Counters

	present atomic.Pointer[moment]
	closed  atomic.Bool

	renewing chan struct{} // a mutex for renew, with room for one: a context can end the wait for it
	failedAt int64         // the second of the last beginPeriod that failed; guarded by renewing
	failed   error         // its error
}

// A moment is one second, with its date and with the handle on the counter in the date's period.
// Each second looks its date up, so no timer at midnight is needed.
type moment struct {
	second      int64
	date        date
	counter     *counter.Counter
	permutation *ff1.Cipher // of the period, or nil if numbers are not encrypted
}

// Open returns the series of numbers called name. It takes the first run of the present period from
// the counter with that name, and creates the counter if there is none.
//
// The counter keeps what must never change, as texts could repeat otherwise:
//
//   - the period with its zone,
//   - the start and the step,
//   - the secret,
//   - of the pattern the fields with their order, width and alphabet, and the digits between them.
//
// The errors are those of [NewFormat] and counter.Counters.Open: lease.ErrMismatch if one of these
// was different when the counter was created, lease.ErrCounterLost if data were lost since the period
// began, lease.ErrClock if a clock is wrong.
func Open(
	ctx context.Context, counters *counter.Counters, name, pattern string, options ...Option,
) (*Series, error) {
	f, err := NewFormat(name, pattern, options...)
	if err != nil {
		return nil, err
	}
	if counters == nil {
		return nil, fmt.Errorf("%w: counters are nil: want counter.From(space)", errInvalidOption)
	}
	if c := f.settings.config; c.Last != 0 || c.Series != "" || c.Start > f.pattern.last {
		return nil, fmt.Errorf("%w: counter from %d to %d of series %.80q: "+
			"want neither a last number nor a series, which %q gives it, and a start up to %d",
			errInvalidOption, c.Start, c.Last, c.Series, f.patternText, f.pattern.last)
	}
	s := &Series{
		Format:   f,
		counters: counters,
		renewing: make(chan struct{}, 1),
	}
	if _, err := s.renew(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Next returns the next number of the present period. Most calls take nanoseconds, as they read
// from memory. The first call in a period waits for the period's first run, and some calls wait for
// the next run. If ctx ends first, the error wraps the cause of that. After the last number of a
// period, errors wrap lease.ErrCounterEnded until the next period begins.
//
// Clocks may disagree when a period ends: another process is in the next period already, or the
// service that has the counter is still in the one before. Then Next waits, with pauses of up to a
// minute in all.
func (s *Series) Next(ctx context.Context) (Number, error) {
	s.mustBeMade()
	const pause, longest = 50 * time.Millisecond, time.Minute
	waited := time.Duration(0) // in pauses
	for {
		m := s.present.Load()
		now, _ := s.settings.clock.Now() // before the call, which may take until the period ends
		number, err := s.next(ctx, m, now)
		if err == nil {
			return number, nil
		}
		if errors.Is(err, counter.ErrClosed) && !s.closed.Load() {
			continue // m is over: the next moment is present by now
		}
		mayPass := errors.Is(err, lease.ErrClock) && s.isNearBorder(now) && waited < longest
		if !mayPass {
			return Number{}, fmt.Errorf("numbers: %s: %w", s.name, err)
		}
		select {
		case <-time.After(pause):
			waited += pause
		case <-ctx.Done():
			return Number{}, fmt.Errorf("numbers: %s: %w: %w", s.name, context.Cause(ctx), err)
		}
	}
}

// next returns the next number of m's period, or of the present period if m is not of the second.
func (s *Series) next(ctx context.Context, m *moment, second int64) (Number, error) {
	if m.second != second {
		var err error
		m, err = s.renew(ctx)
		if err != nil {
			return Number{}, err
		}
	}
	n, err := m.counter.Wait(ctx)
	if err != nil {
		return Number{}, err
	}
	return s.number(m.date, m.permutation, n)
}

// mustBeMade panics unless Open made s: each series has counters.
func (s *Series) mustBeMade() {
	if s == nil || s.counters == nil {
		panic("numbers: no Series, or the zero one: make one with Open")
	}
}

// isNearBorder reports whether the period of a second began or ends within a minute.
func (s *Series) isNearBorder(second int64) bool {
	before, wrong := s.dateOf(time.Unix(second-60, 0))
	after, err := s.dateOf(time.Unix(second+60, 0))
	return wrong == nil && err == nil && before.period != after.period
}

// renew makes a moment of the present second, stores it in present, and returns it.
func (s *Series) renew(ctx context.Context) (*moment, error) {
	select {
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.closed.Load() {
		return nil, counter.ErrClosed
	}
	last := s.present.Load()
	m, err := s.momentAfter(ctx, last)
	if err != nil {
		return nil, err
	}
	s.present.Store(m)
	if s.closed.Load() { // maybe Close did not see m
		m.counter.Close()
		return nil, counter.ErrClosed
	}
	if last != nil && last.counter != m.counter {
		last.counter.Close()
	}
	return m, nil
}

// momentAfter makes a moment of the present second. It takes over what belongs to the period from the
// last moment, or begins another period. last is nil at first.
func (s *Series) momentAfter(ctx context.Context, last *moment) (*moment, error) {
	second, _ := s.settings.clock.Now()
	today, err := s.dateOf(time.Unix(second, 0))
	if err != nil {
		return nil, err
	}
	m := &moment{second: second, date: today}
	isSamePeriod := last != nil && last.date.period == today.period
	if isSamePeriod {
		m.counter = last.counter
		m.permutation = last.permutation
		return m, nil
	}
	return m, s.beginPeriod(ctx, m)
}

// beginPeriod sets the fields of a moment that belong to its period. After a failure it does not
// ask the store again in the same second.
func (s *Series) beginPeriod(ctx context.Context, m *moment) (err error) {
	if s.failed != nil && s.failedAt == m.second {
		return s.failed
	}
	m.permutation = s.permutation(m.date.period)
	config := s.settings.config
	config.Last = s.pattern.last
	config.Series = s.hash()
	period := s.settings.period.At(m.date.day, s.settings.zone)
	options := append(slices.Clone(s.settings.counter), counter.OrCreate(config), counter.OfPeriod(period))
	m.counter, err = s.counters.Open(ctx, s.name, options...)
	if err != nil && ctx.Err() == nil {
		s.failedAt = m.second
		s.failed = err
	}
	return err
}

// Close makes later calls fail with counter.ErrClosed. The numbers that are left of the run are
// lost.
func (s *Series) Close() error {
	s.mustBeMade()
	s.closed.Store(true) // first: a renew under way reads it last, and closes a counter that is new
	return s.present.Load().counter.Close()
}
