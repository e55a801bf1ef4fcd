// Package server answers the calls of randflaked's protocol. A request passes through identify.go,
// which finds out who sends it, guard.go, which refuses those of strangers, message.go, which reads
// its body, and intercept.go, which asks authorize.go for the rule that allows it, and has it answered.
// Meanwhile usage.go, turns.go and quota.go bound what its principal uses.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/service/internal/timed"
)

// A Server serves the spaces of a configuration, which may change while it runs. It is safe for concurrent use.
type Server struct {
	open   space.Opener
	audit  *auditLog
	logger *slog.Logger
	other  io.Writer // for audit lines, if the configuration has no file for them
	usage  *usage
	turns  turns
	rates  rates
	*measures

	setup    atomic.Pointer[setup] // what is in force; each call uses the one that it began with
	draining atomic.Bool

	mu      sync.Mutex     // held by Configure and Close
	closing sync.WaitGroup // of spaces that are gone
}

// A setup is everything made from one configuration.
type setup struct {
	config  *config.Config
	policy  *access.Policy
	audit   *timed.File // nil if the lines of the audit log go to Server.other
	wasOpen bool        // a space of an earlier setup was open

	// By the names of spaces:
	spaces   map[string]*space.Space
	counters map[string]*space.Counters
	quotas   map[string]config.Quota
}

// New returns a server without spaces. Audit lines go to other if a configuration has no file for them.
func New(open space.Opener, other io.Writer, logger *slog.Logger) *Server {
	s := &Server{
		open:   open,
		logger: logger,
		other:  other,
		usage:  newUsage(),
	}
	s.audit = newAuditLog(s.writeAudit, logger)
	s.measures = newMeasures(s.gauges)
	s.setup.Store(&setup{config: &config.Config{}, policy: &access.Policy{}})
	return s
}

// writeAudit writes a line of the audit log.
func (s *Server) writeAudit(line []byte) (int, error) {
	if file := s.setup.Load().audit; file != nil {
		return file.Write(line)
	}
	return s.other.Write(line)
}

// TLS returns the certificates in force.
func (s *Server) TLS() *tls.Config { return s.setup.Load().policy.TLS }

// Configure applies another valid configuration, with all the files that it names. Spaces that are
// as before, but for their quotas and counters, stay open. If Configure fails, nothing has changed.
func (s *Server) Configure(c *config.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.setup.Load()
	next, err := s.load(c, old)
	if err != nil {
		return err
	}
	s.setup.Store(next)
	for name, sp := range next.spaces {
		if sp != old.spaces[name] {
			sp.Open()
		}
	}
	if old.audit != nil {
		old.audit.Close()
	}
	s.closeAll(old, next)
	return nil
}

// load makes the setup of a configuration, with the spaces of the old setup that are unchanged. If it
// fails, it leaves nothing open: a new space opens nothing before Open.
func (s *Server) load(c *config.Config, old *setup) (*setup, error) {
	policy, err := access.New(c, old.policy, s.logger)
	if err != nil {
		return nil, err
	}
	next := &setup{
		config:   c,
		policy:   policy,
		wasOpen:  old.everOpen(),
		spaces:   map[string]*space.Space{},
		counters: map[string]*space.Counters{},
		quotas:   map[string]config.Quota{},
	}
	for _, want := range c.Spaces {
		bare := want // other quotas and counters don't make another space
		bare.Quota = config.Quota{}
		bare.Counters = nil
		made, err := space.New(bare, space.Options{Open: s.open, Taken: s.taken, Logger: s.logger})
		if err != nil {
			return nil, fmt.Errorf("space %s: %w", want.Name, err)
		}
		if kept := old.spaces[want.Name]; kept != nil && kept.Same(made) {
			made = kept
		}
		counters := space.NewCounters(made, want)
		if kept := old.counters[want.Name]; kept != nil && kept.Same(counters) {
			counters = kept
		}
		next.spaces[want.Name] = made
		next.counters[want.Name] = counters
		next.quotas[want.Name] = want.Quota
	}
	if c.Audit.File != "" {
		next.audit, err = openAudit(c.Audit.File) // last, as a later step that fails would leave it open
		if err != nil {
			return nil, err
		}
	}
	return next, nil
}

// taken adds the service's own leases to the audit log.
func (s *Server) taken(space string, l randflake.Lease) {
	s.auditTake(caller{principal: config.Self, space: space}, l, config.Self)
}

// longestCall is longer than a call can keep a setup that is no longer in force: randflaked allows it 15 seconds to be
// read, and then 30 to be answered.
const longestCall = time.Minute

// closeAll closes the counters and spaces that the next setup lacks. It does so in the background, as
// a store may not answer. Counters of a space that stays are closed once no call has them.
func (s *Server) closeAll(old, next *setup) {
	for name, sp := range old.spaces {
		counters := old.counters[name]
		if sp == next.spaces[name] {
			if counters != next.counters[name] {
				time.AfterFunc(longestCall, counters.Close)
			}
			continue
		}
		s.closing.Go(func() {
			counters.Close()
			if err := sp.Close(); err != nil {
				s.logger.Warn("store of a space was not closed", "space", name, "error", err)
			}
		})
	}
}

// Drain makes the server report that it is not ready, so that load balancers send no more calls.
func (s *Server) Drain() { s.draining.Store(true) }

// Close closes the spaces. Calls that are under way fail.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeAll(s.setup.Load(), &setup{})
	s.closing.Wait()
}

// Ready returns an error while calls should go to another replica: while this one shuts down, has no configuration
// yet, is still opening its spaces, or could never open any. Strangers may read the error.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	setup := s.setup.Load()
	switch {
	case len(setup.spaces) == 0:
		return errors.New("the configuration is being read")
	case setup.has(space.Opening):
		return errors.New("spaces are being opened")
	case !setup.everOpen():
		return errors.New("no space could be opened yet")
	}
	return nil
}

// has reports whether one of the spaces is in a phase.
func (s *setup) has(phase space.Phase) bool {
	for _, sp := range s.spaces {
		if sp.Phase() == phase {
			return true
		}
	}
	return false
}

// everOpen reports whether a space is open, or one of an earlier setup was.
func (s *setup) everOpen() bool { return s.wasOpen || s.has(space.Open) }

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
