// Package prom passes metrics to Prometheus.
//
//	prometheus.MustRegister(prom.NewCollector(metrics.Build(""), monitor))
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/randflake/randflake/metrics"
)

type collector []metrics.Reporter

// NewCollector returns a collector that asks the reporters anew for each scrape. Two reporters of one kind need different
// labels: see [metrics.With]. As reporters may report more later, the collector is unchecked, so it can't be unregistered.
func NewCollector(reporters ...metrics.Reporter) prometheus.Collector { return collector(reporters) }

// Describe implements [prometheus.Collector].
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, r := range c {
		for _, m := range r.Metrics() {
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.Name, m.Help, nil, m.Labels), kind, m.Value)
		}
	}
}
