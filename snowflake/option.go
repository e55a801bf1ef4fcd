package snowflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/lease"
)

// An Option changes how New and Keep make a generator. If options contradict each other, the last one applies.
type Option struct{ set func(*settings) error }

// settings are the combined effect of the options.
type settings struct {
	policy  policy
	pins    []pin
	now     func() time.Time  // an injected clock, or nil
	refused func(error, bool) // called with each refusal, or nil
	leasing []lease.Option    // of the keeper
}

func newSettings(l *Layout, options []Option) (s settings, err error) {
	if err := l.check(); err != nil {
		return s, err
	}
	s.now = coarse.OfBubble()
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	return s, s.policy.check(l)
}

// Pin fixes the value of a static part, such as the datacenter. The worker number fills the static parts that are not
// pinned.
func Pin(name string, value uint64) Option {
	return Option{func(s *settings) error { s.pins = append(s.pins, pin{name, value}); return nil }}
}

// WithClock makes the generator call now for the time, on every call, instead of reading the system clock. It is meant
// for tests and simulations. Waiting still takes real time, because timers don't use now. With Keep, the keeper uses
// the same clock.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalidOption)
		}
		s.now = now
		return nil
	}}
}

// OnRefusal calls f with the error whenever a call returns one instead of an ID, unless its context was canceled. It also calls f with waiting set every
// 100 ms while Wait or FillWait waits longer than 15 ms. That is how Keep learns at once that it needs another lease. f may be called from several goroutines at the
// same time; it must return quickly and must not use the generator.
func OnRefusal(f func(err error, waiting bool)) Option {
	return Option{func(s *settings) error {
		if f == nil {
			return fmt.Errorf("%w: OnRefusal: f is nil: leave it out", ErrInvalidOption)
		}
		s.refused = f
		return nil
	}}
}

func invalidOption(option string, value any, want string) error {
	return fmt.Errorf("%w: %s: %v: want %s", ErrInvalidOption, option, value, want)
}
