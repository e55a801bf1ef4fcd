package snowflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/lease"
)

// An Option changes how New and Keep make a generator. If options contradict each other, the last
// one applies, but New and Keep refuse two Pins of one part.
type Option struct{ set func(*settings) error }

// settings are the combined effect of the options.
type settings struct {
	policy  policy
	pins    []pin
	clock   coarse.Source  // of milliseconds
	leasing []lease.Option // of the keeper
}

func newSettings(l *Layout, options []Option) (s settings, err error) {
	if err := l.check(); err != nil {
		return s, err
	}
	s.clock = coarse.SourceOf(&coarse.Milliseconds)
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", errInvalidOption, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	return s, s.policy.check(l)
}

// Pin fixes the value of a static part, such as the datacenter. The worker number fills the static
// parts that are not pinned.
func Pin(name string, value uint64) Option {
	return Option{func(s *settings) error {
		s.pins = append(s.pins, pin{name, value})
		return nil
	}}
}

// WithClock makes the generator call now for the time, on every call, instead of reading the system
// clock. It is meant for tests and simulations. Waiting still takes real time, because timers don't
// use now. With Keep, the keeper uses the same clock.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", errInvalidOption)
		}
		s.clock.Injected = now
		return nil
	}}
}

func invalidOption(option string, value any, want string) error {
	return fmt.Errorf("%w: %s: %v: want %s", errInvalidOption, option, value, want)
}
