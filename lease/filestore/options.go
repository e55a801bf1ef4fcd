package filestore

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// An Option changes what Open or Create does.
type Option = setup.Option

// WithRules sets the limits of a new store, which it keeps for good; lease.DefaultRules without.
// It is for Create alone.
func WithRules(rules lease.Rules) Option { return setup.WithRules(rules) }

// WithClock makes the store ask clock for the time instead of time.Now, for tests. The clock must
// be safe for concurrent use.
func WithClock(clock func() time.Time) Option { return setup.WithClock(clock) }

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any
// other store, so that the new store may grant leases that start at once. A wrong word can
// repeat IDs. It is for Create alone.
func ForNewSecret() Option { return setup.ForNewSecret() }

// settle completes what setup gathered.
func settle(o setup.Options, err error) (setup.Options, error) {
	if err == nil && o.OrCreate {
		err = errors.New("OrCreate: a directory that is empty may be one that is not mounted: use Create")
	}
	if err != nil {
		return o, fmt.Errorf("filestore: %w", err)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o, nil
}
