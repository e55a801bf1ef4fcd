package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/service/internal/config"
)

// algorithms are signatures by public keys only: with a shared key, everyone who checks a token could also make one.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// An issuer has the keys by which tokens are checked.
type issuer struct {
	config.Issuer
	*keys
	client *http.Client
	logger *slog.Logger
}

// keys are the keys of an issuer. They are fetched again when they are older than keysFresh, and when a token names an
// unknown key; meanwhile the known ones are used, until they are older than keysLast.
type keys struct {
	fetches singleflight.Group
	waiting atomic.Int32 // callers, for a fetch

	mu     sync.Mutex
	set    jose.JSONWebKeySet
	loaded time.Time // when the set was asked for
	next   time.Time // no fetch before it
}

const (
	keysFresh = 10 * time.Minute
	keysLast  = time.Hour
	keysPause = time.Minute // between two fetches
	keysRetry = time.Second // after one that failed, without keys that can be used
	fetchTime = 5 * time.Second
	leeway    = 30 * time.Second // by which clocks may differ

	maxWaiting = 500 // callers, who have no place yet: each may have a large header
)

var never = time.Unix(1<<40, 0)

// newIssuer returns an issuer with the keys that old had, unless it is nil or another one. Keys in a file are read at
// once.
func newIssuer(c config.Issuer, old *issuer, logger *slog.Logger) (*issuer, error) {
	client, err := Client(c.CA)
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: %w", c.Issuer, err)
	}
	i := &issuer{Issuer: c, keys: &keys{}, client: client, logger: logger}
	if old != nil && old.Issuer == c {
		i.keys = old.keys
	}
	if c.JWKS == "" || isURL(c.JWKS) {
		return i, nil
	}
	set, err := i.load(context.Background())
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: jwks: %w", c.Issuer, err)
	}
	i.keys = &keys{set: set, loaded: never, next: never} // they change with the configuration alone
	return i, nil
}

// verify returns the subject of a token if its signature, issuer, audience and times are right. A token without an
// expiry is refused.
func (p *Policy) verify(ctx context.Context, raw string) (account config.ServiceAccount, err error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return account, errors.New("access: token can't be read as a JWT signed by a public key")
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return account, errors.New("access: token has no claims")
	}
	i, ok := p.issuers[claims.Issuer]
	if !ok {
		return account, fmt.Errorf("access: issuer %.100q is not known", claims.Issuer)
	}
	keys, err := i.find(ctx, token.Headers[0].KeyID)
	if err != nil {
		return account, err
	}
	for _, key := range keys {
		if err = token.Claims(key.Key, &claims); err == nil {
			break
		}
	}
	if err != nil {
		return account, fmt.Errorf("access: token of %s: its signature is not that of its key", i.Issuer.Issuer)
	}
	err = claims.ValidateWithLeeway(jwt.Expected{Issuer: i.Issuer.Issuer, AnyAudience: jwt.Audience{i.Audience}, Time: time.Now()}, leeway)
	if err == nil && claims.Expiry == nil {
		err = errors.New("it has no end")
	}
	if err != nil {
		return account, fmt.Errorf("access: token of %s: %w", i.Issuer.Issuer, err)
	}
	return config.ServiceAccount{Issuer: claims.Issuer, Subject: claims.Subject}, nil
}

// find returns the keys of this name, one or more. It waits for a fetch only if there is no such key.
func (i *issuer) find(ctx context.Context, name string) (found []jose.JSONWebKey, err error) {
	i.mu.Lock()
	age := time.Since(i.loaded)
	if age <= keysLast {
		found = i.set.Key(name)
	}
	var fetched <-chan singleflight.Result
	if (len(found) == 0 || age > keysFresh) && !time.Now().Before(i.next) {
		fetched = i.fetches.DoChan("", func() (any, error) { i.fetch(); return nil, nil })
	}
	i.mu.Unlock()
	if len(found) > 0 {
		return found, nil
	}
	defer i.waiting.Add(-1)
	if i.waiting.Add(1) <= maxWaiting && fetched != nil {
		select {
		case <-fetched:
			return i.find(ctx, name) // which fetches no more for a while
		case <-ctx.Done():
		}
	}
	return nil, fmt.Errorf("access: issuer %s has no key %.100q, or its keys can't be had now", i.Issuer.Issuer, name)
}

// fetch loads the keys, in its own time and not that of a caller, who may hang up.
func (i *issuer) fetch() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	began := time.Now()
	set, err := i.load(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	pause := keysPause
	if err == nil {
		i.set = set
		i.loaded = began
	} else if time.Since(i.loaded) > keysLast {
		pause = keysRetry
	}
	i.next = time.Now().Add(pause)
	if err != nil {
		i.logger.Warn("keys of an issuer can't be had; those from before are used for an hour", "issuer", i.Issuer.Issuer, "error", err)
	}
}

// load reads the keys for signatures. It leaves out those that it can't read, as they may be of a kind of the future.
func (i *issuer) load(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	from := i.JWKS
	if from == "" {
		from, err = i.discover(ctx)
		if err != nil {
			return set, err
		}
	}
	var sent struct{ Keys []json.RawMessage }
	if err := i.read(ctx, from, &sent); err != nil {
		return set, err
	}
	if sent.Keys == nil {
		return set, fmt.Errorf("access: %s has no keys: want a set of JSON web keys", from)
	}
	for _, text := range sent.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && (key.Use == "" || key.Use == "sig") {
			set.Keys = append(set.Keys, key)
		}
	}
	return set, nil
}

// discover asks the issuer for the URL of its keys, which must be that of the same issuer, and https.
func (i *issuer) discover(ctx context.Context) (url string, err error) {
	var found struct {
		Issuer string
		JWKS   string `json:"jwks_uri"`
	}
	err = i.read(ctx, strings.TrimSuffix(i.Issuer.Issuer, "/")+"/.well-known/openid-configuration", &found)
	if err != nil {
		return "", err
	}
	if found.Issuer != i.Issuer.Issuer || !isURL(found.JWKS) {
		return "", fmt.Errorf("access: discovery answers with issuer %.100q and keys at %.100q: want this issuer, and an https URL", found.Issuer, found.JWKS)
	}
	return found.JWKS, nil
}

// isURL reports whether keys are at a URL, and not in a file.
func isURL(place string) bool { return strings.HasPrefix(place, "https:") }

// read reads the JSON of a file, or of a URL at most a megabyte.
func (i *issuer) read(ctx context.Context, from string, into any) error {
	if !isURL(from) {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err == nil && i.TokenFile != "" {
		var token []byte
		token, err = os.ReadFile(i.TokenFile)
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if err != nil {
		return err
	}
	answer, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("access: %s answers %s", from, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(into)
}
