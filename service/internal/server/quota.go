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

// A quota is how often a principal may do something: perSecond times a second on average, and burst times at once.
type quota struct {
	of        counted
	space     string // of calls, or othersTogether
	perSecond float64
	burst     int
}

// counted is what a quota is of.
type counted int

const (
	calls counted = iota
	failureLines
	denialLines
)

// othersTogether is in place of a space for pages, and for calls that no rule allows.
const othersTogether = ""

// Quotas of the lines in logs that each principal causes.
var (
	failuresOfStores = quota{of: failureLines, perSecond: 10, burst: 100}
	denials          = quota{of: denialLines, perSecond: 10. / 60, burst: 100}
)

// Rates are what principals have used of their quotas. They are safe for concurrent use. If a new
// configuration changes a quota, it starts from zero; the few limiters of earlier quotas stay.
type rates struct {
	mu       sync.Mutex
	limiters map[principalQuota]*rate.Limiter
}

type principalQuota struct {
	principal string
	quota
}

// allow reports whether a principal may do something now, by its quota. What is allowed counts.
func (r *rates) allow(principal string, q quota) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiters == nil {
		r.limiters = map[principalQuota]*rate.Limiter{}
	}
	key := principalQuota{principal, q}
	if r.limiters[key] == nil {
		r.limiters[key] = rate.NewLimiter(rate.Limit(q.perSecond), q.burst)
	}
	return r.limiters[key].Allow()
}

// checkRate counts a call for the rate of a space, or that of othersTogether, and denies it if the
// principal made too many. The burst is what a second allows.
func (s *Server) checkRate(c *call, space string) error {
	perSecond := cmp.Or(c.quota.Rate, config.DefaultRate)
	q := quota{of: calls, space: space, perSecond: perSecond, burst: max(1, int(perSecond))}
	if s.rates.allow(c.principal, q) {
		return nil
	}
	err := fmt.Errorf("%w: more than %v a second: slow down, or raise the rate of the quota",
		wire.ErrRate, perSecond)
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
