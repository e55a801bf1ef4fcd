package access

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/service/internal/config"
)

const (
	issuerURL    = "https://issuer.example/path"
	discoveryURL = issuerURL + "/.well-known/openid-configuration"
	keysURL      = "https://keys.example/set"
)

// A signer is an issuer of tokens, and the policy that knows it. The policy reaches it by RoundTrip, in the
// time of a bubble. It has one key, which it can serve under several names.
type signer struct {
	*testing.T
	*Policy
	config *config.Config
	log    bytes.Buffer
	key    *ecdsa.PrivateKey

	mu     sync.Mutex
	served []jose.JSONWebKey // its keys; nil while it is away
	delay  time.Duration     // of each answer
	asked  []string          // the URLs that were asked for
	moved  string            // the URL to which all others redirect, or ""
	wants  string            // the credentials that a request must have
	says   string            // what it answers in place of its keys, or ""
	found  [2]string         // what discovery says: the issuer, and the URL of its keys
	open   atomic.Int64      // how many answers were not closed
}

// A body is that of an answer.
type body struct {
	io.Reader
	of *signer
}

func (b body) Close() error {
	b.of.open.Add(-1)
	return nil
}

// signing runs a test of an issuer whose keys are at a URL.
func signing(t *testing.T, run func(t *testing.T, s *signer)) {
	synctest.Test(t, func(t *testing.T) { run(t, newSigner(t, keysURL)) })
}

func newSigner(t *testing.T, jwks string) *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tokens := []config.Token{{Issuer: issuerURL, Subject: "db"}, {Issuer: issuerURL, Subject: "web"}}
	s := &signer{
		T:      t,
		Policy: &Policy{},
		config: &config.Config{
			Issuers:    []config.Issuer{{Issuer: issuerURL, Audience: "randflaked", JWKS: jwks}},
			Principals: []config.Principal{{Name: "web", Tokens: tokens}},
		},
		key:   key,
		found: [2]string{issuerURL, keysURL},
	}
	s.serve("one")
	s.reload()
	t.Cleanup(func() {
		require.Equal(t, s.open.Load(), 0, "answers of the issuer stay open, and so do their connections")
	})
	return s
}

// reload makes the policy that follows.
func (s *signer) reload() {
	s.Helper()
	p, err := New(s.config, s.Policy, slog.New(slog.NewTextHandler(&s.log, nil)))
	require.NoError(s, err)
	s.Policy = p
	p.issuers[issuerURL].client.Transport = s
}

// serve has the issuer serve its key under these names. What follows in a name is the key's use: "one sig".
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
	switch {
	case s.moved != "" && r.URL.String() != s.moved:
		return &http.Response{
			StatusCode: http.StatusTemporaryRedirect,
			Header:     http.Header{"Location": {s.moved}},
			Body:       http.NoBody,
		}, nil
	case served == nil:
		return nil, errors.New("dial tcp 10.1.2.3:443: connection refused")
	case r.Header.Get("Authorization") != s.wants:
		return s.answer(http.StatusForbidden, ""), nil
	case r.URL.String() == discoveryURL:
		return s.answer(http.StatusOK, fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, s.found[0], s.found[1])), nil
	case s.says != "":
		return s.answer(http.StatusOK, s.says), nil
	}
	return s.answer(http.StatusOK, s.text(served)), nil
}

func (s *signer) answer(status int, text string) *http.Response {
	s.open.Add(1)
	return &http.Response{StatusCode: status, Body: body{strings.NewReader(text), s}}
}

// text returns a set of keys, after one of a kind that is not known.
func (s *signer) text(keys []jose.JSONWebKey) string {
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	require.NoError(s, err)
	return strings.Replace(string(text), `{"keys":[`, `{"keys":[{"kty":"of the future"},`, 1)
}

func (s *signer) fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// later returns a time from now on, as claims have it.
func later(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(time.Now().Add(d)) }

// signer returns what signs tokens by a key, and says the key's name in them.
func (s *signer) signer(algorithm jose.SignatureAlgorithm, key any, name string) jose.Signer {
	named := jose.JSONWebKey{Key: key, KeyID: name}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: named}, nil)
	require.NoError(s, err)
	return made
}

