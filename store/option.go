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
	from          *Space // to be moved
	forMove       bool
	trustRecovery bool
	combining     bool
	through       func(Engine) Engine // or nil
	check         Keys
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

// ForSecret binds a new space to the secret with these keys; see [KeysOf]. Without it, the first secret that uses the space
// binds it, to its first key alone. Earlier spaces of the secret must have had each key that begins before the floor, or
// IDs can repeat. It is for Create, and for Open with [OrCreate].
//
// An engine has one space for each secret. If another space is bound to the secret already, that is ErrWrongSecret; only
// Create without ForNewSecret puts the new space in the place of one that is lost or damaged.
func ForSecret(keys Keys) Option {
	return Option{func(s *settings) error { s.check = keys; return nil }}
}

// OrCreate makes Open create the space if it does not exist. As it may have existed and been lost, the new space grants
// nothing that starts before its floor. It is for Open only.
func OrCreate() Option { return Option{func(s *settings) error { s.orCreate = true; return nil }} }

// MovedFrom makes Create move a space to another engine, with everything that it holds, instead of making an empty one. The
// old space is closed first: each call of it fails with ErrMoved from then on, so processes that use it can't renew their
// leases, which remain valid until they end. Nobody else gets their nodes until then, so there is no floor.
//
// If Create fails, call it again: until it succeeds, there is no usable space. The limits and the secret are those of the
// old space, which must be opened with [ForMove]. It is for Create only.
func MovedFrom(old *Space) Option {
	return Option{func(s *settings) error { s.from = old; return nil }}
}

// ForMove opens a space for [MovedFrom], also one that such a Create has closed before it failed. It is for Open only.
func ForMove() Option { return Option{func(s *settings) error { s.forMove = true; return nil }} }

// TrustRecovery says that the engine keeps everything that it acknowledged through each restart, failover and restore.
// A change of lineage then counts as no loss. All handles on a space should agree on it.
func TrustRecovery() Option {
	return Option{func(s *settings) error { s.trustRecovery = true; return nil }}
}

// Through makes the space use wrap(engine) instead of its engine, for instance to trace the calls.
func Through(wrap func(Engine) Engine) Option {
	return Option{func(s *settings) error {
		if wrap == nil {
			return fmt.Errorf("%w: Through: wrap is nil: leave it out", ErrInvalidOption)
		}
		s.through = wrap
		return nil
	}}
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
