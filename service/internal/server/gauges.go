package server

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// gauges returns the state of the spaces.
func (s *Server) gauges() []metrics.Metric {
	setup := s.setup.Load()
	all := []metrics.Metric{metrics.Counter("randflaked_audit_lines_lost_total", "Lines of the audit log that could not be written.", s.audit.Lost.Load())}
	for _, in := range s.surveys(setup, setup.names()) {
		of := metrics.Func(func() []metrics.Metric { return gaugesOf(setup, in) })
		all = append(all, metrics.With(map[string]string{"space": in.Name}, of).Metrics()...)
	}
	return all
}

// gaugesOf returns the state of a space.
func gaugesOf(setup *setup, in surveyed) []metrics.Metric {
	state, notOpen := in.State()
	all := []metrics.Metric{metrics.Flag("randflaked_space_open", "1 if the space's store is open, otherwise 0.", notOpen == nil),
		metrics.Flag("randflaked_space_ready", "1 if the space can serve, otherwise 0.", in.Ready() == nil)}
	if notOpen == nil && state.Own != nil {
		all = append(all, state.Own().Metrics()...)
	}
	v := in.Survey
	if v == nil {
		v = &space.Survey{Usage: lease.Usage{Err: space.ErrNotOpen}}
	}
	if notOpen == nil && state.Store == nil {
		return all
	}
	all = append(all, v.Usage.Metrics()...)
	used := map[string]counter.Status{}
	if notOpen == nil {
		used = state.Counters.Statuses()
	}
	for _, info := range v.Counters {
		status := used[info.Name]
		status.Info = info
		used[info.Name] = status
	}
	sums := map[[2]string]metrics.Metric{} // by metric and counter: those that match a pattern have one series
	for name, status := range used {
		by, _ := config.ByName(setup.counters, name)
		status.Info.Name = by.Name
		for _, m := range status.Metrics() {
			key := [2]string{m.Name, by.Name}
			if other, ok := sums[key]; ok && m.Name == "randflake_counter_left_ratio" {
				m.Value = min(m.Value, other.Value)
			} else {
				m.Value += other.Value
			}
			sums[key] = m
		}
	}
	return slices.AppendSeq(all, maps.Values(sums))
}

type surveyed struct {
	*space.Space
	Survey *space.Survey // nil until the store has answered
}

// surveys surveys the spaces with these names, all at once. For a space that does not answer in time it returns the
// last survey.
func (s *Server) surveys(setup *setup, names []string) []surveyed {
	ctx, cancel := context.WithTimeout(context.Background(), s.glance)
	defer cancel()
	all := make([]surveyed, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		in := setup.spaces[name]
		wg.Go(func() { all[i] = surveyed{in, in.Survey(ctx, s.fresh)} })
	}
	wg.Wait()
	return all
}

// names returns the names of the spaces, in the order of the configuration.
func (s *setup) names() (names []string) {
	for _, in := range s.config.Spaces {
		names = append(names, in.Name)
	}
	return names
}