// sign returns a token with a good token's claims, after change.
func (s *signer) sign(algorithm jose.SignatureAlgorithm, key any, name string, change func(*jwt.Claims)) string {
	claims := jwt.Claims{
		Issuer:   issuerURL,
		Subject:  "web",
		Audience: jwt.Audience{"other", "randflaked"},
		Expiry:   later(time.Hour),
	}
	change(&claims)
	token, err := jwt.Signed(s.signer(algorithm, key, name)).Claims(claims).Serialize()
	require.NoError(s, err)
	return token
}

// claiming returns a signed token whose claims are any text.
func (s *signer) claiming(text string) string {
	signed, err := s.signer(jose.ES256, s.key, "one").Sign([]byte(text))
	require.NoError(s, err)
	token, err := signed.CompactSerialize()
	require.NoError(s, err)
	return token
}

// identify returns who sent a request with this header. If that is not known, it checks that the error
// tells the stranger nothing, and that the log does not have the token.
func (s *signer) identify(ctx context.Context, header string) (string, error) {
	r := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(ctx)
	r.Header.Set("Authorization", header)
	who, err := s.Identify(r)
	if err == nil {
		return who, nil
	}
	isToken := strings.HasPrefix(header, "Bearer ")
	saysMore := isToken && err.Error() != (refusedToken{}).Error()
	require.That(s, errors.Is(err, ErrUnknown) && !saysMore && !strings.Contains(Why(err), header[7:]),
		"%s: a stranger is told %v, and the log %v", header, err, Why(err))
	return who, err
}

func asIs(*jwt.Claims) {}

// call returns the error of a call with a token that names a key.
func (s *signer) call(ctx context.Context, name string) error {
	_, err := s.identify(ctx, "Bearer "+s.sign(jose.ES256, s.key, name, asIs))
	return err
}

// good checks that a good token is taken.
func (s *signer) good() {
	s.Helper()
	require.Equal(s, s.call(s.Context(), "one"), nil, "a good token")
}

// bad checks that a token is refused that names this key.
func (s *signer) bad(what, name string) {
	s.Helper()
	require.ErrorIs(s, s.call(s.Context(), name), ErrUnknown, "%s", what)
}

// hangUp calls with a key that is not there, and hangs up a moment later.
func (s *signer) hangUp() {
	ctx, cancel := context.WithTimeout(s.Context(), time.Millisecond)
	defer cancel()
	s.call(ctx, "made-up")
}

