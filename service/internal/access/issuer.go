package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/service/internal/config"
)

// An issuer signs tokens, and has the keys by which they are checked. For each token, verify (token.go)
// finds the key. If it is time, find also has fetch load the keys (jwks.go).
type issuer struct {
	config config.Issuer
	cache  *keyCache // also that of the same issuer of the configuration before
	client *http.Client
	logger *slog.Logger
}

// A keyCache has the keys of an issuer. They are fetched for a token that comes when they are older than
// keysFreshFor, or that names an unknown key. Until that succeeds they stay in use, up to keysMaxAge.
type keyCache struct {
	fixed   bool // they are from a file: only a new configuration changes them
	fetches singleflight.Group
	waiting atomic.Int32 // callers that wait for a fetch

	mu     sync.Mutex
	set    jose.JSONWebKeySet
	loaded time.Time // when the fetch of the set began
	next   time.Time // no fetch begins before it
}

const (
	keysFreshFor = 10 * time.Minute
	keysMaxAge   = time.Hour
	fetchTime    = 5 * time.Second
	fetchPause   = time.Minute // between two fetches
	retryPause   = time.Second // after a fetch that failed, if no keys can be used

	maxWaiting = 500 // callers; they have no place yet, and each may have a large header
)

// newIssuer returns an issuer. It takes over the keys of old, unless old is nil or configured in
// another way. Keys in a file are read at once.
func newIssuer(c config.Issuer, old *issuer, logger *slog.Logger) (*issuer, error) {
	client, err := Client(c.CA)
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: %w", c.Issuer, err)
	}
	i := &issuer{config: c, cache: &keyCache{}, client: client, logger: logger}
	isFile := c.JWKS != "" && !isHTTPS(c.JWKS)
	switch {
	case isFile:
		i.cache.fixed = true
		i.cache.set, err = i.load(context.Background())
		if err != nil {
			return nil, fmt.Errorf("access: issuer %s: jwks: %w", c.Issuer, err)
		}
	case old != nil && old.config == c:
		i.cache = old.cache
	}
	return i, nil
}

// find returns the keys of a name, one or more. If it is time for a fetch, it waits for that, as the
// known keys may have been withdrawn.
func (i *issuer) find(ctx context.Context, name string) ([]jose.JSONWebKey, error) {
	found, fetched := i.lookUpAndRefresh(name)
	if fetched != nil && i.await(ctx, fetched) {
		found, _ = i.lookUpAndRefresh(name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("access: issuer %s has no key %.100q, or its keys can't be had now", i.config.Issuer, name)
	}
	return found, nil
}

// lookUpAndRefresh returns the known keys of a name. If it is time for a fetch, it begins one, or joins
// the one that is under way: fetched then says when the fetch has ended. Otherwise fetched is nil.
func (i *issuer) lookUpAndRefresh(name string) (found []jose.JSONWebKey, fetched <-chan singleflight.Result) {
	c := i.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	age := time.Since(c.loaded)
	if c.fixed || age <= keysMaxAge {
		found = c.set.Key(name)
	}
	wanted := len(found) == 0 || age > keysFreshFor
	if wanted && !c.fixed && !time.Now().Before(c.next) {
		// fetch locks mu, too: it runs in a goroutine of its own.
		fetched = c.fetches.DoChan("", func() (any, error) {
			i.fetch()
			return nil, nil
		})
	}
	return found, fetched
}

// await waits for the end of a fetch. It returns false if ctx ends first, or if too many callers wait already.
func (i *issuer) await(ctx context.Context, fetched <-chan singleflight.Result) bool {
	defer i.cache.waiting.Add(-1)
	if i.cache.waiting.Add(1) > maxWaiting {
		return false
	}
	select {
	case <-fetched:
		return true
	case <-ctx.Done():
		return false
	}
}

// fetch loads the keys. It does not end with the context of a caller, who may hang up.
func (i *issuer) fetch() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	began := time.Now()
	set, err := i.load(ctx)
	c := i.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.set = set
		c.loaded = began
		c.next = time.Now().Add(fetchPause)
		return
	}
	pause := fetchPause
	if time.Since(c.loaded) > keysMaxAge {
		pause = retryPause
	}
	c.next = time.Now().Add(pause)
	i.logger.Warn("keys of an issuer can't be had; those from before, if any, are used until they are an hour old",
		"issuer", i.config.Issuer, "error", err)
}
