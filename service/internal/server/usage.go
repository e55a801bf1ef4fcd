package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
)

// Limits of one call, where its rule and its space have no lower ones.
const (
	maxBatch = 1 << 16       // IDs or numbers that a call makes: some megabytes
	maxRun   = 1_000_000_000 // numbers that a call takes, and does not make
)

// maxPlaces is how many requests of one principal, or of all strangers, may be under way. Each may
// have a large header and half a body.
const maxPlaces = 1000

// Requests for which there is no place are refused in turn. So clients that repeat calls as soon as
// they are refused leave the processors to other principals. It is a queue and no rate, as those who
// hang up must leave their turns to others.
const (
	refusals    = 20                   // of a principal at a time
	refusalTime = 4 * time.Millisecond // of each: so 5000 a second
	maxRefused  = 40_000               // of all principals that wait for their turn; each takes 10 kB
)

// Limits of the IDs and numbers in answers that are being made or written, so that clients that
// don't read can't fill the memory. Each ID or number takes about 64 bytes.
const (
	maxAnswers = 1 << 19
	maxAnswer  = maxAnswers / 2 // of one principal
	negligible = 16             // an answer with so few takes less than the call itself
)

// maxTurns is how many calls of one principal use the store of a space at a time; others wait for
// their turn. A store serves few calls at a time, in the order in which they come: one principal with
// a thousand would keep out all others.
const maxTurns = 32

// A quota is how often a principal may do something: perSecond times a second on average, and burst
// times at once.
type quota struct {
	what      string // a call, by the name of its space or othersTogether; or a line in a log
	perSecond float64
	burst     int
}

// Quotas of the lines in logs that each principal causes. No space can have their names.
var (
	failureLines = quota{what: "*failures", perSecond: 10, burst: 100} // of stores
	denialLines  = quota{what: "*denials", perSecond: 10. / 60, burst: 100}
)

// A usage is what principals use of this process at present. It is safe for concurrent use.
type usage struct {
	answers *semaphore.Weighted // IDs and numbers in answers of all principals
	waiting *semaphore.Weighted // requests of all principals that wait to be refused

	mu    sync.Mutex
	parts map[string]*part // by principal; all strangers together are ""
	turns map[storeTurn]*semaphore.Weighted
	rates map[use]*rate.Limiter
}

// A storeTurn says whose turn it is, and at the store of which space.
type storeTurn struct{ principal, space string }

// A part is what one principal may use.
type part struct {
	places  *semaphore.Weighted // a request holds one from its header on
	answers *semaphore.Weighted // IDs and numbers in its answers
	refusal *semaphore.Weighted // requests that are being refused
}

// A use is what a limiter counts. If a new configuration changes the quota, that is another use.
type use struct {
	principal string
	quota
}

func newUsage() *usage {
	return &usage{
		answers: semaphore.NewWeighted(maxAnswers),
		waiting: semaphore.NewWeighted(maxRefused),
		parts:   map[string]*part{},
		turns:   map[storeTurn]*semaphore.Weighted{},
		rates:   map[use]*rate.Limiter{},
	}
}

// of returns the part of a principal. It makes one at its first call.
func (u *usage) of(principal string) *part {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.parts[principal] == nil {
		u.parts[principal] = &part{
			places:  semaphore.NewWeighted(maxPlaces),
			answers: semaphore.NewWeighted(maxAnswer),
			refusal: semaphore.NewWeighted(refusals),
		}
	}
	return u.parts[principal]
}

// awaitRefusal waits for a principal's turn to be refused, until ctx ends. It returns false at once if
// too many requests wait.
func (u *usage) awaitRefusal(ctx context.Context, principal string) bool {
	if !u.waiting.TryAcquire(1) {
		return false
	}
	defer u.waiting.Release(1)
	refusal := u.of(principal).refusal
	if refusal.Acquire(ctx, 1) == nil {
		time.Sleep(refusalTime)
		refusal.Release(1)
	}
	return true
}

