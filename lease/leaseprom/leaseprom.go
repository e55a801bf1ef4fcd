// Package leaseprom shows Prometheus how the keeping of leases fares.
//
//	prometheus.MustRegister(leaseprom.NewCollector(keeper, nil))
//
// The metrics and their names are those of [lease.Status.Metrics].
package leaseprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/randflake/randflake/lease"
)

// A collector reads the status of a keeper anew for each scrape.
type collector struct {
	keeper lease.Reporter
	descs  []*prometheus.Desc // of the metrics of a Status, in their order
}

// NewCollector returns a collector of the metrics of keeper, which is a [lease.Keeper] or passes on
// what one reports. It is to be registered once. Each metric carries labels, which may be nil; they
// tell the keepers of one process apart, so no two of them may have the same.
//
// A keeper that was closed is still shown, as it was at the end, until its collector is unregistered.
func NewCollector(keeper lease.Reporter, labels prometheus.Labels) prometheus.Collector {
	c := &collector{keeper: keeper}
	for _, m := range (lease.Status{}).Metrics() {
		c.descs = append(c.descs, prometheus.NewDesc(m.Name, m.Help, nil, labels))
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for i, m := range c.keeper.Status().Metrics() {
		kind := prometheus.GaugeValue
		if m.Counter {
			kind = prometheus.CounterValue
		}
		metrics <- prometheus.MustNewConstMetric(c.descs[i], kind, m.Value)
	}
}
