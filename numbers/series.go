package numbers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/coarse"
)

// A Series makes the numbers of a [Format], from one counter for each period. It is safe for concurrent use, and any
// number of Series in any number of processes may make numbers of the same name.
//
// The counters are called NAME/2026-11-22, NAME/2026-w47, NAME/fy2027, NAME or such, after the name and the period. Uniqueness
// depends only on the counters, which never return a number twice; clocks only pick the period.
type Series struct {
	*Format
	open   opener
	second func() int64 // the present, in Unix seconds

	present atomic.Pointer[moment]

	mu      sync.Mutex
	periods []*period
	closed  bool

	working sync.WaitGroup
}

// A moment is one second, with its date and its period. The date is looked up once for each second, so the code need
// not compute when days begin and end, and the date always matches the counter.
type moment struct {
	second int64
	date   date
	period *period
}

// Open returns the series of numbers called name, and opens the counter of the present period in counters. The pattern,
// period and secret of a name must never change, or texts may repeat; but the number may become wider, see [WidenedFrom].
//
// The errors are those of [NewFormat] and counter.Counters.Open. A counter that does not exist is created. If the space
// may have lost a counter of that name, creating it fails with an error that wraps counter.ErrForgotten, unless the
// period began more than a quarter of an hour after the loss, or options give the counter a rate.
func Open(ctx context.Context, counters *counter.Counters, name, pattern string, options ...Option) (*Series, error) {
	f, err := NewFormat(name, pattern, options...)
	if err != nil {
		return nil, err
	}
	if counters == nil {
		return nil, fmt.Errorf("%w: counters are nil: want counter.On(space)", ErrInvalidOption)
	}
	if err := f.checkCounter(); err != nil {
		return nil, err
	}
	return newSeries(ctx, f, counterOpener(counters, f))
}

func newSeries(ctx context.Context, f *Format, open opener) (*Series, error) {
	s := &Series{Format: f, open: open, second: coarse.Seconds.Glance}
	clock := f.settings.clock
	if clock == nil {
		clock = coarse.OfBubble()
	}
	if clock != nil {
		s.second = func() int64 { return clock().Unix() }
	}
	if _, err := s.turn(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Next returns the next number of the present period. Most calls take nanoseconds, as they read from memory. The first
// call in a period that was not prepared waits for the period's counter to be opened, and some calls wait for the
// counter's next run or for its rate. If ctx ends first, the error wraps its cause. After the last number of a period,
// errors wrap counter.ErrEnd until the next period begins.
//
// The next period is prepared in the minute before it begins, while numbers are made.
func (s *Series) Next(ctx context.Context) (Number, error) {
	m := s.present.Load()
	if m == nil || m.second != s.second() {
		var err error
		if m, err = s.turn(ctx); err != nil {
			return Number{}, err
		}
	}
	for {
		n, err := m.period.counter.Next()
		if err != nil {
			n, err = m.period.counter.Wait(ctx)
		}
		if err == nil {
			return s.number(m.date, m.period.permutation, n)
		}
		if !errors.Is(err, counter.ErrClosed) {
			return Number{}, fmt.Errorf("numbers: %s: %w", s.name, err)
		}
		if m, err = s.turn(ctx); err != nil { // the period ended and its counter was closed during this call
			return Number{}, err
		}
	}
}

// turn returns the present moment, after waiting for its counter to be open.
func (s *Series) turn(ctx context.Context) (*moment, error) {
	m, err := s.now()
	if err != nil {
		return nil, err
	}
	select {
	case <-m.period.ready:
	case <-ctx.Done():
		return nil, fmt.Errorf("numbers: %s: waiting for counter %s: %w", s.name, s.counterName(m.date.period), context.Cause(ctx))
	}
	if err := m.period.err; err != nil {
		return nil, fmt.Errorf("numbers: %s: %w", s.name, err)
	}
	s.present.Store(m)
	return m, nil
}

// now returns the present moment. It also prepares the next period, and retires periods that are over.
func (s *Series) now() (*moment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("numbers: %s: %w", s.name, counter.ErrClosed)
	}
	second := s.second()
	t := time.Unix(second, 0)
	d, err := s.dateOf(t)
	if err != nil {
		return nil, err
	}
	m := &moment{second, d, s.periodOf(d, t)}
	if next, err := s.dateOf(t.Add(ahead)); err == nil {
		s.periodOf(next, t)
	}
	s.retire(second)
	return m, nil
}

// closeTimeout has room for opening a counter and closing it, see [counter.Counter.Close].
const closeTimeout = 35 * time.Second

// Close gives back the unused numbers of the periods' runs if no later numbers were taken since, and makes later calls
// fail with counter.ErrClosed. It takes 35 seconds at most. Its error means only that numbers may be lost.
func (s *Series) Close() error {
	s.mu.Lock()
	s.closed = true
	open := s.periods
	s.periods = nil
	for _, p := range open {
		p.cancel()
	}
	s.mu.Unlock()
	errs := make(chan error, len(open))
	for _, p := range open {
		s.working.Go(func() { errs <- p.close() })
	}
	go func() { s.working.Wait(); close(errs) }()
	timeout := time.After(closeTimeout)
	var all error
	for {
		select {
		case err, more := <-errs:
			if !more {
				return all
			}
			all = errors.Join(all, err)
		case <-timeout:
			return errors.Join(all, fmt.Errorf("numbers: %s: close: the store did not answer within %v: unused numbers may be lost", s.name, closeTimeout))
		}
	}
}