// may reports whether a principal may do something now, by its quota. What is allowed counts.
func (u *usage) may(principal string, q quota) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := use{principal, q}
	if u.rates[key] == nil {
		u.rates[key] = rate.NewLimiter(rate.Limit(q.perSecond), q.burst)
	}
	return u.rates[key].Allow()
}

// turnsOf returns the turns of a principal at the store of a space.
func (u *usage) turnsOf(of storeTurn) *semaphore.Weighted {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.turns[of] == nil {
		u.turns[of] = semaphore.NewWeighted(maxTurns)
	}
	return u.turns[of]
}

// inTurn waits for the principal's turn at a store, and then calls do with a context that ends after
// timeout. A caller who hangs up does not cancel do: with many stores that would cost a connection,
// for which others would wait.
func (s *Server) inTurn(
	ctx context.Context,
	of storeTurn,
	timeout time.Duration,
	do func(context.Context) error,
) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	turns := s.usage.turnsOf(of)
	err := turns.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) { // with another replica the store may be faster
		return coded(connect.CodeUnavailable,
			"too many calls use the store: make fewer at a time, or try again")
	}
	if err != nil {
		return err
	}
	defer turns.Release(1)
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return do(whole)
}

// reserve waits until there is room for an answer with n IDs or numbers, or ctx ends. Without an error,
// call free once the answer is written.
func (u *usage) reserve(ctx context.Context, principal string, n int64) error {
	if n <= negligible {
		return nil
	}
	own := u.of(principal).answers
	if err := own.Acquire(ctx, n); err != nil {
		return err
	}
	if err := u.answers.Acquire(ctx, n); err != nil {
		own.Release(n)
		return err
	}
	return nil
}

// free gives back the room that reserve took.
func (u *usage) free(principal string, n int64) {
	if n > negligible {
		u.answers.Release(n)
		u.of(principal).answers.Release(n)
	}
}

// reserveRoom returns how many IDs or numbers a call asks for, once there is room for them in answers.
// freeRoom gives that back.
func (s *Server) reserveRoom(ctx context.Context, c *call, asked uint32) (int, error) {
	count := uint64(max(asked, 1))
	if count > maxBatch {
		return 0, coded(connect.CodeInvalidArgument, "count %d: want 1 to %d", count, maxBatch)
	}
	if limit := cmp.Or(c.limits.Batch, config.DefaultBatch); count > limit {
		return 0, s.over(c, "count", count, limit)
	}
	err := s.usage.reserve(ctx, c.principal, int64(count))
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, coded(connect.CodeResourceExhausted,
			"too many answers were not read yet: "+
				"read them, ask for fewer IDs or numbers at a time, or try again")
	}
	if err != nil {
		return 0, err
	}
	c.room = int64(count)
	return int(count), nil
}

// freeRoom gives back what reserveRoom has reserved for a call, once that is answered.
func (s *Server) freeRoom(c *call) { s.usage.free(c.principal, c.room) }

// over returns the error of a call that asks for more than its limits allow.
func (s *Server) over(c *call, what string, asked, most uint64) error {
	err := fmt.Errorf("%w: %w", access.ErrDenied, &wire.LimitError{What: what, Asked: asked, Limit: most})
	return s.deny(c, connect.CodePermissionDenied, err)
}

// othersTogether is what checkRate counts pages under, and calls that it does not count for their
// space.
const othersTogether = ""

// checkRate counts a call for the rate of a space, or that of othersTogether, and returns an error
// if the principal made too many. The burst is what a second allows.
func (s *Server) checkRate(c *call, rateOf string) error {
	perSecond := cmp.Or(c.limits.Rate, config.DefaultRate)
	calls := quota{what: rateOf, perSecond: perSecond, burst: max(1, int(perSecond))}
	if s.usage.may(c.principal, calls) {
		return nil
	}
	err := fmt.Errorf("more than %v calls a second: slow down, or raise the limit called rate", perSecond)
	return s.deny(c, connect.CodeResourceExhausted, err)
}
