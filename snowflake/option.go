package snowflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/lease"
)

// An Option changes how New and Keep make a generator. Of several that contradict each other the last one holds.
type Option struct{ set func(*settings) error }

// settings are what the options come to.
type settings struct {
	policy  policy
	pins    []pin
	now     func() time.Time // an injected clock, or nil
	refused func(error)      // told of each refusal, or nil
	leasing []lease.Option   // of the keeper
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

// Pin fixes the value of a static part, such as a datacenter's. The worker number fills the static parts that are not
// pinned.
func Pin(name string, value uint64) Option {
	return Option{func(s *settings) error { s.pins = append(s.pins, pin{name, value}); return nil }}
}

// WithClock makes the generator ask now for the time, on every call, instead of the system clock. It is meant for tests
// and simulations. Waiting takes real time all the same: by timers, which don't know of now. With Keep, the keeper asks
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

// OnRefusal has f called with the error whenever Generate or Fill can't make an ID, whenever Wait or FillWait gives up
// for another reason than the end of its context, and every 100 ms while they wait for what takes longer than 15 ms. So
// Keep learns, without delay, that another lease is needed. f is called in any goroutine, several at a time; it must
// return quickly and must not use the generator.
func OnRefusal(f func(err error)) Option {
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
