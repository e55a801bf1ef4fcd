package numbers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/numbers/ff1"
	"github.com/randflake/randflake/store"
)

const (
	ahead = time.Minute // how long before it begins a period is prepared
	grace = time.Minute // how long after its end a period is kept, for a clock that steps back

	// A right clock is one that is off by less than tolerance.
	tolerance = 15 * time.Minute
)

// A source is a *counter.Counter.
type source interface {
	Next() (int64, error)
	Wait(ctx context.Context) (int64, error)
	Close() error
}

// An opener opens the counter of a period, or makes it. Where begin is not zero, no right clock has picked the period
// before.
type opener func(ctx context.Context, name string, begin time.Time) (source, error)

// counterOpener opens counters of a space. Where the space has lost data a counter is made because no number is given
// long before its period begins. So a process must not have it when the clock of the space tells that its own is wrong.
func counterOpener(counters *counter.Counters, f *Format) opener {
	return func(ctx context.Context, name string, begin time.Time) (source, error) {
		options := append(slices.Clone(f.settings.counter), counter.OrCreate(), counter.WithEnd(f.last))
		if !begin.IsZero() {
			options = append(options, counter.UnusedBefore(begin))
		}
		c, err := counters.Open(ctx, name, options...)
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

// A period has one counter, which is opened once.
type period struct {
	permutation *ff1.Cipher
	ready       chan struct{} // closed when counter or err is set
	counter     source
	err         error
	opened      int64 // the second when that began, under Series.mu
	seen        int64 // the last second that needed it, under Series.mu
}

// periodOf returns the period with a date, for the present now. It starts to open its counter if need be: once, and
// after a failure once a second at most. It is called with mu held.
func (s *Series) periodOf(d date, now time.Time) *period {
	p := s.periods[d.period]
	if p == nil || p.failed() && p.opened != now.Unix() {
		p = &period{ready: make(chan struct{}), opened: now.Unix()}
		s.periods[d.period] = p
		s.working.Go(func() {
			defer close(p.ready)
			if p.permutation, p.err = s.permutation(d.period); p.err == nil {
				p.counter, p.err = s.open(s.ctx, s.counterName(d.period), s.unusedBefore(d))
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

// unusedBefore returns the time before which nobody whose clock is right opens the period's counter, or zero.
func (s *Series) unusedBefore(d date) time.Time {
	if s.settings.period == Forever {
		return time.Time{}
	}
	return s.settings.period.begin(d.day, s.settings.zone).Add(-ahead - tolerance)
}

// retire closes the counters that no moment needs any more. It is called with mu held.
func (s *Series) retire(second int64) {
	for key, p := range s.periods {
		if apart := time.Duration(second-p.seen) * time.Second; apart.Abs() > grace {
			delete(s.periods, key)
			s.working.Go(func() { p.close() })
		}
	}
}

// close closes the period's counter, when it is open.
func (p *period) close() error {
	<-p.ready
	if p.counter == nil {
		return nil
	}
	return p.counter.Close()
}
