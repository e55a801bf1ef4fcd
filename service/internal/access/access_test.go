package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/service/internal/config"
)

// A cluster signs tokens, and serves its keys.
type cluster struct {
	*testing.T
	key  *ecdsa.PrivateKey
	keys *httptest.Server
	asks atomic.Int64
}

func newCluster(t *testing.T) *cluster {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, key: key}
	c.keys = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asks.Add(1)
		if r.Header.Get("Authorization") != "Bearer pod-token" {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}}})
	}))
	t.Cleanup(c.keys.Close)
	return c
}

// policy returns one that knows the cluster.
func (c *cluster) policy() *Policy {
	dir := c.TempDir()
	ca, token := filepath.Join(dir, "ca"), filepath.Join(dir, "token")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.keys.Certificate().Raw})
	if err := errors.Join(os.WriteFile(ca, block, 0o600), os.WriteFile(token, []byte("pod-token\n"), 0o600)); err != nil {
		c.Fatal(err)
	}
	p, err := New(&config.Config{
		Issuers: []config.Issuer{{Issuer: "https://cluster", Audience: "randflaked", JWKS: c.keys.URL, CA: ca, TokenFile: token}},
		Principals: []config.Principal{
			{Name: "web", ServiceAccount: &config.ServiceAccount{Issuer: "https://cluster", Subject: "system:serviceaccount:shop:web"}},
		},
	}, nil, &Policy{}, slog.New(slog.DiscardHandler))
	if err != nil {
		c.Fatal(err)
	}
	return p
}

// sign returns a token with a good token's claims, after change.
func (c *cluster) sign(algorithm jose.SignatureAlgorithm, key any, name string, change func(*jwt.Claims)) string {
	claims := jwt.Claims{Issuer: "https://cluster", Subject: "system:serviceaccount:shop:web", Audience: jwt.Audience{"other", "randflaked"},
		IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}
	change(&claims)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: name}}, nil)
	if err != nil {
		c.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		c.Fatal(err)
	}
	return token
}

func showing(authority *servers.Authority, pair tls.Certificate) *http.Request {
	chain := []*x509.Certificate{pair.Leaf, authority.Leaf}
	return &http.Request{TLS: &tls.ConnectionState{PeerCertificates: chain[:1], VerifiedChains: [][]*x509.Certificate{chain}}}
}

// two are principals with certificates.
var two = &config.Config{Principals: []config.Principal{
	{Name: "web", Certificates: config.Certificates{DNS: []string{"web.example"}}},
	{Name: "billing", Certificates: config.Certificates{URI: []string{"spiffe://example.org/billing"}, DNS: []string{"billing.example"}}},
}}

// TestTrusted: a certificate that was good when the connection was made is not any more once it has expired, or its authority was removed,
// however often it was good before.
func TestTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, other := servers.NewAuthority(), servers.NewAuthority()
		policy := func(authorities *x509.CertPool) *Policy {
			p, err := New(two, authorities, &Policy{}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p, r := policy(servers.Pool(ours)), showing(ours, ours.Sign(time.Hour, []string{"web.example"}))
		for range 3 {
			if who, err := p.Identify(r); err != nil || who != (Principal{Name: "web", Certificate: true}) {
				t.Fatalf("%+v, error %v", who, err)
			}
		}
		for what, p := range map[string]*Policy{"another authority": policy(servers.Pool(other)), "none": policy(nil)} {
			if _, err := p.Identify(r); !errors.Is(err, ErrCertificate) || !errors.Is(err, ErrUnknown) {
				t.Errorf("with %s: error %v", what, err)
			}
		}
		time.Sleep(time.Hour + time.Second)
		if _, err := p.Identify(r); !errors.Is(err, ErrCertificate) {
			t.Errorf("once it has expired: error %v", err)
		}
	})
}

// TestNames: a name counts as what it is, and a certificate of two principals is of neither.
func TestNames(t *testing.T) {
	ours := servers.NewAuthority()
	p, err := New(two, servers.Pool(ours), &Policy{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dns, uris []string
		want      string
	}{
		{[]string{"web.example"}, nil, "web"}, {[]string{"other.example", "WEB.example"}, nil, "web"}, {nil, []string{"spiffe://example.org/billing"}, "billing"},
		{[]string{"billing.example"}, []string{"spiffe://example.org/billing"}, "billing"},
		{[]string{"spiffe://example.org/billing"}, nil, ""}, {nil, []string{"web.example"}, ""}, {nil, nil, ""},
		{[]string{"web.example", "billing.example"}, nil, ""}, {[]string{"web.example"}, []string{"spiffe://example.org/billing"}, ""},
	} {
		who, err := p.Identify(showing(ours, ours.Sign(time.Hour, tt.dns, func(c *x509.Certificate) {
			for _, text := range tt.uris {
				u, _ := url.Parse(text)
				c.URIs = append(c.URIs, u)
			}
		})))
		if who.Name != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, ErrUnknown) {
			t.Errorf("DNS names %q and URIs %q: %+v, error %v, want %q", tt.dns, tt.uris, who, err, tt.want)
		}
	}
}

