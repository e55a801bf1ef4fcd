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
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
	"github.com/randflake/randflake/lease/metrics/telemetry"
)

// What a keeper reports arrives with kinds and labels, and each call of the engine is a span.
func TestTelemetry(t *testing.T) {
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	engine := telemetry.Spans(leasetest.NewMemory().Connect(), sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	space, err := lease.Create(t.Context(), engine, lease.Config{NeverUsed: true})
	require.NoError(t, err)
	keeper, err := lease.Keep(t.Context(), space, randflake.NewSecret(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer keeper.Close()
	registration, err := telemetry.Observe(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), metrics.With(map[string]string{"ids": "orders"}, keeper))
	require.NoError(t, err)
	keeper.Generator().Fill(make([]randflake.ID, 1000))

	seen := func() map[string]float64 {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &all))
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
					values[m.Name+kind+label.AsString()] = p.Value
				}
			}
		}
		return values
	}
	for name, want := range map[string]float64{"randflake_ids_made_total counterorders": 1000, "randflake_lease_healthy gaugeorders": 1} {
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
		require.That(t, s.Status().Code != codes.Error, "span %s: %v", s.Name(), s.Status())
	}
	require.That(t, names["randflake.store.read"] != 0 && names["randflake.store.swap"] != 0, "spans %v", names)
}
