package access

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/randflake/randflake/lease"
)

// Limits on the IDs and numbers in answers that are being made or written, so that clients that don't read can't fill
// the memory. One takes about 64 bytes.
const (
	maxAnswers = 1 << 19
	maxAnswer  = maxAnswers / 2 // of one principal
	negligible = 16             // takes less than the call itself
	maxWaiting = 500            // calls of one principal that wait for room, as each may have a large header and body
)

// Usage counts the calls, answers and leases of principals, as far as this process knows them. It is safe for concurrent
// use.
type Usage struct {
	answers *semaphore.Weighted

	mu    sync.Mutex
	parts map[string]*part // of answers, by principal
	users map[user]*used
}

type part struct {
	*semaphore.Weighted
	waiting atomic.Int32
}

type user struct{ principal, space string }

type used struct {
	rates  map[float64]*rate.Limiter // by the limit that a rule or the space sets
	leases map[lease.Token]*held
	swept  int64 // second in which all leases that had ended were dropped
}

// drop forgets a lease that has ended, unless a call may get it.
func (u *used) drop(owner lease.Token, now int64) {
	if h := u.leases[owner]; h.calls == 0 && h.last < now {
		delete(u.leases, owner)
	}
}

type held struct {
	calls int   // in progress that may get the lease
	last  int64 // second of it, or 0
}

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{answers: semaphore.NewWeighted(maxAnswers), parts: map[string]*part{}, users: map[user]*used{}}
}

// of returns what a principal uses. It is called with mu held.
func (u *Usage) of(principal, space string) *used {
	key := user{principal, space}
	if u.users[key] == nil {
		u.users[key] = &used{rates: map[float64]*rate.Limiter{}, leases: map[lease.Token]*held{}}
	}
	return u.users[key]
}

// Call reports whether a principal may call now, under a limit of calls a second, and counts the call. The burst is one
// second's calls. Calls under different limits are counted apart.
func (u *Usage) Call(principal, space string, perSecond float64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	rates := u.of(principal, space).rates
	if rates[perSecond] == nil {
		rates[perSecond] = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return rates[perSecond].Allow()
}

// Answer waits until there is room for an answer with n IDs or numbers, or ctx ends; if maxWaiting calls wait already, it
// fails at once as at a deadline. The caller calls done when the answer was written.
func (u *Usage) Answer(ctx context.Context, principal string, n int64) (done func(), err error) {
	if n <= negligible {
		return func() {}, nil
	}
	u.mu.Lock()
	if u.parts[principal] == nil {
		u.parts[principal] = &part{Weighted: semaphore.NewWeighted(maxAnswer)}
	}
	part := u.parts[principal]
	u.mu.Unlock()
	defer part.waiting.Add(-1)
	if part.waiting.Add(1) > maxWaiting {
		return nil, context.DeadlineExceeded
	}
	if err := part.Acquire(ctx, n); err != nil {
		return nil, err
	}
	if err := u.answers.Acquire(ctx, n); err != nil {
		part.Release(n)
		return nil, err
	}
	return func() { u.answers.Release(n); part.Release(n) }, nil
}

// Reserve reports whether a principal may take one more lease, with most at a time. If so, it counts one until the
// caller calls done, and longer if Holds was called. A retry with the same owner token does not count twice.
func (u *Usage) Reserve(principal, space string, owner lease.Token, most int) (done func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, of := time.Now().Unix(), u.of(principal, space)
	if of.swept != now { // not with each call, as there may be a hundred thousand
		of.swept = now
		for owner := range of.leases {
			of.drop(owner, now)
		}
	}
	h := of.leases[owner]
	if h == nil {
		if most > 0 && len(of.leases) >= most {
			return nil, false
		}
		h = new(held)
		of.leases[owner] = h
	}
	h.calls++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		h.calls--
		of.drop(owner, time.Now().Unix())
	}, true
}

// Holds notes that a principal has, or may have, a lease until a second at least, or 0 if it no longer has it.
func (u *Usage) Holds(principal, space string, owner lease.Token, last int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of(principal, space)
	if of.leases[owner] == nil {
		of.leases[owner] = new(held)
	}
	if h := of.leases[owner]; last == 0 || last > h.last {
		h.last = last
	}
	of.drop(owner, time.Now().Unix())
}

// Holder returns the principal that has the lease of an owner token, or "" if this process does not know it.
func (u *Usage) Holder(space string, owner lease.Token) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	for who, of := range u.users {
		if h := of.leases[owner]; h != nil && h.last > 0 && who.space == space {
			return who.principal
		}
	}
	return ""
}
