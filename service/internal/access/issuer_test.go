package access

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/service/internal/config"
)

const issuerURL = "https://issuer.example/path"

// A signer is an issuer of tokens within the test's time, with as many keys as names.
type signer struct {
	*testing.T
	*Policy
	config *config.Config
	log    bytes.Buffer
	key    *ecdsa.PrivateKey

	mu     sync.Mutex
	served []jose.JSONWebKey // what it answers with; nil is an error
	delay  time.Duration     // of an answer
	asked  []string          // URLs
	found  string            // what discovery says
	moved  string            // where the first URL redirects to
	wants  string            // credentials
}

func newSigner(t *testing.T, jwks string) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{T: t, key: key, found: issuerURL, config: &config.Config{
		Issuers:    []config.Issuer{{Issuer: issuerURL, Audience: "randflaked", JWKS: jwks}},
		Principals: []config.Principal{{Name: "web", ServiceAccount: &config.ServiceAccount{Issuer: issuerURL, Subject: "web"}}}}}
	s.serve("one")
	s.Policy = &Policy{}
	s.reload()
	return s
}

// reload makes the policy that follows.
func (s *signer) reload() {
	s.Helper()
	p, err := New(s.config, nil, s.Policy, slog.New(slog.NewTextHandler(&s.log, nil)))
	if err != nil {
		s.Fatal(err)
	}
	s.Policy = p
	p.issuers[issuerURL].client.Transport = s
}

func (s *signer) serve(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = nil
	for _, name := range names {
		name, use, _ := strings.Cut(name, " ")
		s.served = append(s.served, jose.JSONWebKey{Key: s.key.Public(), KeyID: name, Use: use})
	}
}

func (s *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	served, delay := s.served, s.delay
	s.asked = append(s.asked, r.URL.String())
	s.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.moved != "" && r.URL.String() != s.moved {
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {s.moved}}, Body: http.NoBody}, nil
	}
	if served == nil {
		return nil, errors.New("dial tcp 10.1.2.3:443: connection refused")
	}
	if r.Header.Get("Authorization") != s.wants {
		return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
	}
	text, _ := json.Marshal(jose.JSONWebKeySet{Keys: served})
	text = append([]byte(`{"keys":[{"kty":"of the future"},`), text[len(`{"keys":[`):]...)
	if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		text, _ = json.Marshal(map[string]string{"issuer": s.found, "jwks_uri": "https://keys.example/set"})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(text))}, nil
}

func (s *signer) fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// sign returns a token with a good token's claims, after change.
func (s *signer) sign(algorithm jose.SignatureAlgorithm, key any, name string, change func(*jwt.Claims)) string {
	claims := jwt.Claims{Issuer: issuerURL, Subject: "web", Audience: jwt.Audience{"other", "randflaked"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	change(&claims)
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: name}}, nil)
	if err != nil {
		s.Fatal(err)
	}
	token, err := jwt.Signed(made).Claims(claims).Serialize()
	if err != nil {
		s.Fatal(err)
	}
	return token
}

// identify returns who has sent a request with a header. Strangers may learn nothing, and the log not the token.
func (s *signer) identify(ctx context.Context, header string) (string, error) {
	r := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(ctx)
	r.Header.Set("Authorization", header)
	who, err := s.Identify(r)
	if err != nil && (!errors.Is(err, ErrUnknown) || strings.HasPrefix(header, "Bearer ") && err.Error() != (refusedToken{}).Error() || strings.Contains(Why(err), header[7:])) {
		s.Errorf("%s: a stranger is told %v, and the log %v", header, err, Why(err))
	}
	return who, err
}

// call returns the error of a call with a token that names a key.
func (s *signer) call(ctx context.Context, name string) error {
	_, err := s.identify(ctx, "Bearer "+s.sign(jose.ES256, s.key, name, func(*jwt.Claims) {}))
	return err
}

