package server

import "github.com/randflake/randflake/lease/metrics"

// gauges returns the state of the spaces, as this process knows it: a scrape reads nothing from a store.
func (s *Server) gauges() []metrics.Metric {
	setup := s.setup.Load()
	all := []metrics.Metric{metrics.Counter("randflaked_audit_lines_lost_total", "Lines of the audit log that could not be written.", s.audit.lost.Load())}
	for name, in := range setup.spaces {
		of := []metrics.Metric{metrics.Flag("randflaked_space_ready", "1 if the space can serve, otherwise 0.", in.Ready() == nil)}
		if state, err := in.State(); err == nil {
			if state.Own != nil {
				of = append(of, state.Own.Metrics()...)
			}
			if state.Counters != nil {
				for counter, status := range state.Counters.Statuses() {
					of = append(of, status.Metrics(counter)...)
				}
			}
		}
		all = append(all, metrics.With(map[string]string{"space": name}, metrics.Func(func() []metrics.Metric { return of })).Metrics()...)
	}
	return all
}
