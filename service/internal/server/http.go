package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/space"
)

// Handler returns the handler of all HTTP requests: the protocol, its description, which gRPC calls
// reflection, the page, /metrics, and Probes.
func (s *Server) Handler() http.Handler {
	mux := s.Probes()
	handle := func(path string, handler http.Handler) {
		mux.Handle(path, s.guarded(handler, readMessage))
	}
	procedures := connect.WithHandlerOptions(
		connect.WithInterceptors(connect.UnaryInterceptorFunc(s.intercept)),
		compression,
		connect.WithCompressMinBytes(math.MaxInt), // which no answer has
	)
	handle(randflakev1connect.NewLeaseServiceHandler(leaseService{s}, procedures))
	handle(randflakev1connect.NewIDServiceHandler(idService{s}, procedures))
	handle(randflakev1connect.NewCounterServiceHandler(counterService{s}, procedures))

	bounded := connect.WithReadMaxBytes(maxMessage)
	reflector := grpcreflect.NewStaticReflector(append(services, grpchealth.HealthV1ServiceName)...)
	handle(grpcreflect.NewHandlerV1(reflector, bounded))
	handle(grpcreflect.NewHandlerV1Alpha(reflector, bounded))
	mux.Handle(grpchealth.NewHandler(s, bounded))

	mux.Handle("GET /{$}", s.guarded(http.HandlerFunc(s.show), s.authorizePage))
	mux.Handle("GET /metrics", s.guarded(s.scrapes(), s.authorizePage))
	return s.identified(http.MaxBytesHandler(mux, grpcPrefix+maxMessage))
}

// Probes returns the handler of what strangers may ask: whether the process lives, and whether it is ready.
func (s *Server) Probes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Ready returns an error while calls should go to another replica: while this one shuts down, has no configuration
// yet, is still opening its spaces, or could never open any. Strangers may read the error.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	inForce := s.setup.Load()
	switch {
	case len(inForce.spaces) == 0:
		return errors.New("the configuration is being read")
	case inForce.has(space.Opening):
		return errors.New("spaces are being opened")
	case !inForce.everOpen():
		return errors.New("no space could be opened yet")
	}
	return nil
}

// Check implements grpchealth.Checker, for the process and for each service of the protocol.
func (s *Server) Check(ctx context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if s.Ready() != nil {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return grpchealth.NewStaticChecker(services...).Check(ctx, r)
}

// services are those of the protocol.
var services = []string{
	randflakev1connect.LeaseServiceName,
	randflakev1connect.IDServiceName,
	randflakev1connect.CounterServiceName,
}

// grpcPrefix is how many bytes gRPC sends before a message.
const grpcPrefix = 5
