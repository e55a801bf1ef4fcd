package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/store"
)

// gauges collects the state of a server's spaces at each scrape.
type gauges struct{ *Server }

// Describe describes no metrics in advance, since spaces come and go.
func (gauges) Describe(chan<- *prometheus.Desc) {}

func (g gauges) Collect(to chan<- prometheus.Metric) {
	setup := g.setup.Load()
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc("randflaked_audit_lines_lost_total", "Lines of the audit log that could not be written.", nil, nil),
		prometheus.CounterValue, float64(g.audit.Lost.Load()))
	show := func(m store.Metric, labels prometheus.Labels) {
		kind := prometheus.GaugeValue
		if m.Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.Name, m.Help, nil, labels), kind, m.Value)
	}
	sums := map[[3]string]store.Metric{} // by metric, space and counter: those that match a pattern have one series
	for name, v := range g.surveys(setup, setup.names()) {
		in := setup.spaces[name]
		labels := prometheus.Labels{"space": name}
		count := func(m store.Metric, counter string) {
			by, _ := config.ByName(setup.counters, counter)
			key := [3]string{m.Name, name, by.Name}
			m.Value += sums[key].Value
			sums[key] = m
		}
		gauge := func(name, help string, value float64) {
			show(store.Metric{Name: name, Help: help, Value: value}, labels)
		}
		_, notOpen := in.State()
		gauge("randflaked_space_open", "Whether the space's store is open, 1 or 0.", number(notOpen == nil))
		gauge("randflaked_space_ready", "Whether the space can serve, 1 or 0.", number(in.Ready() == nil))
		if own, ok := in.Own(); ok {
			for _, m := range own.Metrics() {
				show(m, labels)
			}
		}
		if state, err := in.State(); err == nil && state.Counters != nil {
			for _, status := range state.Counters.Statuses() {
				for _, m := range status.Metrics() {
					count(m, status.Info.Name)
				}
			}
		}
		if v == nil || v.Err != nil {
			continue
		}
		gauge("randflaked_nodes_leased", "Nodes that somebody has leased.", float64(v.Leased))
		gauge("randflaked_nodes_free", "Nodes that nobody has leased.", float64(v.Nodes-v.Leased))
		gauge("randflaked_lease_holders", "Leases that somebody holds.", float64(v.Holders))
		gauge("randflaked_space_losses", "How often the space's data was lost, or may have been, as its store remembers.", float64(v.Losses))
		for _, c := range v.Counters {
			count(store.Metric{Name: "randflaked_counter_numbers_left", Help: "Numbers that nobody has taken.", Value: float64(c.Left)}, c.Name)
			count(store.Metric{Name: "randflaked_counter_forgotten", Help: "Counters that have lost data, so that more numbers may have been taken.", Value: number(c.Forgotten)}, c.Name)
		}
	}
	for key, m := range sums {
		show(m, prometheus.Labels{"space": key[1], "counter": key[2]})
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// surveys surveys the spaces with these names, all at once. For a space that does not answer in time it returns the
// last survey, or none.
func (s *Server) surveys(setup *setup, names []string) map[string]*space.Survey {
	ctx, cancel := context.WithTimeout(context.Background(), s.glance)
	defer cancel()
	type one struct {
		name string
		*space.Survey
	}
	answers := make(chan one)
	for _, name := range names {
		go func() { answers <- one{name, setup.spaces[name].Survey(ctx)} }()
	}
	all := map[string]*space.Survey{}
	for range names {
		a := <-answers
		all[a.name] = a.Survey
	}
	return all
}

// names returns the names of the spaces, in the order of the configuration.
func (s *setup) names() (names []string) {
	for _, in := range s.config.Spaces {
		names = append(names, in.Name)
	}
	return names
}
