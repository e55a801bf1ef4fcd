package access

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Limits on the IDs and numbers in answers that are being made or written, so that clients that don't read can't fill
// the memory. One takes about 64 bytes.
const (
	maxAnswers = 1 << 19
	maxAnswer  = maxAnswers / 2 // of one principal
	negligible = 16             // takes less than the call itself
	maxWaiting = 500            // calls of one principal that wait for room, or for an issuer's keys: each may have a large header and body
)

// Usage counts the calls and answers of principals, as far as this process knows them. It is safe for concurrent use.
type Usage struct {
	answers *semaphore.Weighted

	mu    sync.Mutex
	parts map[string]*part // of answers, by principal
	rates map[user]*rate.Limiter
}

type part struct {
	*semaphore.Weighted
	waiting atomic.Int32
}

type user struct {
	principal, what string
	limit           float64
}

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{answers: semaphore.NewWeighted(maxAnswers), parts: map[string]*part{}, rates: map[user]*rate.Limiter{}}
}

// Call reports whether a principal may do something now, under a limit of times a second and a burst, and counts that. Calls under
// different limits are counted apart. A name that no space can have, as it begins with an asterisk, is for what is done in none.
func (u *Usage) Call(principal, what string, perSecond float64, burst int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	who := user{principal, what, perSecond}
	if u.rates[who] == nil {
		u.rates[who] = rate.NewLimiter(rate.Limit(perSecond), burst)
	}
	return u.rates[who].Allow()
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
