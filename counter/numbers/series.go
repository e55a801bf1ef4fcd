package numbers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/counter/numbers/ff1"
	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/lease"
)

// A Series makes the numbers of a [Format], from one counter. It is safe for concurrent use, and any number of Series in
// any number of processes may make numbers of the same name. Uniqueness depends only on the counter; clocks only pick the period.
type Series struct {
	*Format
	counters *counter.Counters
	second   func() int64 // the present, in Unix seconds

	present atomic.Pointer[moment]
	closed  atomic.Bool

	turning chan struct{} // a mutex for turn, which a context can interrupt: it has room for one
	failed  failure       // of turn, guarded by turning
}

// A failure says why a period could not be begun in a second.
type failure struct {
	second int64
	err    error
}

// A moment is one second, with its date and its period. The date is looked up once for each second, so the code need
// not compute when days begin and end, and the date always matches the period of the handle.
type moment struct {
	second      int64
	date        date
	counter     *counter.Counter
	permutation *ff1.Cipher // or nil
}

// Open returns the series of numbers called name, and takes the first run of the present period from the counter of that name, which it
// creates if there is none. The counter keeps what must never change, as texts may repeat: the period with its zone, the start and
// the step, the secret, and of the pattern the fields with their order, width and alphabet, and digits between them.
//
// The errors are those of [NewFormat] and counter.Counters.Open: lease.ErrMismatch if any of that is another one than when the counter
// was created, lease.ErrCounter if data were lost since the period began, lease.ErrClock if a clock is wrong.
func Open(ctx context.Context, counters *counter.Counters, name, pattern string, options ...Option) (*Series, error) {
	f, err := NewFormat(name, pattern, options...)
	if err != nil {
		return nil, err
	}
	if counters == nil {
		return nil, fmt.Errorf("%w: counters are nil: want counter.On(space)", ErrInvalidOption)
	}
	if c := f.settings.config; c.End != 0 || c.Check != "" || c.Start > f.last {
		return nil, fmt.Errorf("%w: counter from %d to %d of check value %.80q: want neither an end nor a check value, which %q gives it, and a start up to %d",
			ErrInvalidOption, c.Start, c.End, c.Check, f.patternText, f.last)
	}
	s := &Series{
		Format:   f,
		counters: counters,
		second:   coarse.Seconds.Now,
		turning:  make(chan struct{}, 1),
	}
	clock := f.settings.clock
	if clock == nil {
		clock = coarse.OfBubble()
	}
	if clock != nil {
		s.second = func() int64 { return clock().Unix() }
	}
	if _, err := s.turn(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Next returns the next number of the present period. Most calls take nanoseconds, as they read from memory. The first
// call in a period waits for its first run, and some calls wait for the next run. If ctx ends first, the error wraps its
// cause. After the last number of a period, errors wrap lease.ErrEnd until the next period begins.
//
// Where another process is in the next period already, by a clock that is less than a minute ahead, or the service that has the
// counter is still in the one before, Next waits for up to a minute.
func (s *Series) Next(ctx context.Context) (Number, error) {
	s.mustBeMade()
	const pause, longest = 50 * time.Millisecond, time.Minute
	for waited := time.Duration(0); ; {
		m := s.present.Load()
		now := s.second() // before the call, which may take until the period ends
		number, err := s.next(ctx, m, now)
		switch {
		case err == nil:
			return number, nil
		case errors.Is(err, counter.ErrClosed) && !s.closed.Load():
			continue // the period ended during this call
		case errors.Is(err, lease.ErrClock) && s.turnsAround(now) && waited < longest:
			waited += pause
		default:
			return Number{}, fmt.Errorf("numbers: %s: %w", s.name, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return Number{}, fmt.Errorf("numbers: %s: %w: %w", s.name, context.Cause(ctx), err)
		}
	}
}

// next returns the next number of the period of a second. m is the moment that was the present before.
func (s *Series) next(ctx context.Context, m *moment, second int64) (Number, error) {
	if m.second != second {
		var err error
		m, err = s.turn(ctx)
		if err != nil {
			return Number{}, err
		}
	}
	n, err := m.counter.Next()
	if err != nil {
		n, err = m.counter.Wait(ctx)
	}
	if err != nil {
		return Number{}, err
	}
	return s.number(m.date, m.permutation, n)
}

// mustBeMade panics if nobody made s: each series has counters.
func (s *Series) mustBeMade() {
	if s == nil || s.counters == nil {
		panic("numbers: no Series, or the zero one: make one with Open")
	}
}

// turnsAround reports whether the period of a second began or ends within a minute.
func (s *Series) turnsAround(second int64) bool {
	before, wrong := s.dateOf(time.Unix(second-60, 0))
	after, err := s.dateOf(time.Unix(second+60, 0))
	return wrong == nil && err == nil && before.period != after.period
}

// turn returns the present moment, and begins its period if there was another one before.
func (s *Series) turn(ctx context.Context) (*moment, error) {
	select {
	case s.turning <- struct{}{}:
		defer func() { <-s.turning }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.closed.Load() {
		return nil, counter.ErrClosed
	}
	now := s.second()
	today, err := s.dateOf(time.Unix(now, 0))
	if err != nil {
		return nil, err
	}
	m := &moment{second: now, date: today}
	last := s.present.Load()
	if last != nil && last.date.period == today.period {
		m.counter = last.counter
		m.permutation = last.permutation
	} else if err := s.beginPeriod(ctx, m); err != nil {
		return nil, err
	}
	s.present.Store(m)
	if s.closed.Load() {
		m.counter.Close()
		return nil, counter.ErrClosed
	}
	if last != nil && last.counter != m.counter {
		last.counter.Close()
	}
	return m, nil
}

// beginPeriod gives a moment what belongs to its period. In a second in which that failed it does not ask the store again.
func (s *Series) beginPeriod(ctx context.Context, m *moment) (err error) {
	if s.failed.err != nil && s.failed.second == m.second {
		return s.failed.err
	}
	m.permutation, err = s.permutation(m.date.period)
	if err != nil {
		return err
	}
	config := s.settings.config
	config.End = s.last
	config.Check = s.checkValue()
	period := s.settings.period.At(m.date.day, s.settings.zone)
	options := append(slices.Clone(s.settings.counter), counter.OrCreate(config), counter.OfPeriod(period))
	m.counter, err = s.counters.Open(ctx, s.name, options...)
	if err != nil && ctx.Err() == nil {
		s.failed = failure{m.second, err}
	}
	return err
}

// Close makes later calls fail with counter.ErrClosed. The numbers of the run that are left are lost.
func (s *Series) Close() error {
	s.mustBeMade()
	s.closed.Store(true) // who begins a period meanwhile looks after that, and closes its counter
	return s.present.Load().counter.Close()
}
