package etcdstore

import (
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// An Option changes what Open, Create or New does.
type Option = setup.Option

// WithRules sets the limits of a new store, which it keeps for good; lease.DefaultRules without.
// It is for Create, or for Open and New together with OrCreate.
func WithRules(rules lease.Rules) Option { return setup.WithRules(rules) }

// WithClock makes the handle ask clock for the time instead of time.Now, for tests. The clock must
// be safe for concurrent use.
func WithClock(clock func() time.Time) Option { return setup.WithClock(clock) }

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any other
// store, so that the new store may grant leases that start at once. A wrong word can repeat IDs.
// It is for Create alone.
func ForNewSecret() Option { return setup.ForNewSecret() }

// OrCreate makes Open and New create a store where there is none, one that grants nothing before
// [lease.Rules.NotBefore].
func OrCreate() Option { return setup.OrCreate() }
