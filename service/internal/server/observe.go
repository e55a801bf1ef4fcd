package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/space"
)

// observed counts calls, remembers the failed ones, and adds details to their errors.
func (s *Server) observed(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		start := time.Now()
		response, err := next(ctx, request)
		c := callOf(ctx)
		s.note(c, request.Spec().Procedure, c.setup.spaceOf(request.Any()), start, err)
		if failed := (*connect.Error)(nil); errors.As(err, &failed) {
			again := failed.Code() == connect.CodeUnavailable || failed.Code() == connect.CodeResourceExhausted && !errors.Is(failed, space.ErrMost)
			wire.Describe(failed, request.Spec().Procedure, again)
		}
		return response, err
	}
}

// note counts a call, and remembers it if it failed. There may be no space of that name.
func (s *Server) note(c *call, procedure, space string, start time.Time, err error) {
	if c.setup.spaces[space] == nil {
		space = ""
	}
	procedure = strings.TrimPrefix(procedure, "/randflake.v1.")
	s.Metrics.Called(procedure, space, time.Since(start), err)
	if failed := (*connect.Error)(nil); errors.As(err, &failed) && failed.Code() != connect.CodeCanceled {
		s.refusals.add(refusal{time.Now(), c.who.Name, space, procedure, failed.Code(), failed.Message()})
	}
}

// A refusal is a call that failed.
type refusal struct {
	At        time.Time
	Principal string
	Space     string // one that is served, or ""
	Procedure string
	Code      connect.Code
	Why       string
}

// refusals holds the newest hundred refusals, newest first. It is safe for concurrent use.
type refusals struct {
	mu  sync.Mutex
	all []refusal
}

func (r *refusals) add(one refusal) {
	one.Why = fmt.Sprintf("%.300s", strings.ToValidUTF8(one.Why, "?"))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.Insert(r.all[:min(len(r.all), 99)], 0, one)
}

func (r *refusals) newest() []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Tracing returns the interceptor that makes a span of each call, within the caller's trace if the caller is
// authenticated.
func Tracing(provider trace.TracerProvider) (connect.Interceptor, error) {
	return otelconnect.NewInterceptor(otelconnect.WithTracerProvider(provider), otelconnect.WithoutMetrics(), otelconnect.WithTrustRemote(),
		otelconnect.WithPropagator(propagation.TraceContext{}),
		otelconnect.WithFilter(func(ctx context.Context, _ connect.Spec) bool { return callOf(ctx).err == nil }))
}