// TestSignedTokens: a token is good when its signature, issuer, audience, subject and times are.
// The log says what is wrong.
func TestSignedTokens(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		other := newSigner(t, keysURL)
		third := newSigner(t, keysURL)
		s.served = slices.Concat(third.served, s.served, third.served) // of one name
		as := func(change func(*jwt.Claims)) string { return "Bearer " + s.sign(jose.ES256, s.key, "one", change) }
		good := as(asIs)
		second := filepath.Join(t.TempDir(), "keys")
		require.NoError(t, os.WriteFile(second, []byte(s.text(other.served)), 0o600))
		s.config.Issuers = append(s.config.Issuers, config.Issuer{Issuer: "https://second", Audience: "randflaked", JWKS: second})
		s.reload()
		for _, tt := range []struct{ what, header, why string }{
			{"another audience", as(func(c *jwt.Claims) { c.Audience = jwt.Audience{"other"} }), "audience"},
			{"no audience", as(func(c *jwt.Claims) { c.Audience = nil }), "audience"},
			{"another issuer", as(func(c *jwt.Claims) { c.Issuer = "https://other" }), `issuer "https://other" is not known`},
			{"the subject by a second issuer", "Bearer " + s.sign(jose.ES256, other.key, "one", func(c *jwt.Claims) { c.Issuer = "https://second" }),
				`no principal has tokens of the subject "web" of "https://second"`},
			{"another subject", as(func(c *jwt.Claims) { c.Subject = "mail" }), `no principal has tokens of the subject "mail"`},
			{"over", as(func(c *jwt.Claims) { c.Expiry = later(-40 * time.Second) }), "expired"},
			{"not yet", as(func(c *jwt.Claims) { c.NotBefore = later(40 * time.Second) }), "not valid yet"},
			{"without an end", as(func(c *jwt.Claims) { c.Expiry = nil }), "it has no expiry"},
			{"another key of the same name", "Bearer " + s.sign(jose.ES256, other.key, "one", asIs), "its signature is not that of its key"},
			{"a key that is not there", "Bearer " + s.sign(jose.ES256, s.key, "two", asIs), `has no key "two"`},
			{"a shared key", "Bearer " + s.sign(jose.HS256, make([]byte, 32), "one", asIs), "token can't be read"},
			{"a signature cut off", good[:strings.LastIndex(good, ".")+1], "its signature is not that of its key"},
			{"nonsense", "Bearer a.b.c", "token can't be read"},
			{"claims that are none", "Bearer " + s.claiming("none"), "token has no claims"},
			{"no JWT", "Bearer nonsense", "no principal has this token"},
			{"a password", "Basic d2ViOndlYg==", "want Bearer and a token"},
		} {
			who, err := s.identify(t.Context(), tt.header)
			require.That(t, err != nil && strings.Contains(Why(err), tt.why),
				"%s: %q, and the log says %v, want %s", tt.what, who, err, tt.why)
		}
		for what, header := range map[string]string{
			"a good one":                       good,
			"over for less than clocks differ": as(func(c *jwt.Claims) { c.Expiry = later(-20 * time.Second) }),
		} {
			require.Gives(t, "web", "%s", what)(s.identify(t.Context(), header))
		}
		n := s.fetches()
		require.That(t, n == 1, "the keys were asked for %d times, want once a minute at most", n)
	})
}

// TestKeysForSome: an issuer may want a token of the service's own, and have a certificate of its own authority.
func TestKeysForSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		file := filepath.Join(t.TempDir(), "file")
		write := func(text []byte) {
			require.NoError(t, os.WriteFile(file, text, 0o600))
		}
		write([]byte("pod-token\n"))
		s.wants = "Bearer pod-token"
		s.bad("a key of an issuer that wants a token", "one")
		s.config.Issuers[0].TokenFile = file
		s.reload()
		s.good()
		s.config.Issuers[0].TokenFile = file + "-missing"
		s.reload()
		s.bad("a key for which the service's token is missing", "one")
		require.Contains(t, s.log.String(), "file-missing: no such file", "the log, as the token is missing")
		ours := servers.NewAuthority()
		write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.Certificate.Certificate[0]}))
		i, err := newIssuer(config.Issuer{Issuer: issuerURL, JWKS: keysURL, CA: file}, nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		transport := i.client.Transport.(*http.Transport)
		require.That(t, transport.TLSClientConfig.RootCAs.Equal(servers.Pool(ours)) && transport.Proxy != nil,
			"want the authority of the file, and the proxy of the environment")
		for _, wrong := range []string{"", "-missing"} {
			write([]byte("no certificate"))
			c := config.Issuer{Issuer: issuerURL, CA: file + wrong}
			if _, err := newIssuer(c, nil, slog.New(slog.DiscardHandler)); err == nil {
				t.Errorf("an authority in the file%s, which has no certificate: no error", wrong)
			}
		}
	})
}

// TestAuthorities: a file of authorities has certificates, one at least, and nothing else.
func TestAuthorities(t *testing.T) {
	one := servers.NewAuthority()
	two := servers.NewAuthority()
	block := func(kind string, of []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: of}))
	}
	first := block("CERTIFICATE", one.Certificate.Certificate[0])
	second := block("CERTIFICATE", two.Certificate.Certificate[0])
	for _, tt := range []struct {
		what, text string
		want       *x509.CertPool
	}{
		{"one", first, servers.Pool(one)},
		{"two", first + second, servers.Pool(one, two)},
		{"nothing", "", nil},
		{"a text", "ca", nil},
		{"a damaged one", first + block("CERTIFICATE", []byte("x")), nil},
		{"a key beside it", first + block("PRIVATE KEY", []byte("x")), nil},
		{"half a block", first + second[:len(second)/2], nil},
	} {
		file := filepath.Join(t.TempDir(), "ca")
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
		pool, err := authorities(file)
		if (err == nil) != (tt.want != nil) || err == nil && !pool.Equal(tt.want) {
			t.Errorf("%s: %v, error %v", tt.what, pool, err)
		}
	}
	require.Refuses(t, fs.ErrNotExist, "no file")(authorities("no/such/file"))
}

