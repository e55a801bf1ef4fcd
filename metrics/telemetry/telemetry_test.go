package telemetry_test

import (
	"log/slog"
	"maps"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/metrics/telemetry"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// What a keeper and a store report arrives with kinds and labels, and each call of the store's engine is a span.
func TestTelemetry(t *testing.T) {
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	space, err := store.Create(t.Context(), leasetest.NewMemory().Connect(), store.ForNewSecret(),
		telemetry.Spans(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
	if err != nil {
		t.Fatal(err)
	}
	monitor := new(lease.Monitor)
	registration, err := telemetry.Observe(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		metrics.With(map[string]string{"ids": "orders"}, monitor), lease.UsageReporter(space, 0))
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := lease.Keep(t.Context(), lease.On(space), randflake.NewSecret(), lease.WithMonitor(monitor), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	keeper.Generator().Fill(make([]randflake.ID, 1000))

	seen := func() map[string]float64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				var points []metricdata.DataPoint[float64]
				kind := " gauge"
				switch data := m.Data.(type) {
				case metricdata.Sum[float64]:
					points, kind = data.DataPoints, " counter"
				case metricdata.Gauge[float64]:
					points = data.DataPoints
				}
				for _, p := range points {
					label, _ := p.Attributes.Value("ids")
					state, _ := p.Attributes.Value("state")
					values[m.Name+kind+label.AsString()+state.AsString()] = p.Value
				}
			}
		}
		return values
	}
	for name, want := range map[string]float64{"randflake_ids_issued_total counterorders": 1000, "randflake_lease_healthy gaugeorders": 1, "randflake_store_nodes gaugepoisoned": 0} {
		if got, ok := seen()[name]; !ok || got != want {
			t.Errorf("%s is %v, %v, want %v, in %q", name, got, ok, want, slices.Sorted(maps.Keys(seen())))
		}
	}
	if registration.Unregister(); len(seen()) > 0 {
		t.Error("metrics after Unregister")
	}

	names := map[string]int{}
	for _, s := range spans.Ended() {
		names[s.Name()]++
		if s.Status().Code == codes.Error {
			t.Errorf("span %s: %v", s.Name(), s.Status())
		}
	}
	if names["randflake.store.read"] == 0 || names["randflake.store.swap"] == 0 {
		t.Errorf("spans %v", names)
	}
}
