package snowflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// An Option changes how New makes a generator. Of several that contradict each other the last one holds.
type Option func(*settings)

// settings are what the options come to.
type settings struct {
	policy  policy
	pins    []pin
	now     func() time.Time // an injected clock, or nil
	refused func(error)      // told of each refusal, or nil
	err     error            // what was wrong with an option, or nil
}

func newSettings(l *Layout, options []Option) (s settings, err error) {
	if err := l.check(); err != nil {
		return s, err
	}
	s.now = coarse.OfBubble()
	for _, option := range options {
		if option == nil {
			return s, errNilOption
		}
		option(&s)
	}
	if s.err == nil {
		s.err = s.policy.check(l)
	}
	return s, s.err
}

// Pin fixes the value of a static part, such as a datacenter's. The worker number fills the static parts that are not
// pinned.
func Pin(name string, value uint64) Option {
	return func(s *settings) { s.pins = append(s.pins, pin{name, value}) }
}

// WithClock makes the generator ask now for the time, on every call, instead of the system clock. It is meant for tests
// and simulations. Waiting takes real time all the same: by timers, which don't know of now.
func WithClock(now func() time.Time) Option {
	return func(s *settings) {
		s.require(now != nil, "WithClock", "nil", "a function")
		s.now = now
	}
}

// OnRefusal has f called with the error whenever Generate or Fill can't make an ID, whenever Wait or FillWait gives up
// for another reason than the end of its context, and every 100 ms while they wait for what takes longer than 15 ms. So
// Keep learns, without delay, that another lease is needed. f is called in any goroutine, several at a time; it must
// return quickly and must not use the generator.
func OnRefusal(f func(err error)) Option {
	return func(s *settings) {
		s.require(f != nil, "OnRefusal", "nil", "a function")
		s.refused = f
	}
}

// require notes what is wrong with an option's argument unless ok.
func (s *settings) require(ok bool, option string, value any, expected string) {
	if !ok && s.err == nil {
		s.err = invalidOption(option, value, expected)
	}
}

func invalidOption(option string, value any, expected string) error {
	return fmt.Errorf("%w: %s: %v: expected %s", ErrInvalidOption, option, value, expected)
}

var errNilOption = fmt.Errorf("%w: it is nil: expected what a function of this package returns", ErrInvalidOption)