// TestMadeUpKey: a call that names a made-up key and hangs up keeps no good token out, delays none,
// keeps no withdrawn key in use, and causes one fetch a minute at most.
func TestMadeUpKey(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
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
		n := s.fetches() - before
		require.That(t, n <= 11, "%d fetches in ten minutes", n)
		s.serve("two")
		for range 11 {
			s.hangUp()
			time.Sleep(time.Minute)
		}
		s.bad("a key that was withdrawn 11 minutes ago", "one")
		time.Sleep(time.Hour)
	})
}

// TestWithdrawnKey: on a quiet service the first token of a key that was withdrawn is refused, after ten minutes.
func TestWithdrawnKey(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		s.good()
		s.serve("two")
		time.Sleep(9 * time.Minute)
		s.good()
		time.Sleep(2 * time.Minute)
		s.bad("a key that was withdrawn 11 minutes ago", "one")
	})
}

// TestCrowd: maxWaiting callers wait for keys at a time, and more are refused at once.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, keysURL)
		s.delay = 3 * time.Second
		began := time.Now()
		var refused atomic.Int64
		var all sync.WaitGroup
		for range maxWaiting + 10 {
			all.Go(func() {
				s.call(t.Context(), "made-up")
				if time.Now().Equal(began) {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		require.Equal(t, refused.Load(), 10, "refused at once")
	})
}

// TestSlowIssuer: an issuer is waited for, but no longer than five seconds.
func TestSlowIssuer(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		s.delay = 4 * time.Second
		s.good()
		time.Sleep(2 * time.Hour)
		s.delay = 6 * time.Second
		began := time.Now()
		s.bad("a key of an issuer that is too slow", "one")
		require.Equal(t, time.Since(began), 5*time.Second, "the wait")
	})
}

// TestKeysAge: known keys are used while the issuer is away, for an hour; and once it is there
// again, its tokens are good.
func TestKeysAge(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		s.good()
		s.serve()
		before := s.fetches()
		for range 58 * 6 {
			time.Sleep(10 * time.Second)
			s.hangUp()
			s.good()
		}
		n := s.fetches() - before
		require.That(t, n >= 55 && n <= 58, "%d fetches in 58 minutes with keys, want one a minute", n)
		time.Sleep(3 * time.Minute)
		before = s.fetches()
		for range 10 * 60 {
			s.hangUp()
			s.bad("a key of an issuer that was away for an hour", "one")
			time.Sleep(time.Second)
		}
		if n := s.fetches() - before; n < 500 || n > 600 {
			t.Errorf("%d fetches in ten minutes without keys, want one a second", n)
		}
		s.serve("one")
		time.Sleep(time.Minute)
		s.good()
		require.That(t, strings.Contains(s.log.String(), "10.1.2.3"), "the log does not say why there are no keys")
	})
}

// TestKeysNeverHad: without any keys, there is a fetch a second.
func TestKeysNeverHad(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		s.serve()
		for range 300 {
			s.hangUp()
			time.Sleep(time.Second / 2)
		}
		n := s.fetches()
		require.That(t, n >= 140 && n <= 150, "%d fetches in 150 seconds", n)
		s.serve("one")
		time.Sleep(time.Second)
		s.good()
	})
}

// TestUnusableKeys: an answer that has no keys replaces none, and the log says what is wrong with it.
func TestUnusableKeys(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		keys := s.text(s.served)
		for _, tt := range []struct{ says, why string }{
			{"<html>all is well</html>", "invalid character"},
			{keys[:len(keys)/2], "unexpected EOF"},
			{`{}`, "has no keys"},
			{`{"keys":7}`, "cannot unmarshal"},
			{strings.Repeat(" ", 3<<19) + keys, "EOF"}, // more than a megabyte
		} {
			s.says = ""
			time.Sleep(2 * time.Hour)
			s.good()
			s.says = tt.says
			s.log.Reset()
			time.Sleep(11 * time.Minute)
			s.good() // which begins a fetch
			synctest.Wait()
			s.good()
			require.Contains(t, s.log.String(), tt.why, "the log after %.30q", tt.says)
		}
		s.says = strings.Repeat(" ", 3<<18) + keys
		time.Sleep(2 * time.Hour)
		s.good()
	})
}

