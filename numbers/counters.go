package numbers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/numbers/ff1"
	"github.com/randflake/randflake/store"
)

const (
	ahead = time.Minute // a period is prepared this long before it begins
	grace = time.Minute // a period is kept this long after its end, in case a clock steps back

	// A right clock is one that is off by less than tolerance.
	tolerance = 15 * time.Minute
)

// A source is a *counter.Counter.
type source interface {
	Next() (int64, error)
	Wait(ctx context.Context) (int64, error)
	Close() error
}

// An opener opens the counter of a period, or creates it. If begin is not zero, no right clock has picked the period
// before begin.
type opener func(ctx context.Context, name string, begin time.Time) (source, error)

// counterOpener opens counters of a space. If the space has lost data, a missing counter may still be created, because
// its numbers are never handed out long before its period begins. So a process must not get the counter if the clock of
// the space shows that the process's own clock is wrong.
func counterOpener(counters *counter.Counters, f *Format) opener {
	return func(ctx context.Context, name string, begin time.Time) (source, error) {
		options := append(slices.Clone(f.settings.counter), counter.OrCreate(), counter.WithEnd(f.last))
		if !begin.IsZero() {
			options = append(options, counter.UnusedBefore(begin))
		}
		c, err := counters.Open(ctx, name, options...)
		if errors.Is(err, counter.ErrMismatch) {
			if err = f.extend(ctx, counters, name, err); err == nil {
				c, err = counters.Open(ctx, name, options...)
			}
		}
		if err != nil {
			return nil, err
		}
		if now := c.Status().Info.Changed; now.Before(begin) {
			c.Close()
			return nil, fmt.Errorf("%w: counter %s: its space says %s, long before the period: set the wrong one right", store.ErrClock, name, now.Format(time.RFC3339))
		}
		return c, nil
	}
}

// extend makes room for the present width in a counter of one of the widths before. For any other it returns mismatch.
func (f *Format) extend(ctx context.Context, counters *counter.Counters, name string, mismatch error) error {
	info, err := counters.Get(ctx, name)
	if err != nil || !slices.ContainsFunc(f.narrower, func(n *Format) bool { return n.last == info.End }) {
		return mismatch
	}
	_, err = counters.Extend(ctx, name, f.last)
	return err
}

// checkCounter refuses options of counters that a series can't keep.
func (f *Format) checkCounter() error {
	info, err := counter.NewInfo(f.settings.counter...)
	if err != nil {
		return fmt.Errorf("numbers: %s: %w", f.name, err)
	}
	_, dated := counter.PeriodEnd(f.name)
	switch period := f.settings.period; {
	case dated && period == Forever:
		return fmt.Errorf("%w: name %q: its end reads as a period, and counter.Prune removes such a counter: want a letter there, as in c2025", ErrInvalidOption, f.name)
	case info.End != math.MaxInt64:
		return fmt.Errorf("%w: counter.WithEnd(%d): the width of the number is its end, %d in %q: leave WithEnd out", ErrInvalidOption, info.End, f.last, f.text)
	case info.Start < 1 || info.Start > f.last:
		return fmt.Errorf("%w: counter.WithStart(%d): want 1 to %d, which %q has room for", ErrInvalidOption, info.Start, f.last, f.text)
	case period != Forever && info.Start > info.Stride:
		return fmt.Errorf("%w: counter.WithStart(%d): each %v would begin there: leave it out, and set the present one alone: randflake counter advance %s NUMBER",
			ErrInvalidOption, info.Start, period, f.name+"/"+period.key(time.Now().In(f.settings.zone)))
	case period != Forever:
		return f.checkRate(info)
	}
	return nil
}

// checkRate refuses a rate at which a loss of data at the end of a period would skip more numbers than the period has.
func (f *Format) checkRate(info counter.Info) error {
	const around = time.Hour // for ahead, tolerance and grace, and for what a rate allows at once and skips for clocks
	seconds := int64((f.settings.period.longest() + around) / time.Second)
	rate := func(last int64) int64 { return (last - info.Start) / info.Stride / seconds }
	fits := rate(f.last)
	if info.Rate <= fits {
		return nil
	}
	want := ""
	if fits > 0 {
		want = fmt.Sprintf("a rate of at most %d, or ", fits)
	}
	width := f.pattern.width
	for {
		width++
		last, ok := f.pattern.alphabet.last(width)
		if !ok {
			return fmt.Errorf("%w: counter.WithRate(%d): that is more than a number can hold in a %v", ErrInvalidOption, info.Rate, f.settings.period)
		}
		if info.Rate <= rate(last) {
			return fmt.Errorf("%w: counter.WithRate(%d): after a loss of data late in a %v it may skip more numbers than %q has: want %s%d characters for the number",
				ErrInvalidOption, info.Rate, f.settings.period, f.text, want, width)
		}
	}
}

// A period has one counter, which is opened once. Series.mu guards cancel, opened and seen.
type period struct {
	key         string
	permutation *ff1.Cipher
	cancel      func()        // gives up opening
	ready       chan struct{} // closed when counter or err is set
	counter     source
	err         error
	opened      int64 // the Unix second in which opening the counter began
	seen        int64 // the last Unix second that needed the period
}

// periodOf returns the period of a date. At first use it starts to open the period's counter, and after a failure it
// tries again, at most once a second. The present time is now. The caller holds mu.
func (s *Series) periodOf(d date, now time.Time) *period {
	i := slices.IndexFunc(s.periods, func(p *period) bool { return p.key == d.period })
	if i < 0 {
		i, s.periods = len(s.periods), append(s.periods, nil)
	}
	p := s.periods[i]
	if p == nil || p.failed() && p.opened != now.Unix() {
		ctx, cancel := context.WithCancel(context.Background())
		p = &period{key: d.period, ready: make(chan struct{}), opened: now.Unix(), cancel: cancel}
		s.periods[i] = p
		s.working.Go(func() {
			defer close(p.ready)
			defer func() {
				cancel()
				s.mu.Lock()
				defer s.mu.Unlock()
				p.cancel = func() {} // to let go of the context, for a process with many series
			}()
			if p.permutation, p.err = s.permutation(d.period); p.err == nil {
				p.counter, p.err = s.open(ctx, s.counterName(d.period), s.unusedBefore(d))
			}
		})
	}
	p.seen = now.Unix()
	return p
}

func (p *period) failed() bool {
	select {
	case <-p.ready:
		return p.err != nil
	default:
		return false
	}
}

func (s *Series) counterName(period string) string {
	if period == "" {
		return s.name
	}
	return s.name + "/" + period
}

// unusedBefore returns a time before which no process with a right clock opens the period's counter, or the zero time.
func (s *Series) unusedBefore(d date) time.Time {
	if s.settings.period == Forever {
		return time.Time{}
	}
	return s.settings.period.begin(d.day, s.settings.zone).Add(-ahead - tolerance)
}

// retire closes the counters of periods that are no longer needed. The caller holds mu.
func (s *Series) retire(second int64) {
	s.periods = slices.DeleteFunc(s.periods, func(p *period) bool {
		apart := time.Duration(second-p.seen) * time.Second
		if apart.Abs() > grace {
			p.cancel()
			s.working.Go(func() { p.close() })
		}
		return apart.Abs() > grace
	})
}

// close waits until the period's counter is open or has failed to open, and closes it.
func (p *period) close() error {
	<-p.ready
	if p.counter == nil {
		return nil
	}
	return p.counter.Close()
}
