package server

import (
	"net/http"
	"runtime/debug"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/randflake/randflake/lease/metrics"
	"github.com/randflake/randflake/lease/metrics/prom"
	"github.com/randflake/randflake/service/internal/space"
)

// measures are what a service counts. Labels are names of procedures and of the configuration, and codes: no caller
// can make up a new series, and no label says who calls. They are safe for concurrent use.
type measures struct {
	registry    *prometheus.Registry
	calls       *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	connections prometheus.Gauge
}

// buckets are the upper ends, in seconds, of the ranges in which times are counted: from what a
// mint takes to callTimeout.
var buckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// newMeasures returns measures that are all zero. Each scrape also shows what more returns.
func newMeasures(more metrics.Func) *measures {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		prom.NewCollector(metrics.Build(Version()), more),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	with := promauto.With(registry)
	return &measures{
		registry: registry,
		calls: with.NewCounterVec(prometheus.CounterOpts{
			Name: "randflaked_calls_total",
			Help: "Calls by procedure, space and code; those of no space that is served have none.",
		}, []string{"procedure", "space", "code"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "randflaked_call_duration_seconds",
			Help:    "How long calls took.",
			Buckets: buckets,
		}, []string{"procedure", "space"}),
		connections: with.NewGauge(prometheus.GaugeOpts{
			Name: "randflaked_connections",
			Help: "Connections that are open, idle ones among them.",
		}),
	}
}

// version is set by the linker where the go command does not know the version, as in an image.
var version string

// Version returns the version of this program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}

const maxScrapes = 4 // at a time

// scrapes answers Prometheus. TimeoutHandler sends only answers that are complete, so a client that
// does not read its answer keeps none of the maxScrapes places.
func (m *measures) scrapes() http.Handler {
	atOnce := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes,
		ErrorHandling:       promhttp.ContinueOnError,
	})
	return http.TimeoutHandler(atOnce, callTimeout, "")
}

// Connected sets how many connections are open.
func (m *measures) Connected(n int) { m.connections.Set(float64(n)) }

// count counts a call. space is "" if the call names no space of the service.
func (m *measures) count(procedure, space string, took time.Duration, err error) {
	code := "ok"
	if err != nil {
		code = connect.CodeOf(err).String()
	}
	m.calls.WithLabelValues(procedure, space, code).Inc()
	m.seconds.WithLabelValues(procedure, space).Observe(took.Seconds())
}

// gauges returns the state of the spaces, as this process knows it: a scrape reads nothing from a store.
func (s *Server) gauges() []metrics.Metric {
	all := []metrics.Metric{metrics.Counter("randflaked_audit_lines_lost_total",
		"Lines of the audit log that could not be written.", s.audit.lost.Load())}
	setup := s.setup.Load()
	for name, sp := range setup.spaces {
		of := metrics.Func(func() []metrics.Metric { return gaugesOf(sp, setup.counters[name]) })
		all = append(all, metrics.With(map[string]string{"space": name}, of).Metrics()...)
	}
	return all
}

func gaugesOf(sp *space.Space, counters *space.Counters) []metrics.Metric {
	all := []metrics.Metric{metrics.Flag("randflaked_space_ready",
		"1 if the space can serve, otherwise 0.", sp.Ready() == nil)}
	state, err := sp.State()
	if err != nil {
		return all
	}
	switch {
	case state.Own != nil: // a keeper has the metrics of its store, too
		all = append(all, state.Own.Metrics()...)
	case state.Leases != nil:
		all = append(all, state.Leases.Metrics()...)
	}
	for counter, status := range counters.Statuses() {
		all = append(all, status.Metrics(counter)...)
	}
	return all
}