func (s *signer) good() {
	s.Helper()
	if err := s.call(s.Context(), "one"); err != nil {
		s.Errorf("a good token: %v", err)
	}
}

func (s *signer) bad(what, name string) {
	s.Helper()
	if err := s.call(s.Context(), name); !errors.Is(err, ErrUnknown) {
		s.Errorf("%s: error %v", what, err)
	}
}

// hangUp calls with a key that is not there, and hangs up a moment later.
func (s *signer) hangUp() {
	ctx, cancel := context.WithTimeout(s.Context(), time.Millisecond)
	defer cancel()
	s.call(ctx, "made-up")
}

// TestServiceAccounts: a token is good when its signature, issuer, audience, subject and times are.
func TestServiceAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := newSigner(t, keysURL), newSigner(t, keysURL)
		as := func(change func(*jwt.Claims)) string { return "Bearer " + s.sign(jose.ES256, s.key, "one", change) }
		good := as(func(*jwt.Claims) {})
		for what, header := range map[string]string{
			"another audience":             as(func(c *jwt.Claims) { c.Audience = jwt.Audience{"other"} }),
			"no audience":                  as(func(c *jwt.Claims) { c.Audience = nil }),
			"another issuer":               as(func(c *jwt.Claims) { c.Issuer = "https://other" }),
			"another subject":              as(func(c *jwt.Claims) { c.Subject = "db" }),
			"over":                         as(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Minute)) }),
			"not yet":                      as(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(time.Now().Add(time.Minute)) }),
			"without an end":               as(func(c *jwt.Claims) { c.Expiry = nil }),
			"another key of the same name": "Bearer " + s.sign(jose.ES256, other.key, "one", func(*jwt.Claims) {}),
			"a key that is not there":      "Bearer " + s.sign(jose.ES256, s.key, "two", func(*jwt.Claims) {}),
			"a shared key":                 "Bearer " + s.sign(jose.HS256, make([]byte, 32), "one", func(*jwt.Claims) {}),
			"a signature cut off":          good[:strings.LastIndex(good, ".")+1],
			"nonsense":                     "Bearer a.b.c",
			"a password":                   "Basic d2ViOndlYg==",
		} {
			if who, err := s.identify(t.Context(), header); err == nil {
				t.Errorf("%s: %+v", what, who)
			}
		}
		if who, err := s.identify(t.Context(), good); err != nil || who != "web" {
			t.Errorf("a good one: %+v, %v", who, err)
		}
		if n := s.fetches(); n != 1 {
			t.Errorf("the keys were asked for %d times, want once a minute at most", n)
		}
	})
}

// TestKeysForSome: an issuer may want a token of the service's own, and have a certificate of its own authority.
func TestKeysForSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, file := newSigner(t, keysURL), filepath.Join(t.TempDir(), "file")
		write := func(text []byte) {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write([]byte("pod-token\n"))
		s.wants = "Bearer pod-token"
		s.bad("a key of an issuer that wants a token", "one")
		s.config.Issuers[0].TokenFile = file
		s.reload()
		s.good()
		ours := servers.NewAuthority()
		write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.Certificate.Certificate[0]}))
		i, err := newIssuer(config.Issuer{Issuer: issuerURL, CA: file}, nil, slog.New(slog.DiscardHandler))
		if err != nil || !i.client.Transport.(*http.Transport).TLSClientConfig.RootCAs.Equal(servers.Pool(ours)) {
			t.Errorf("the authority of %+v, %v: want that of the file", i, err)
		}
	})
}

const keysURL = "https://keys.example/set"

