package snowflake

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// ErrInvalidOption says that an option can't be used, with this layout or at all; the error that
// wraps it says why.
var ErrInvalidOption = errors.New("snowflake: invalid option")

// An Option changes how New makes a generator. Of several that contradict each other the last one
// holds.
type Option func(*settings)

// settings are what the options come to.
type settings struct {
	policy  policy
	pins    []pin
	now     func() time.Time // an injected clock, or nil
	refused func(error)      // told of each refusal, or nil
	err     error            // what was wrong with an option, or nil
}

func newSettings(l *Layout, options []Option) (settings, error) {
	s := settings{policy: defaultPolicy, now: coarse.OfBubble()}
	for _, option := range options {
		option(&s)
	}
	if s.err == nil {
		s.err = s.policy.check(l)
	}
	return s, s.err
}

// Pin fixes the value of a static field, such as a datacenter's. The worker number fills the static
// fields that are not pinned.
func Pin(name string, value uint64) Option {
	return func(s *settings) { s.pins = append(s.pins, pin{name, value}) }
}

// WithClock makes the generator ask now for the time, on every call, instead of the system clock.
// It is meant for tests and simulations. Waiting takes real time all the same: by timers, which
// don't know of now.
func WithClock(now func() time.Time) Option {
	return func(s *settings) { s.now = now }
}

// OnRefusal has f called with the error whenever Generate or Fill can't make an ID, and whenever
// Wait goes on waiting where Generate would have refused, in the goroutine that asked for the ID.
// Whoever keeps the generator's lease alive learns that way, without delay, that another one is
// needed. It must return quickly and must not use the generator.
func OnRefusal(f func(err error)) Option {
	return func(s *settings) { s.refused = f }
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
