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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/service/internal/config"
)

// algorithms are signatures by public keys only: with a shared key, whoever checks a token could
// also make one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// An issuer signs tokens, and has the keys by which they are checked.
type issuer struct {
	config config.Issuer
	*keys
	client *http.Client
	logger *slog.Logger
}

// keys are the keys of an issuer. They are fetched again for a token that comes when they are older than
// keysFresh, or that names an unknown key. Until that succeeds they stay in use, up to keysLast.
type keys struct {
	fetches singleflight.Group
	waiting atomic.Int32 // callers that wait for a fetch

	mu     sync.Mutex
	set    jose.JSONWebKeySet
	loaded time.Time // when the fetch of the set began
	next   time.Time // no fetch begins before it
}

const (
	keysFresh = 10 * time.Minute
	keysLast  = time.Hour
	keysPause = time.Minute // between two fetches
	keysRetry = time.Second // after a fetch that failed, if no keys can be used
	fetchTime = 5 * time.Second
	leeway    = 30 * time.Second // by which clocks may differ

	maxWaiting = 500     // callers; they have no place yet, and each may have a large header
	maxAnswer  = 1 << 20 // bytes that are read from a URL
)

// never is when the keys in a file get old, and when they are fetched again.
var never = time.Unix(1<<40, 0)

// newIssuer returns an issuer. It takes over the keys of old, unless old is nil or configured in
// another way. Keys in a file are read at once.
func newIssuer(c config.Issuer, old *issuer, logger *slog.Logger) (*issuer, error) {
	client, err := Client(c.CA)
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: %w", c.Issuer, err)
	}
	i := &issuer{config: c, keys: &keys{}, client: client, logger: logger}
	if old != nil && old.config == c {
		i.keys = old.keys
	}
	if c.JWKS == "" || isURL(c.JWKS) {
		return i, nil
	}
	set, err := i.load(context.Background())
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: jwks: %w", c.Issuer, err)
	}
	i.keys = &keys{set: set, loaded: never, next: never} // only a new configuration changes them
	return i, nil
}

// verify returns the subject of a token if its signature, issuer, audience and times are right. A
// token without an expiry is refused.
func (p *Policy) verify(ctx context.Context, raw string) (account config.ServiceAccount, err error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return account, errors.New("access: token can't be read as a JWT signed by a public key")
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil { // only to find the issuer
		return account, errors.New("access: token has no claims")
	}
	i, ok := p.issuers[claims.Issuer]
	if !ok {
		return account, fmt.Errorf("access: issuer %.100q is not known", claims.Issuer)
	}
	candidates, err := i.find(ctx, token.Headers[0].KeyID)
	if err != nil {
		return account, err
	}
	signed := slices.ContainsFunc(candidates, func(key jose.JSONWebKey) bool {
		return token.Claims(key.Key, &claims) == nil
	})
	if !signed {
		return account, fmt.Errorf("access: token of %s: its signature is not that of its key",
			i.config.Issuer)
	}
	if err := i.validate(claims); err != nil {
		return account, fmt.Errorf("access: token of %s: %w", i.config.Issuer, err)
	}
	return config.ServiceAccount{Issuer: claims.Issuer, Subject: claims.Subject}, nil
}

// validate checks the claims of a token whose signature is right.
func (i *issuer) validate(claims jwt.Claims) error {
	want := jwt.Expected{
		Issuer:      i.config.Issuer,
		AnyAudience: jwt.Audience{i.config.Audience},
		Time:        time.Now(),
	}
	if err := claims.ValidateWithLeeway(want, leeway); err != nil {
		return err
	}
	if claims.Expiry == nil {
		return errors.New("it has no end")
	}
	return nil
}

// find returns the keys of a name, one or more. If it is time for a fetch, it waits for that, as the
// known keys may have been withdrawn.
func (i *issuer) find(ctx context.Context, name string) ([]jose.JSONWebKey, error) {
	found, fetched := i.lookUp(name)
	if fetched != nil && i.wait(ctx, fetched) {
		found, _ = i.lookUp(name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("access: issuer %s has no key %.100q, or its keys can't be had now",
			i.config.Issuer, name)
	}
	return found, nil
}

// lookUp returns the known keys of a name. If it is time for a fetch, it begins one, or joins the
// one that is under way: fetched then says when the fetch has ended. Otherwise fetched is nil.
func (i *issuer) lookUp(name string) (found []jose.JSONWebKey, fetched <-chan singleflight.Result) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := time.Since(i.loaded)
	if age <= keysLast {
		found = i.set.Key(name)
	}
	wanted := len(found) == 0 || age > keysFresh
	if wanted && !time.Now().Before(i.next) {
		fetched = i.fetches.DoChan("", func() (any, error) {
			i.fetch()
			return nil, nil
		})
	}
	return found, fetched
}

// wait waits for the end of a fetch. It returns false if ctx ends first, or if too many callers
// wait already.
func (i *issuer) wait(ctx context.Context, fetched <-chan singleflight.Result) bool {
	defer i.waiting.Add(-1)
	if i.waiting.Add(1) > maxWaiting {
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
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.set = set
		i.loaded = began
		i.next = time.Now().Add(keysPause)
		return
	}
	pause := keysPause
	if time.Since(i.loaded) > keysLast {
		pause = keysRetry
	}
	i.next = time.Now().Add(pause)
	i.logger.Warn("keys of an issuer can't be had; those from before, if any, are used until they are an hour old",
		"issuer", i.config.Issuer, "error", err)
}

// load reads the keys for signatures. It leaves out keys that it can't read: they may be of a kind
// of the future.
func (i *issuer) load(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	from := i.config.JWKS
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

// discover asks the issuer for the URL of its keys. The answer must name the same issuer, and an
// https URL.
func (i *issuer) discover(ctx context.Context) (url string, err error) {
	var found struct {
		Issuer string
		JWKS   string `json:"jwks_uri"`
	}
	at := strings.TrimSuffix(i.config.Issuer, "/") + "/.well-known/openid-configuration"
	if err := i.read(ctx, at, &found); err != nil {
		return "", err
	}
	if found.Issuer != i.config.Issuer || !isURL(found.JWKS) {
		return "", fmt.Errorf("access: discovery answers with issuer %.100q and keys at %.100q: "+
			"want this issuer, and an https URL", found.Issuer, found.JWKS)
	}
	return found.JWKS, nil
}

// isURL reports whether keys are at a URL, and not in a file.
func isURL(place string) bool { return strings.HasPrefix(place, "https:") }

// read reads the JSON of a file, or of a URL.
func (i *issuer) read(ctx context.Context, from string, into any) error {
	if isURL(from) {
		return i.get(ctx, from, into)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// get reads the JSON of a URL, with the issuer's token if it has one.
func (i *issuer) get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if i.config.TokenFile != "" {
		token, err := os.ReadFile(i.config.TokenFile)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("access: %s answers %s", url, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into)
}