// TestServiceAccounts: a token is good when its signature, issuer, audience, subject and times are.
func TestServiceAccounts(t *testing.T) {
	c := newCluster(t)
	p := c.policy()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	as := func(change func(*jwt.Claims)) string { return c.sign(jose.ES256, c.key, "one", change) }
	good := as(func(*jwt.Claims) {})
	for _, tt := range []struct {
		what, token string
		ok          bool
	}{
		{"a good one", good, true},
		{"another audience", as(func(c *jwt.Claims) { c.Audience = jwt.Audience{"other"} }), false},
		{"no audience", as(func(c *jwt.Claims) { c.Audience = nil }), false},
		{"another issuer", as(func(c *jwt.Claims) { c.Issuer = "https://other" }), false},
		{"another subject", as(func(c *jwt.Claims) { c.Subject = "system:serviceaccount:shop:db" }), false},
		{"over", as(func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Minute)) }), false},
		{"not yet", as(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(time.Now().Add(time.Minute)) }), false},
		{"without an end", as(func(c *jwt.Claims) { c.Expiry = nil }), false},
		{"another key of the same name", c.sign(jose.ES256, other, "one", func(*jwt.Claims) {}), false},
		{"a key that is not there", c.sign(jose.ES256, c.key, "two", func(*jwt.Claims) {}), false},
		{"a shared key", c.sign(jose.HS256, make([]byte, 32), "one", func(*jwt.Claims) {}), false},
		{"a signature cut off", good[:strings.LastIndex(good, ".")+1], false},
		{"nonsense", "a.b.c", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", "Bearer "+tt.token)
		who, err := p.Identify(r)
		if (err == nil) != tt.ok || tt.ok && who != (Principal{Name: "web"}) || !tt.ok && !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %+v, error %v", tt.what, who, err)
		}
		if err != nil && (err.Error() != (refusedToken{}).Error() || strings.Contains(Why(err), tt.token)) {
			t.Errorf("%s: %v, by the log %v: want strangers to learn nothing, and the log not the token", tt.what, err, Why(err))
		}
	}
	if n := c.asks.Load(); n != 1 {
		t.Errorf("the keys were asked for %d times, want once a minute at most", n)
	}
}

// TestUnverified: a certificate that the server did not verify says nothing, and neither does another scheme.
func TestUnverified(t *testing.T) {
	c := newCluster(t)
	p := c.policy()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: nil}
	if _, err := p.Identify(r); !errors.Is(err, ErrUnknown) {
		t.Errorf("without a certificate: error %v", err)
	}
	r.Header.Set("Authorization", "Basic d2ViOndlYg==")
	if _, err := p.Identify(r); !errors.Is(err, ErrUnknown) {
		t.Errorf("with a password: error %v", err)
	}
}

// TestAnswer: answers that are not read use up the room of their principal, and leave some for others and for short
// answers.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUsage()
		take := func(who string, n int64) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return u.Answer(ctx, who, n)
		}
		done := map[string]func(){}
		for _, who := range []string{"a", "b"} {
			for range 4 {
				var err error
				if done[who], err = take(who, maxAnswer/4); err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
			if _, err := take(who, maxAnswer/4); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s takes more than its part: error %v", who, err)
			}
			if _, err := take(who, 1); err != nil {
				t.Errorf("%s can't take one ID: %v", who, err)
			}
		}
		if _, err := take("f", maxAnswer/4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("more than there is: error %v", err)
		}
		began, waited := time.Now(), make(chan time.Duration, maxWaiting+1)
		for range maxWaiting + 1 {
			go func() {
				take("a", maxAnswer/4)
				waited <- time.Since(began)
			}()
		}
		if first, second := <-waited, <-waited; first != 0 || second == 0 {
			t.Errorf("of one more call than may wait, the first two fail after %v and %v: want one at once", first, second)
		}
		synctest.Wait()
		for range maxWaiting - 1 {
			<-waited
		}
		go func() { time.Sleep(time.Second / 2); done["a"]() }()
		if _, err := take("f", maxAnswer/4); err != nil {
			t.Errorf("an answer was written, and another one waits: %v", err)
		}
	})
}

func TestTighter(t *testing.T) {
	got := Tighter(config.Limits{Nodes: 2, Batch: 7}, config.Limits{Nodes: 3, Rate: 4, Batch: 5})
	if want := (config.Limits{Nodes: 2, Rate: 4, Batch: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
