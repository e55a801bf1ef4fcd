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

// WithSpace opens the space with this name instead of "default". The spaces of an engine are independent: each has its
// own entries, limits and losses. A name has up to 40 lower-case letters, digits, "-", "_" and ".", and begins with a
// letter or digit.
func WithSpace(name string) Option {
	return Option{func(s *settings) error {
		if !spaceName.MatchString(name) {
			return fmt.Errorf("%w: space %q: want up to 40 of a-z, 0-9, -, _ and ., a letter or digit first", ErrInvalidOption, name)
		}
		s.space = name
		return nil
	}}
}

// WithLimits sets the limits of a new space, which never change. The default is DefaultLimits. It is for Create, and for
// Open with [OrCreate].
func WithLimits(limits Limits) Option {
	return Option{func(s *settings) error {
		s.limits, s.limitsGiven = limits, true
		return limits.Check()
	}}
}

// ForNewSecret says that the secret has never made an ID under a lease of another space, so leases of the new space may
// start at once. If that is not true, IDs can repeat. It is for Create only.
func ForNewSecret() Option { return Option{func(s *settings) error { s.newSecret = true; return nil }} }

// ForSecret binds a new space to the secret with this check value. Without it, the first secret that uses the space
// binds it. It is for Create, and for Open with [OrCreate].
//
// An engine has one space for each secret. If another space is bound to the secret already, that is ErrWrongSecret; only
// Create without ForNewSecret puts the new space in the place of one that is lost or damaged.
func ForSecret(check CheckValue) Option {
	return Option{func(s *settings) error { s.check = check; return nil }}
}

// OrCreate makes Open create the space if it does not exist. As it may have existed and been lost, the new space grants
// nothing that starts before its floor. It is for Open only.
func OrCreate() Option { return Option{func(s *settings) error { s.orCreate = true; return nil }} }

// TrustRecovery says that the engine keeps everything that it acknowledged through each restart, failover and restore.
// A change of lineage then counts as no loss. All handles on a space should agree on it.
func TrustRecovery() Option {
	return Option{func(s *settings) error { s.trustRecovery = true; return nil }}
}

// WithClock takes the time from clock instead of the server or the system, for tests and simulations. The clock must be
// safe for concurrent use.
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
