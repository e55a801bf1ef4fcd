// Package prom passes metrics to Prometheus.
//
//	prometheus.MustRegister(prom.NewCollector(metrics.Build(""), monitor))
package prom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/randflake/randflake/lease/metrics"
)

type collector []metrics.Reporter

// NewCollector returns a collector that asks the reporters anew for each scrape. Two reporters of
// one kind need different labels: see [metrics.With]. As reporters may report more later, the
// collector is unchecked, so it can't be unregistered.
func NewCollector(reporters ...metrics.Reporter) prometheus.Collector { return collector(reporters) }

// Describe implements [prometheus.Collector].
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	all := make([][]metrics.Metric, len(c))
	var asked sync.WaitGroup
	for i, r := range c { // at once: each may wait for its store, and a scrape waits for ten seconds in all
		asked.Go(func() { all[i] = r.Metrics() })
	}
	asked.Wait()
	for _, reported := range all {
		for _, m := range reported {
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.Name, m.Help, nil, m.Labels), kind, m.Value)
		}
	}
}
