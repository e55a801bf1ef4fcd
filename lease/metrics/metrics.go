// Package metrics is how generators, leases, stores and counters say how they fare, for any
// monitoring system. Module metrics/prom passes its metrics to Prometheus, and metrics/telemetry to
// OpenTelemetry. For another system it takes a loop. docs/operations.md lists the metrics.
package metrics

import (
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
)

// A Metric is one number.
type Metric struct {
	// Name is in the style of Prometheus: randflake_ and what it is, with the unit, and _total for
	// a counter. docs/versions.md says when one may go.
	Name string

	Help    string            // a sentence that can be understood alone
	Counter bool              // whether it counts from the beginning and only goes up; otherwise it is a gauge
	Labels  map[string]string // read-only, may be nil
	Value   float64
}

// Gauge returns a gauge.
func Gauge[N int | int64 | uint64 | float64](name, help string, value N) Metric {
	return Metric{Name: name, Help: help, Value: float64(value)}
}

// Flag returns a gauge that is 1 if is is true, and otherwise 0.
func Flag(name, help string, is bool) Metric {
	if is {
		return Gauge(name, help, 1)
	}
	return Gauge(name, help, 0)
}

// Counter returns a counter.
func Counter(name, help string, value uint64) Metric {
	return Metric{Name: name, Help: help, Counter: true, Value: float64(value)}
}

// A Reporter returns how things stand at present. It is safe for concurrent use.
type Reporter interface {
	Metrics() []Metric
}

// A Func is a function as a Reporter.
type Func func() []Metric

// Metrics calls f.
func (f Func) Metrics() []Metric { return f() }

// With returns a Reporter of what r reports, with more labels. They tell several of a kind in one
// process apart.
func With(labels map[string]string, r Reporter) Reporter {
	return Func(func() []Metric {
		all := slices.Clone(r.Metrics()) // which may return the same slice to others
		for i := range all {
			both := make(map[string]string)
			maps.Copy(both, labels)
			maps.Copy(both, all[i].Labels)
			all[i].Labels = both
		}
		return all
	})
}

// Build returns a Reporter of the program's version: the given one, or if that is "" the version of
// this module.
func Build(version string) Reporter {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/randflake/randflake" {
				version = m.Version
			}
		}
	}
	m := Gauge("randflake_build_info",
		"Always 1; the labels are the version of randflake, or of the service randflaked, and of Go.", 1)
	m.Labels = map[string]string{"version": version, "goversion": runtime.Version()}
	return Func(func() []Metric { return []Metric{m} })
}
