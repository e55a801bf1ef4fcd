package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/randflake/randflake/service/internal/server"
)

// tracing sends spans of calls by HTTP to the endpoint in the standard OTEL_* variables, if they name one.
func tracing(logger *slog.Logger) (spans []connect.Interceptor, end func(context.Context) error, err error) {
	either := func(name, other string) string { return cmp.Or(os.Getenv(name), os.Getenv(other)) }
	if either("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" ||
		os.Getenv("OTEL_TRACES_EXPORTER") == "none" || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return nil, func(context.Context) error { return nil }, nil
	}
	if protocol := either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, nil, fmt.Errorf("tracing: OTEL_EXPORTER_OTLP_PROTOCOL is %q: want http/protobuf, or none", protocol)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces", "error", err) }))
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	about, failed := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "randflaked")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err := errors.Join(err, failed); err != nil {
		return nil, nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	span, err := server.Tracing(provider)
	return []connect.Interceptor{span}, provider.Shutdown, err
}
