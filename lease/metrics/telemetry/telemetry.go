// Package telemetry passes metrics to OpenTelemetry, and makes spans of what is asked of a store.
// It does neither unless it is given a provider.
package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/metrics"
)

const scope = "github.com/randflake/randflake"

// Observe makes an instrument of each metric that the reporters have at present. It asks them
// whenever the provider collects, until it is unregistered.
func Observe(provider metric.MeterProvider, reporters ...metrics.Reporter) (metric.Registration, error) {
	meter, instruments := provider.Meter(scope), map[string]metric.Float64Observable{}
	var all []metric.Observable
	for _, r := range reporters {
		for _, m := range r.Metrics() {
			if instruments[m.Name] != nil {
				continue
			}
			var instrument metric.Float64Observable
			var err error
			if m.Counter {
				instrument, err = meter.Float64ObservableCounter(m.Name, metric.WithDescription(m.Help))
			} else {
				instrument, err = meter.Float64ObservableGauge(m.Name, metric.WithDescription(m.Help))
			}
			if err != nil {
				return nil, fmt.Errorf("telemetry: %w", err)
			}
			instruments[m.Name], all = instrument, append(all, instrument)
		}
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, r := range reporters {
			for _, m := range r.Metrics() {
				if instrument := instruments[m.Name]; instrument != nil {
					var labels []attribute.KeyValue
					for name, value := range m.Labels {
						labels = append(labels, attribute.String(name, value))
					}
					o.ObserveFloat64(instrument, m.Value, metric.WithAttributes(labels...))
				}
			}
		}
		return nil
	}, all...)
}

// Spans returns an engine that makes a span of each read and swap of another one, under the span of
// the caller's context if that has one.
func Spans(engine lease.Engine, provider trace.TracerProvider) lease.Engine {
	return traced{engine, provider.Tracer(scope)}
}

type traced struct {
	lease.Engine
	tracer trace.Tracer
}

func (t traced) Read(ctx context.Context, names ...string) (a lease.Answer, err error) {
	ctx, end := t.begin(ctx, "randflake.store.read")
	defer func() { end(err) }()
	return t.Engine.Read(ctx, names...)
}

func (t traced) Swap(ctx context.Context, expect, put []lease.Entry) (a lease.Answer, err error) {
	ctx, end := t.begin(ctx, "randflake.store.swap")
	defer func() { end(err) }()
	return t.Engine.Swap(ctx, expect, put)
}

// begin starts a span, which end ends.
func (t traced) begin(ctx context.Context, name string) (_ context.Context, end func(error)) {
	store := attribute.String("randflake.store", t.Engine.String())
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(store))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
