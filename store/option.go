package store

import (
	"fmt"
	"regexp"
	"time"
)

// An Option changes what Open or Create does.
type Option struct{ set func(*settings) error }

type settings struct {
	space         string
	limits        Limits
	limitsGiven   bool
	newSecret     bool
	orCreate      bool
	trustRecovery bool
	combining     bool
	check         CheckValue
	clock         func() time.Time // nil for the server's, or else the system's
}

// spaceName keeps the names of entries within what engines take.
var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,39}$`)

// WithSpace opens the space called name instead of "default". The spaces of one engine know nothing of each
// other: each has entries, limits and losses of its own. A name is made of up to 40 small letters,
// digits, "-", "_" and ".", and begins with a letter or digit.
func WithSpace(name string) Option {
	return Option{func(s *settings) error {
		if !spaceName.MatchString(name) {
			return fmt.Errorf("%w: space %q: want up to 40 of a-z, 0-9, -, _ and ., a letter or digit first", ErrInvalidOption, name)
		}
		s.space = name
		return nil
	}}
}

// WithLimits sets the limits of a new space, which it keeps for good; DefaultLimits without. It is for
// Create, and for Open with [OrCreate].
func WithLimits(limits Limits) Option {
	return Option{func(s *settings) error {
		s.limits, s.limitsGiven = limits, true
		return limits.Check()
	}}
}

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any other space,
// so that the new one may grant leases that start at once. A wrong word can repeat IDs. It is for
// Create alone.
func ForNewSecret() Option { return Option{func(s *settings) error { s.newSecret = true; return nil }} }

// ForSecret has a new space belong to the secret with this check value from the start; without, it belongs to
// the first that uses it. It is for Create, and for Open with [OrCreate].
func ForSecret(check CheckValue) Option {
	return Option{func(s *settings) error { s.check = check; return nil }}
}

// OrCreate makes Open create the space where there is none. It grants nothing that starts before its
// floor, for it may have been there and got lost. It is for Open alone.
func OrCreate() Option { return Option{func(s *settings) error { s.orCreate = true; return nil }} }

// TrustRecovery is the caller's word that the engine never comes back from a restart, a failover or a
// restore without something that it acknowledged: another lineage is then taken for the same. All handles
// on a space should agree on it.
func TrustRecovery() Option {
	return Option{func(s *settings) error { s.trustRecovery = true; return nil }}
}

// WithClock makes the store ask clock for the time instead of the server or the system, for tests and
// simulations. The clock must be safe for concurrent use.
func WithClock(clock func() time.Time) Option {
	return Option{func(s *settings) error {
		if clock == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the server's", ErrInvalidOption)
		}
		s.clock = clock
		return nil
	}}
}

func newSettings(options []Option) (settings, error) {
	s := settings{space: "default", limits: DefaultLimits()}
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}
