package lease

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// A Reporter says how a lease fares, at any time and from any goroutine, for monitoring systems. A [Keeper] is one.
type Reporter interface {
	Status() Status
}

var _ Reporter = (*Keeper[*randflake.Generator])(nil)

// Metrics returns the numbers of s, always the same ones in the same order, whatever s holds.
func (s Status) Metrics() []store.Metric {
	gauge := func(name, help string, value float64) store.Metric {
		return store.Metric{Name: name, Help: help, Value: value}
	}
	counter := func(name, help string, value uint64) store.Metric {
		return store.Metric{Name: name, Help: help, Counter: true, Value: float64(value)}
	}
	healthy := 0.0
	if s.Healthy {
		healthy = 1
	}
	return []store.Metric{
		gauge("randflake_lease_healthy", "Whether IDs are made under a lease with more than a third of its time left, 1 or 0.", healthy),
		gauge("randflake_lease_seconds_left", "How long the lease lasts, negative after its end.", s.Left.Seconds()),
		gauge("randflake_leases_held", "How many leases are held, 2 while one replaces the other.", float64(s.Held)),
		counter("randflake_lease_acquisitions_total", "Leases acquired.", s.Acquired),
		counter("randflake_lease_acquisition_failures_total", "Failed attempts to acquire a lease.", s.AcquisitionsFailed),
		counter("randflake_lease_renewals_total", "Renewals.", s.Renewed),
		counter("randflake_lease_renewal_failures_total", "Failed renewals.", s.RenewalsFailed),
		counter("randflake_lease_losses_total", "Leases that the store gave up or gave to somebody else.", s.Lost),
		counter("randflake_lease_freezes_total", "Lost leases that could not be used to their end.", s.Frozen),
		counter("randflake_lease_replacements_total", "Times that IDs went on under another lease.", s.Replaced),
		counter("randflake_lease_releases_total", "Leases given back.", s.Released),
		counter("randflake_lease_release_failures_total", "Failed attempts to give a lease back.", s.ReleasesFailed),
		counter("randflake_ids_issued_total", "IDs made.", s.Issued),
		counter("randflake_ids_refused_total", "Times that there was no ID to give, to callers who wait too.", s.Refusals),
		counter("randflake_ids_exhausted_total", "Times that there was no ID to give for want of nodes.", s.Exhausted),
	}
}
