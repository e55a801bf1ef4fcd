package server

import (
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease/metrics"
)

// gauges returns the state of the spaces, as this process knows it: a scrape reads nothing from a store.
func (s *Server) gauges() []metrics.Metric {
	setup := s.setup.Load()
	all := []metrics.Metric{metrics.Counter("randflaked_audit_lines_lost_total", "Lines of the audit log that could not be written.", s.audit.lost.Load())}
	for _, name := range setup.names() {
		in := setup.spaces[name]
		of := []metrics.Metric{metrics.Flag("randflaked_space_ready", "1 if the space can serve, otherwise 0.", in.Ready() == nil)}
		if state, err := in.State(); err == nil {
			if state.Own != nil {
				of = append(of, state.Own.Metrics()...)
			}
			if state.Counters != nil {
				for counter, handles := range state.Counters.Statuses() {
					of = append(of, counterMetrics(counter, handles)...)
				}
			}
		}
		all = append(all, metrics.With(map[string]string{"space": name}, metrics.Func(func() []metrics.Metric { return of })).Metrics()...)
	}
	return all
}

// counterMetrics returns the metrics of handles that are one counter, or one pattern, of the configuration.
func counterMetrics(name string, handles []counter.Status) []metrics.Metric {
	var sum counter.Status
	for _, h := range handles {
		sum.Taken, sum.Issued, sum.Held = sum.Taken+h.Taken, sum.Issued+h.Issued, sum.Held+h.Held
		if h.Err != nil {
			sum.Err = h.Err
		}
	}
	return sum.Metrics(name)
}

// names returns the names of the spaces, in the order of the configuration.
func (s *setup) names() (names []string) {
	for _, in := range s.config.Spaces {
		names = append(names, in.Name)
	}
	return names
}
