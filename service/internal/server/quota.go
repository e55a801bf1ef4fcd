package server

import (
	"cmp"
	"fmt"
	"sync"

	"connectrpc.com/connect"
	"golang.org/x/time/rate"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
)

// A rateLimit is how often a principal may do something: perSecond times a second on average, and burst times at once.
type rateLimit struct {
	of        counted
	space     string // of calls, or othersTogether
	perSecond float64
	burst     int
}

// counted is what a limit is of.
type counted int

const (
	calls counted = iota
	failureLines
	denialLines
)

// othersTogether is in place of a space for pages, and for calls that no rule allows.
const othersTogether = ""

// Limits of the lines in logs that each principal causes.
var (
	failuresOfStores = rateLimit{of: failureLines, perSecond: 10, burst: 100}
	denials          = rateLimit{of: denialLines, perSecond: 10. / 60, burst: 100}
)

// Rates are what principals have used of their limits. They are safe for concurrent use. If a new
// configuration changes a limit, it starts from zero; the few limiters of earlier ones stay.
type rates struct {
	mu       sync.Mutex
	limiters map[principalLimit]*rate.Limiter
}

type principalLimit struct {
	principal string
	rateLimit
}

// allow reports whether a principal may do something now, by a limit. What is allowed counts.
func (r *rates) allow(principal string, limit rateLimit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiters == nil {
		r.limiters = map[principalLimit]*rate.Limiter{}
	}
	key := principalLimit{principal, limit}
	if r.limiters[key] == nil {
		r.limiters[key] = rate.NewLimiter(rate.Limit(limit.perSecond), limit.burst)
	}
	return r.limiters[key].Allow()
}

// checkRate counts a call for the rate of a space, or that of othersTogether, and denies it if the
// principal made too many. The burst is what a second allows.
func (s *Server) checkRate(c *call, space string) error {
	perSecond := cmp.Or(c.quota.Rate, config.DefaultRate)
	limit := rateLimit{of: calls, space: space, perSecond: perSecond, burst: max(1, int(perSecond))}
	if s.rates.allow(c.principal, limit) {
		return nil
	}
	err := fmt.Errorf("%w: more than %v a second: slow down, or raise the rate of the quota", wire.ErrRate, perSecond)
	return s.deny(c, connect.CodeResourceExhausted, err)
}

// Bounds of one call, where its rule and its space have no lower ones.
const (
	maxBatch = 1 << 16       // IDs or numbers that a call makes: some megabytes
	maxRun   = 1_000_000_000 // numbers that a call takes, and does not make
)

// overLimit denies a call that asks for more than its quota allows.
func (s *Server) overLimit(c *call, what string, asked, most uint64) error {
	err := fmt.Errorf("%w: %w", access.ErrDenied, &wire.LimitError{What: what, Asked: asked, Limit: most})
	return s.deny(c, connect.CodePermissionDenied, err)
}
