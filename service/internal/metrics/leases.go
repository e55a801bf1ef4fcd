package metrics

import (
	"errors"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// refusals are the errors by which a store says no. After any other the outcome is unknown.
var refusals = []error{lease.ErrNoRange, lease.ErrInvalidRequest, store.ErrWrongSecret, store.ErrClock, randflake.ErrEndOfLife}

// Lease counts what a call about a lease of a space came to: an outcome, or an error.
func (m *Metrics) Lease(space, outcome string, err error) {
	switch {
	case errors.Is(err, lease.ErrLost):
		outcome = "lost"
	case slices.ContainsFunc(refusals, func(no error) bool { return errors.Is(err, no) }):
		outcome = "refused"
	case err != nil:
		outcome = "failed"
	}
	m.leases.WithLabelValues(space, outcome).Inc()
}

// Renewal counts how long the store took to renew a lease.
func (m *Metrics) Renewal(space string, took time.Duration) {
	m.renewals.WithLabelValues(space).Observe(took.Seconds())
}
