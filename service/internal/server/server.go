// Package server answers the calls of randflaked's protocol.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/api"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/metrics"
	"github.com/randflake/randflake/service/internal/space"
)

// A Server serves the spaces of a configuration, which may change while it runs. It is safe for concurrent use.
type Server struct {
	open   space.Opener
	audit  *audit.Log
	logger *slog.Logger
	usage  *access.Usage

	metrics  *metrics.Metrics
	refusals refusals
	started  time.Time
	glance   time.Duration // how long a page or a scrape waits for stores; then it shows what was known before

	setup    atomic.Pointer[setup]
	draining atomic.Bool

	mu     sync.Mutex // held by Configure and Close
	closed bool
}

// A setup is everything made from one configuration.
type setup struct {
	config   *config.Config
	policy   *access.Policy
	spaces   map[string]*space.Space
	counters map[string]string // spaces by counter
}

// New returns a server without spaces, which writes to an audit log and to a logger.
func New(open space.Opener, audit *audit.Log, logger *slog.Logger) *Server {
	s := &Server{open: open, audit: audit, logger: logger, usage: access.NewUsage(), started: time.Now(), glance: 2 * time.Second}
	s.metrics = metrics.New(gauges{s})
	s.setup.Store(&setup{config: &config.Config{}, policy: &access.Policy{}})
	return s
}

// self is the principal of leases that the service takes for itself.
const self = "randflaked"

// Configure applies another valid configuration. Unchanged spaces stay open. If it fails, nothing has changed.
func (s *Server) Configure(c *config.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("server: it is closed")
	}
	policy, err := access.New(c)
	if err != nil {
		return err
	}
	old := s.setup.Load()
	next := &setup{c, policy, map[string]*space.Space{}, map[string]string{}}
	for _, counter := range c.Counters {
		next.counters[counter.Name] = counter.Space
	}
	gone := maps.Clone(old.spaces)
	var fresh []*space.Space
	for _, want := range c.Spaces {
		if kept := old.spaces[want.Name]; kept != nil && reflect.DeepEqual(kept.Space, want) && reflect.DeepEqual(old.countersOf(want.Name), next.countersOf(want.Name)) {
			next.spaces[want.Name] = kept
			delete(gone, want.Name)
			continue
		}
		made, err := space.Start(want, space.Options{Open: s.open, Own: s.own, Logger: s.logger, Counters: c.Counters})
		if err != nil {
			for _, made := range fresh {
				made.Close()
			}
			return err
		}
		fresh = append(fresh, made)
		next.spaces[want.Name] = made
	}
	s.setup.Store(next)
	s.closeAll(gone)
	for name := range gone {
		if next.spaces[name] == nil {
			s.metrics.Forget(name)
		}
	}
	return nil
}

func (s *setup) countersOf(space string) (found []config.Counter) {
	for _, c := range s.config.Counters {
		if c.Space == space {
			found = append(found, c)
		}
	}
	return found
}

// own adds the service's own leases to the audit log and the metrics.
func (s *Server) own(in *space.Space, leases lease.Source) lease.Source {
	return s.audit.Leases(s.metrics.Leases(leases, in.Name), self, in.Name)
}

func (s *Server) closeAll(spaces map[string]*space.Space) {
	var wg sync.WaitGroup
	for name, old := range spaces {
		wg.Go(func() {
			if err := old.Close(); err != nil {
				s.logger.Warn("space was closed, and something is lost for a while", "space", name, "error", err)
			}
		})
	}
	wg.Wait()
}

// Drain makes the server report that it is not ready, so that load balancers send no more calls.
func (s *Server) Drain() { s.draining.Store(true) }

// Close gives back what the server holds. No call may be under way.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.closeAll(s.setup.Load().spaces)
}

// Ready returns an error while calls should go to another replica: while this one shuts down, or is still opening its
// spaces.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	if not := s.without((*space.Space).Begun); len(not) > 0 {
		return fmt.Errorf("spaces that are being opened: %q", not)
	}
	return nil
}

// Check implements grpchealth.Checker, for the process and for each service of the protocol.
func (s *Server) Check(ctx context.Context, r *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if s.Ready() != nil {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return grpchealth.NewStaticChecker(served...).Check(ctx, r)
}

// without returns the names of the spaces of which a condition is false.
func (s *Server) without(is func(*space.Space) bool) (names []string) {
	for name, in := range s.setup.Load().spaces {
		if !is(in) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Limits on what is read of a call.
const (
	maxMessage = 64 << 10
	maxBody    = 2 * maxMessage
)

// served are the services of the protocol.
var served = []string{randflakev1connect.LeaseServiceName, randflakev1connect.IDServiceName, randflakev1connect.CounterServiceName,
	randflakev1connect.AdminServiceName, randflakev1connect.SecretServiceName}

// Handler returns the handler of all HTTP requests: the protocol, behind the interceptors, its description, the short
// paths, the page, /metrics, and whether the service is healthy and ready.
func (s *Server) Handler(first ...connect.Interceptor) http.Handler {
	interceptors := append(first, connect.UnaryInterceptorFunc(s.observed), connect.UnaryInterceptorFunc(s.admit))
	options := connect.WithHandlerOptions(connect.WithInterceptors(interceptors...), connect.WithReadMaxBytes(maxMessage),
		connect.WithCodec(jsonCodec{}), connect.WithCompressMinBytes(math.MaxInt))
	calls := http.NewServeMux()
	calls.Handle(randflakev1connect.NewLeaseServiceHandler(leaseService{s}, options))
	calls.Handle(randflakev1connect.NewIDServiceHandler(idService{s}, options))
	calls.Handle(randflakev1connect.NewCounterServiceHandler(counterService{s}, options))
	calls.Handle(randflakev1connect.NewAdminServiceHandler(adminService{s}, options))
	calls.Handle(randflakev1connect.NewSecretServiceHandler(secretService{s}, options))
	addShortPaths(calls)
	reflector, refusals := grpcreflect.NewStaticReflector(append(served, grpchealth.HealthV1ServiceName)...), connect.NewErrorWriter()
	for _, version := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha} {
		path, reflection := version(reflector, connect.WithReadMaxBytes(maxMessage))
		calls.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if _, err := s.check(r.Context(), path, nil); err != nil {
				refusals.Write(w, r, err)
				return
			}
			reflection.ServeHTTP(w, r)
		})
	}

	mux := http.NewServeMux()
	mux.Handle(grpchealth.NewHandler(s, connect.WithReadMaxBytes(maxMessage)))
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.Write(api.OpenAPI)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if not := s.without(func(in *space.Space) bool { return in.Ready() == nil }); len(not) > 0 {
			fmt.Fprintf(w, "ok, without spaces %q, whose stores are away\n", not)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	s.addPages(mux)
	// A page of another site must not make a browser on this machine use up IDs.
	mux.Handle("/", http.NewCrossOriginProtection().Handler(s.identified(wellFormed(calls))))
	return http.MaxBytesHandler(mux, maxBody)
}
