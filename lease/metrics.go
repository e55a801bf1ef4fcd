package lease

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/metrics"
)

var _ metrics.Reporter = (*Keeper[*randflake.Generator])(nil)

// Metrics implements [metrics.Reporter]: always the same ones in the same order. Those of the space
// are among them, unless it is one of a service.
func (k *Keeper[G]) Metrics() []metrics.Metric {
	s := k.Status()
	window := k.loop.limits.Window
	nodes := int(s.Lease.LastNode-s.Lease.FirstNode) + 1
	all := []metrics.Metric{
		metrics.Counter("randflake_leases_taken_total",
			"Leases that this process has taken.", s.Taken),
		metrics.Counter("randflake_lease_failures_total",
			"Takes that did not bring a lease of each window that they asked for.", s.Failures),
		metrics.Counter("randflake_machine_copies_total",
			"Times that the machine was found to be a copy of another one, and left its leases to that.", s.Copies),
		metrics.Counter("randflake_ids_made_total",
			"IDs made. Each processor adds up to 4,096 late, and most of its last ones under a lease never.", s.Made),
		metrics.Counter("randflake_id_refusals_total",
			"Calls that returned an error because there was no ID for them, except those that were canceled.", s.Refusals),
		metrics.Counter("randflake_id_exhaustions_total",
			"Calls that returned an error because the nodes had no ID left in that second: lease more.", s.Exhaustions),
		metrics.Counter("randflake_id_waits_total",
			"Calls that had to wait for an ID, whether they got one or not.", s.Waits),
		metrics.Gauge("randflake_lease_end_timestamp_seconds",
			"Unix time until which this process has leases without a gap.", s.End.Unix()),
		metrics.Gauge("randflake_lease_window_seconds",
			"Seconds of a window, for which leases are taken.", window.Seconds()),
		metrics.Gauge("randflake_lease_nodes",
			"Nodes of the lease under which IDs are made; each makes 131,072 Randflake IDs a second.", nodes),
		metrics.Flag("randflake_lease_healthy",
			"1 if IDs can be made, and leases are taken ahead or left for longer than a window, otherwise 0.", s.Healthy),
		metrics.Flag("randflake_machine_copies_detectable",
			"1 if the system tells at once when the machine was copied, by VMClock or VMGENID, otherwise 0.", s.DetectsCopies),
	}
	if space, ok := k.loop.source.(metrics.Reporter); ok {
		all = append(all, space.Metrics()...)
	}
	return all
}

var _ metrics.Reporter = (*Space)(nil)

// Metrics implements [metrics.Reporter]. It never asks the store: a handle learns of a loss of data
// when it takes leases or numbers.
func (s *Space) Metrics() []metrics.Metric {
	return []metrics.Metric{
		metrics.Gauge("randflake_space_floors_set",
			"How often the floor was set, for a loss of data, a change of trust, a move or IDs in use, as far as this process has seen.",
			s.knownMeta().FloorsSet),
		metrics.Gauge("randflake_space_first_node", "The first node that the space has.", int(s.Limits().FirstNode)),
		metrics.Gauge("randflake_space_last_node", "The last node that the space has.", int(s.Limits().LastNode())),
	}
}
