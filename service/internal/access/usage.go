package access

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/randflake/randflake/lease"
)

// Usage counts the calls and leases of principals, as far as this process knows them. It is safe for concurrent use.
type Usage struct {
	mu     sync.Mutex
	rates  map[user]*rate.Limiter
	leases map[user]map[lease.Token]int64 // the last second of each
}

type user struct{ principal, space string }

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{rates: map[user]*rate.Limiter{}, leases: map[user]map[lease.Token]int64{}}
}

// Call reports whether a principal may call now, under a limit of calls a second, and counts the call. The burst is one
// second's calls.
func (u *Usage) Call(principal, space string, perSecond float64) bool {
	if perSecond == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key := user{principal, space}
	if u.rates[key] == nil {
		u.rates[key] = rate.NewLimiter(0, 0)
	}
	if l := u.rates[key]; l.Limit() != rate.Limit(perSecond) {
		u.rates[key] = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return u.rates[key].Allow()
}

// Reserve reports whether a principal may take one more lease, with most at a time, and counts it for ttl. A retry with
// the same owner token does not count twice.
func (u *Usage) Reserve(principal, space string, owner lease.Token, most int, ttl time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	held := u.of(principal, space)
	maps.DeleteFunc(held, func(_ lease.Token, last int64) bool { return last < now.Unix() })
	if _, again := held[owner]; !again && most > 0 && len(held) >= most {
		return false
	}
	held[owner] = max(held[owner], now.Add(ttl).Unix())
	return true
}

// of returns the leases of a principal. It is called with mu held.
func (u *Usage) of(principal, space string) map[lease.Token]int64 {
	key := user{principal, space}
	if u.leases[key] == nil {
		u.leases[key] = map[lease.Token]int64{}
	}
	return u.leases[key]
}

// Holds notes that a principal has a lease.
func (u *Usage) Holds(principal, space string, r lease.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of(principal, space)[r.Owner] = r.HighWater
}

// Ends notes that a principal no longer has a lease.
func (u *Usage) Ends(principal, space string, owner lease.Token) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.leases[user{principal, space}], owner)
}

// Holder returns the principal that has the lease of an owner token, or "" if this process does not know it.
func (u *Usage) Holder(space string, owner lease.Token) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	for who, held := range u.leases {
		if _, ok := held[owner]; ok && who.space == space {
			return who.principal
		}
	}
	return ""
}
