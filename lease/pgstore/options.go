package pgstore

import (
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// An Option changes what Open, New or Create does.
type Option = setup.Option

// WithRules sets the limits of a new store, which it keeps for good; lease.DefaultRules without.
func WithRules(rules lease.Rules) Option { return setup.WithRules(rules) }

// WithClock makes the store ask clock for the time instead of the server, for tests. The clock must
// be safe for concurrent use.
func WithClock(clock func() time.Time) Option { return setup.WithClock(clock) }

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any
// other store, so that the new store may grant leases that start at once. A wrong word can
// repeat IDs. It is for Create alone.
func ForNewSecret() Option { return setup.ForNewSecret() }

// OrCreate makes Open and New create a store where there is none. It grants nothing before
// [lease.Rules.NotBefore], for there may have been one that was lost. Many processes may do so at once.
func OrCreate() Option { return setup.OrCreate() }
