// Package server answers the calls of randflaked's protocol. A request passes through identify.go,
// which finds out who sends it, guard.go, which refuses those of strangers, message.go, which reads
// its body, and intercept.go, which asks authorize.go for the rule that allows it, and has it answered.
// Meanwhile usage.go, turns.go and quota.go bound what its principal uses.
package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/service/internal/timed"
)

// A Server serves the spaces of a configuration, which may change while it runs. It is safe for concurrent use.
type Server struct {
	open     space.Opener
	audit    *auditLog
	logger   *slog.Logger
	auditOut io.Writer // for audit lines, if the configuration has no file for them
	usage    *usage
	turns    turns
	rates    rates
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
	audit   *timed.File // nil if the lines of the audit log go to Server.auditOut
	wasOpen bool        // a space of an earlier setup was open

	// By the names of spaces:
	spaces   map[string]*space.Space
	counters map[string]*space.Counters
	quotas   map[string]config.Quota
}

// New returns a server without spaces. Audit lines go to auditOut if a configuration has no file for them.
func New(open space.Opener, auditOut io.Writer, logger *slog.Logger) *Server {
	s := &Server{
		open:     open,
		logger:   logger,
		auditOut: auditOut,
		usage:    newUsage(),
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
	return s.auditOut.Write(line)
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

// A call keeps the setup with which it began, until it was read and answered.
const (
	ReadTime    = 15 * time.Second                      // for which randflaked waits for a client to send a request
	WriteTime   = 30 * time.Second                      // and then to read the answer
	longestCall = ReadTime + WriteTime + 15*time.Second // to spare
)

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
