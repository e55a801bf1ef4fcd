package lease

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/metrics"
)

// A Monitor reports how a keeper fares, from before there is one: a process that never gets a lease shows itself by a lease
// that ends in 1970. The zero Monitor is ready for use, with WithMonitor, and is safe for concurrent use.
type Monitor struct {
	keeper atomic.Pointer[func() Status]
	ttl    atomic.Int64  // seconds
	failed atomic.Uint64 // calls of Keep
}

// WithMonitor makes m report how the keeper fares. If Keep fails, m counts that, and the next attempt can have m again. A
// Monitor reports one keeper at a time: the newest one.
func WithMonitor(m *Monitor) Option {
	return Option{func(s *settings) error {
		if s.monitor = m; m == nil {
			return fmt.Errorf("%w: monitor is nil: leave WithMonitor out", ErrInvalidRequest)
		}
		return nil
	}}
}

var _, _ metrics.Reporter = (*Monitor)(nil), (*Keeper[*randflake.Generator])(nil)

// Status returns the status of the keeper, or one without a lease if there is no keeper yet.
func (m *Monitor) Status() Status {
	s := Status{TTL: time.Duration(m.ttl.Load()) * time.Second}
	if status := m.keeper.Load(); status != nil {
		s = (*status)()
	}
	s.AcquisitionsFailed += m.failed.Load()
	return s
}

// Metrics implements [metrics.Reporter].
func (m *Monitor) Metrics() []metrics.Metric { return m.Status().Metrics() }

// Metrics implements [metrics.Reporter].
func (k *Keeper[G]) Metrics() []metrics.Metric { return k.Status().Metrics() }

// Metrics returns s as metrics: always the same ones in the same order, but only the counters once the keeper is closed.
func (s Status) Metrics() []metrics.Metric {
	counter := metrics.Counter
	all := []metrics.Metric{
		counter("randflake_lease_acquisitions_total", "Leases that this process has acquired.", s.Acquired),
		counter("randflake_lease_acquisition_failures_total", "Failed attempts to acquire a lease.", s.AcquisitionsFailed),
		counter("randflake_lease_renewals_total", "Renewals of leases.", s.Renewed),
		counter("randflake_lease_renewal_failures_total", "Failed attempts to renew a lease.", s.RenewalsFailed),
		counter("randflake_lease_losses_total", "Leases lost: another process released them, or was granted their nodes.", s.Lost),
		counter("randflake_lease_freezes_total", "Leases lost that could not be used to their end.", s.Frozen),
		counter("randflake_machine_copies_total", "Times that the machine turned out to be a copy of another one, so that its lease was left to the original.", s.Copies),
		counter("randflake_lease_replacements_total", "Times that the generator went on with another lease.", s.Replaced),
		counter("randflake_lease_releases_total", "Leases released.", s.Released),
		counter("randflake_lease_release_failures_total", "Failed attempts to release a lease.", s.ReleasesFailed),
		counter("randflake_ids_issued_total", "IDs made.", s.Issued),
		counter("randflake_ids_refused_total", "Calls that returned an error because there was no ID for them; not those that waited and were served, or were canceled.", s.Refusals),
		counter("randflake_ids_exhausted_total", "Calls that returned an error because the leased nodes had no ID left in that second: more nodes help.", s.Exhausted),
		counter("randflake_ids_waits_total", "Calls that had to wait for an ID, whether they got one or not.", s.Waits),
	}
	if s.Closed {
		return all
	}
	end, nodes, formatEnd := int64(0), 0, int64(randflake.MaxTimestamp+1)
	if s.Acquired > 0 {
		end, nodes, formatEnd = s.End.Unix(), s.Record.Nodes(), s.FormatEnd.Unix()
	}
	return append(all,
		metrics.Gauge("randflake_lease_end_timestamp_seconds", "Unix time at which the lease ends under which IDs are made, or 0 if the process never got a lease.", end),
		metrics.Gauge("randflake_lease_ttl_seconds", "Seconds for which leases are acquired and renewed; they are renewed each time that a third has passed.", s.TTL.Seconds()),
		metrics.Flag("randflake_lease_healthy", "1 if IDs can be made and more than a third of the lease's TTL is left, otherwise 0.", s.Healthy),
		metrics.Gauge("randflake_lease_nodes", "Nodes of the lease under which IDs are made; each makes 131,072 Randflake IDs a second.", nodes),
		metrics.Gauge("randflake_leases_held", "Leases that the process holds, 2 while one replaces the other.", s.Held),
		metrics.Flag("randflake_machine_copies_watched", "1 if the system tells at once when the machine was copied, by VMClock or VMGENID, otherwise 0.", s.Watched),
		metrics.Gauge("randflake_format_end_timestamp_seconds", "Unix time from which on the format or layout of the IDs can express no time, so that no more are made.", formatEnd),
	)
}