// TestMadeUpKey: a call that names a made-up key and hangs up keeps no good token out, delays none, keeps no withdrawn key in use, and
// causes one fetch a minute at most.
func TestMadeUpKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		s.delay = 3 * time.Second
		s.hangUp()
		s.good() // waits for the fetch
		for range 5 {
			time.Sleep(2 * time.Minute)
			began, before := time.Now(), s.fetches()
			s.hangUp()
			s.good()
			if took := time.Since(began); took > time.Second || s.fetches() != before+1 {
				t.Errorf("a known key was delayed for %v by a fetch; %d fetches", took, s.fetches()-before)
			}
		}
		time.Sleep(time.Minute)
		before := s.fetches()
		for range 10 * 60 {
			s.hangUp()
			time.Sleep(time.Second)
		}
		if n := s.fetches() - before; n > 11 {
			t.Errorf("%d fetches in ten minutes", n)
		}
		s.serve("two")
		for range 11 {
			s.hangUp()
			time.Sleep(time.Minute)
		}
		s.bad("a key that was withdrawn 11 minutes ago", "one")
		time.Sleep(time.Hour)
	})
}

// TestCrowd: so many callers wait for keys at a time, and more are refused at once.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := newSigner(t, keysURL), time.Now()
		s.delay = 3 * time.Second
		var refused atomic.Int64
		var all sync.WaitGroup
		for range maxWaiting + 10 {
			all.Go(func() {
				if s.call(t.Context(), "made-up"); time.Now().Equal(began) {
					refused.Add(1)
				}
			})
		}
		if all.Wait(); refused.Load() != 10 {
			t.Errorf("%d refused at once, want 10", refused.Load())
		}
	})
}

// TestKeysAge: known keys are used while the issuer is away, for an hour; fetches back off; and once it is there again, its tokens are good.
func TestKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		s.good()
		s.serve()
		for range 58 {
			time.Sleep(time.Minute)
			s.hangUp()
			s.good()
		}
		time.Sleep(3 * time.Minute)
		before := s.fetches()
		for range 10 * 60 {
			s.hangUp()
			s.bad("a key of an issuer that was away for an hour", "one")
			time.Sleep(time.Second)
		}
		if n := s.fetches() - before; n < 5 || n > 16 {
			t.Errorf("%d fetches in ten minutes without keys", n)
		}
		s.serve("one")
		time.Sleep(time.Minute)
		s.good()
		if !strings.Contains(s.log.String(), "10.1.2.3") {
			t.Error("the log does not say why there are no keys")
		}
	})
}

// TestKeysOfReload: a reload keeps the keys of an issuer that has not changed; only keys for signatures count.
func TestKeysOfReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		s.serve("one sig", "three enc")
		s.good()
		s.bad("a key for encryption", "three")
		s.serve()
		s.reload()
		s.good()
		s.config.Issuers[0].JWKS += "/2"
		s.reload()
		s.bad("the key of another set", "one")
	})
}

// TestDiscovery: without jwks an issuer says where its keys are, if it is that issuer. No redirect leads elsewhere.
func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, "")
		s.good()
		if want := issuerURL + "/.well-known/openid-configuration " + keysURL; strings.Join(s.asked, " ") != want {
			t.Errorf("asked %q, want %s", s.asked, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, "")
		s.found = "https://issuer.example"
		s.bad("keys that another issuer told of", "one")
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		s.moved = "http://keys.example/set"
		s.bad("keys from a URL that is not https", "one")
	})
}

// TestKeysInFile: keys in a file are read with the configuration, which is refused if that can't be done. What changes there is not
// used before a reload, whatever tokens name, and the keys from before stay good as long as there is none.
func TestKeysInFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "keys")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(`{"keys":[]}`)
		s := newSigner(t, file)
		s.bad("a key that is not there", "one")
		text, _ := json.Marshal(jose.JSONWebKeySet{Keys: s.served})
		write(string(text))
		time.Sleep(2 * time.Minute)
		s.bad("a key that came without a reload", "one")
		s.reload()
		s.good()
		for _, wrong := range []string{"", "{}", "keys"} {
			write(wrong)
			if _, err := New(s.config, nil, s.Policy, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "jwks") {
				t.Errorf("keys %q: error %v", wrong, err)
			}
			s.good()
		}
		write(`{"keys":[]}`)
		time.Sleep(2 * time.Hour)
		s.good()
	})
}