// TestKeysOfReload: a reload keeps the keys of an issuer that has not changed; only keys for
// signatures count; the first token with a new key is good; and no redirect leads to other keys.
func TestKeysOfReload(t *testing.T) {
	signing(t, func(t *testing.T, s *signer) {
		s.serve("one sig", "three enc")
		s.good()
		s.bad("a key for encryption", "three")
		s.serve()
		s.reload()
		s.good()
		s.serve("one", "two")
		time.Sleep(2 * time.Minute)
		require.Equal(t, s.call(t.Context(), "two"), nil, "a new key")
		s.serve()
		s.config.Issuers[0].JWKS += "/2"
		s.reload()
		s.bad("the key of another set", "one")
		s.serve("one")
		s.moved = "http://keys.example/set"
		time.Sleep(2 * time.Minute)
		s.bad("keys from a URL that is not https", "one")
	})
}

// TestDiscovery: without jwks an issuer says where its keys are, at an https URL, if it is that
// issuer. The log says what is wrong.
func TestDiscovery(t *testing.T) {
	for _, tt := range []struct {
		found [2]string
		why   string // "" if the keys are found
	}{
		{[2]string{issuerURL, keysURL}, ""},
		{[2]string{"https://other.example", keysURL}, "https://other.example"},
		{[2]string{issuerURL + "/", keysURL}, "want this issuer"},
		{[2]string{issuerURL, "http://keys.example/set"}, "http://keys.example/set"},
		{[2]string{issuerURL, "/etc/keys"}, "want this issuer, and an https URL"},
		{[2]string{issuerURL, ""}, "want this issuer, and an https URL"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSigner(t, "")
			s.found = tt.found
			if tt.why == "" {
				s.good()
				want := []string{discoveryURL, keysURL}
				require.That(t, slices.Equal(s.asked, want), "asked %q, want %q", s.asked, want)
				return
			}
			s.bad("keys that were not found", "one")
			require.That(t, strings.Contains(s.log.String(), tt.why) && s.fetches() == 1,
				"discovery says %q: asked %q, and the log has %s, want %s", tt.found, s.asked, &s.log, tt.why)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, "")
		s.serve()
		s.bad("a key of an issuer that is away", "one")
		require.Contains(t, s.log.String(), "10.1.2.3", "the log, as there are no keys")
		s.serve("one")
		s.found[0] = issuerURL + "/"
		i := s.issuers[issuerURL]
		i.config.Issuer = issuerURL + "/"
		require.Gives(t, keysURL, "an issuer whose URL ends in a slash: keys at")(i.discover(t.Context()))
	})
}

// TestKeysInFile: keys in a file are read with the configuration, which is refused if that can't be
// done. What changes there is not used before a reload, whatever tokens name, and the keys from
// before stay good as long as there is none.
func TestKeysInFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "keys")
		write := func(text string) {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
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
			_, err := New(s.config, s.Policy, slog.New(slog.DiscardHandler))
			require.Contains(t, fmt.Sprint(err), "jwks", "keys %q: error", wrong)
			s.good()
		}
		require.NoError(t, os.Remove(file))
		s.config.TLS = &config.TLS{Certificate: "no/such/certificate"}
		_, err := New(s.config, s.Policy, slog.New(slog.DiscardHandler))
		said := fmt.Sprint(err)
		hasBoth := strings.Contains(said, "jwks: open "+file) && strings.Contains(said, "no/such/certificate")
		require.That(t, errors.Is(err, fs.ErrNotExist) && hasBoth,
			"neither a certificate nor a file of keys: error %v, want both", err)
		time.Sleep(2 * time.Hour)
		s.good()
	})
}
