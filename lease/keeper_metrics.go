package lease

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// A Reporter returns a Status, at any time and in any goroutine, for monitoring systems. A [Keeper] is a Reporter.
type Reporter interface {
	Status() Status
}

var _ Reporter = (*Keeper[*randflake.Generator])(nil)

// Metrics returns s as metrics, always the same ones in the same order.
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
		gauge("randflake_lease_healthy", "1 if the lease is in force with more than a third of its TTL left, otherwise 0.", healthy),
		gauge("randflake_lease_seconds_left", "Seconds until the lease ends, negative after its end.", s.Left.Seconds()),
		gauge("randflake_leases_held", "Leases held, 2 while one replaces the other.", float64(s.Held)),
		counter("randflake_lease_acquisitions_total", "Leases acquired.", s.Acquired),
		counter("randflake_lease_acquisition_failures_total", "Failed attempts to acquire a lease.", s.AcquisitionsFailed),
		counter("randflake_lease_renewals_total", "Renewals.", s.Renewed),
		counter("randflake_lease_renewal_failures_total", "Failed renewals.", s.RenewalsFailed),
		counter("randflake_lease_losses_total", "Leases lost: released by another process, or granted to one.", s.Lost),
		counter("randflake_lease_freezes_total", "Lost leases that could not be used to their end.", s.Frozen),
		counter("randflake_lease_replacements_total", "Switches of the generator to another lease.", s.Replaced),
		counter("randflake_lease_releases_total", "Leases released.", s.Released),
		counter("randflake_lease_release_failures_total", "Failed attempts to release a lease.", s.ReleasesFailed),
		counter("randflake_ids_issued_total", "IDs made.", s.Issued),
		counter("randflake_ids_refused_total", "Requests for an ID that were refused, including attempts of waiting callers.", s.Refusals),
		counter("randflake_ids_exhausted_total", "Refused requests for an ID because the leased nodes had none left in that second.", s.Exhausted),
	}
}
