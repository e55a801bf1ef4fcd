package filestore

import (
	"errors"
	"time"

	"github.com/randflake/randflake/lease"
)

// An Option changes what Open or Create does.
type Option func(*options) error

type options struct {
	rules     *lease.Rules
	clock     func() time.Time
	newSecret bool
}

// WithRules sets the limits of a new store, which it keeps for good; lease.DefaultRules without.
// It is for Create alone.
func WithRules(rules lease.Rules) Option {
	return func(o *options) error {
		o.rules = &rules
		return rules.Check()
	}
}

// WithClock makes the store ask clock for the time instead of time.Now, for tests. The clock must
// be safe for concurrent use.
func WithClock(clock func() time.Time) Option {
	return func(o *options) error {
		if clock == nil {
			return errors.New("filestore: nil clock")
		}
		o.clock = clock
		return nil
	}
}

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any
// other store, so that the new store may grant leases that start at once. A wrong word can
// repeat IDs. It is for Create alone.
func ForNewSecret() Option {
	return func(o *options) error {
		o.newSecret = true
		return nil
	}
}

func gather(opts []Option) (options, error) {
	o := options{clock: time.Now}
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("filestore: nil option")
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}
