package access

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// maxPlaces is how many requests of one principal, or of all strangers, may be under way: each may have a large header and half a body.
const maxPlaces = 1000

// Refusals take turns, so that clients that repeat calls as soon as they are refused leave the processors to other principals.
const (
	refusals    = 20 // of a principal at a time
	refusalTime = 4 * time.Millisecond
	maxRefused  = 40_000 // calls of all principals that wait for their turn; each takes 10 kB
)

// Limits on the IDs and numbers in answers that are being made or written, so that clients that don't read can't fill
// the memory. One takes about 64 bytes.
const (
	maxAnswers = 1 << 19
	maxAnswer  = maxAnswers / 2 // of one principal
	negligible = 16             // takes less than the call itself
)

// Usage counts the calls and answers of principals, as far as this process knows them. It is safe for concurrent use.
type Usage struct {
	answers *semaphore.Weighted
	refused *semaphore.Weighted

	mu    sync.Mutex
	parts map[string]*part // by principal
	rates map[user]*rate.Limiter
}

// A part is what one principal may use.
type part struct {
	places  *semaphore.Weighted
	answers *semaphore.Weighted
	refusal *semaphore.Weighted
}

type user struct {
	principal, what string
	limit           float64
}

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{
		answers: semaphore.NewWeighted(maxAnswers),
		refused: semaphore.NewWeighted(maxRefused),
		parts:   map[string]*part{},
		rates:   map[user]*rate.Limiter{},
	}
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

// Places returns the places of a principal, or of all strangers if it is empty. A request holds one from its header on.
func (u *Usage) Places(principal string) *semaphore.Weighted { return u.part(principal).places }

// Refuse waits until it is the turn of a principal's call to be refused, or ctx ends. It returns false at once if too many wait.
func (u *Usage) Refuse(ctx context.Context, principal string) bool {
	if !u.refused.TryAcquire(1) {
		return false
	}
	defer u.refused.Release(1)
	refusal := u.part(principal).refusal
	if refusal.Acquire(ctx, 1) == nil {
		time.Sleep(refusalTime)
		refusal.Release(1)
	}
	return true
}

func (u *Usage) part(principal string) *part {
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

// Answer waits until there is room for an answer with n IDs or numbers, or ctx ends. The caller calls done when the answer was written.
func (u *Usage) Answer(ctx context.Context, principal string, n int64) (done func(), err error) {
	if n <= negligible {
		return func() {}, nil
	}
	part := u.part(principal)
	if err := part.answers.Acquire(ctx, n); err != nil {
		return nil, err
	}
	if err := u.answers.Acquire(ctx, n); err != nil {
		part.answers.Release(n)
		return nil, err
	}
	return func() {
		u.answers.Release(n)
		part.answers.Release(n)
	}, nil
}
