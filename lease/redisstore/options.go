package redisstore

import (
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// An Option changes what Open, Create, New or CreateOn does.
type Option = setup.Option

// WithRules sets the limits of a new store, which it keeps for good; lease.DefaultRules without. It is
// for Create, and for Open with [OrCreate].
func WithRules(rules lease.Rules) Option { return setup.WithRules(rules) }

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any other
// store, so that the new store may grant leases that start at once. A wrong word can repeat IDs. It is
// for Create alone.
func ForNewSecret() Option { return setup.ForNewSecret() }

// OrCreate makes Open create a store where there is none. It grants nothing that starts before
// [lease.Rules.NotBefore], for it may have been there and got lost. It is for Open alone.
func OrCreate() Option { return setup.OrCreate() }

// WithClock makes the store ask clock for the time instead of Redis, for tests. The clock must be safe
// for concurrent use.
func WithClock(clock func() time.Time) Option { return setup.WithClock(clock) }
