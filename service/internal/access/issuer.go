package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/service/internal/config"
)

// algorithms are signatures by public keys only: with a shared key, everyone who checks a token could also make one.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// An issuer has the keys by which tokens are checked. It fetches them when a token names an unknown key, at most once a
// minute, and once an hour, so that withdrawn keys stop working.
type issuer struct {
	config.Issuer
	client *http.Client

	mu     sync.Mutex
	keys   jose.JSONWebKeySet
	loaded time.Time // the keys
	tried  time.Time
}

const (
	keysLast  = time.Hour
	keysPause = time.Minute
	leeway    = 30 * time.Second // by which clocks may differ
)

func newIssuer(c config.Issuer) (*issuer, error) {
	i := &issuer{Issuer: c, client: &http.Client{Timeout: 5 * time.Second}}
	if c.CA == "" {
		return i, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("access: issuer %s: ca: %w", c.Issuer, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("access: issuer %s: ca: %s has no certificate: want PEM", c.Issuer, c.CA)
	}
	i.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return i, nil
}

// verify returns the subject of a token if its signature, issuer, audience and times are right. A token without an
// expiry is refused.
func (p *Policy) verify(ctx context.Context, raw string) (account config.ServiceAccount, err error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil || len(token.Headers) != 1 {
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

// find returns the keys of this name, one or more.
func (i *issuer) find(ctx context.Context, name string) ([]jose.JSONWebKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	missing := fmt.Errorf("access: issuer %s has no key %.100q", i.Issuer.Issuer, name)
	stale := time.Since(i.loaded) > keysLast
	if found := i.keys.Key(name); len(found) > 0 && !stale {
		return found, nil
	}
	if time.Since(i.tried) > keysPause {
		i.tried = time.Now()
		if keys, err := i.load(ctx); err == nil {
			i.keys, i.loaded = keys, time.Now()
		} else {
			missing = fmt.Errorf("access: keys of issuer %s: %w", i.Issuer.Issuer, err)
		}
	}
	if found := i.keys.Key(name); len(found) > 0 {
		return found, nil
	}
	return nil, missing
}

// load reads the keys, at most a megabyte.
func (i *issuer) load(ctx context.Context) (keys jose.JSONWebKeySet, err error) {
	var source io.ReadCloser
	if strings.HasPrefix(i.JWKS, "https:") {
		source, err = i.ask(ctx)
	} else {
		source, err = os.Open(i.JWKS)
	}
	if err != nil {
		return keys, err
	}
	defer source.Close()
	return keys, json.NewDecoder(io.LimitReader(source, 1<<20)).Decode(&keys)
}

func (i *issuer) ask(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.JWKS, nil)
	if err != nil {
		return nil, err
	}
	if i.TokenFile != "" {
		token, err := os.ReadFile(i.TokenFile)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := i.client.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		err = fmt.Errorf("access: %s answers %s", i.JWKS, answer.Status)
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}
