package access

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/service/internal/config"
)

// showing returns a request with a client certificate that an authority signed.
func showing(authority *servers.Authority, pair tls.Certificate) *http.Request {
	chain := []*x509.Certificate{pair.Leaf, authority.Leaf}
	return &http.Request{TLS: &tls.ConnectionState{
		PeerCertificates: chain[:1],
		VerifiedChains:   [][]*x509.Certificate{chain},
	}}
}

const billingURI = "spiffe://example.org/billing"

// two are principals with certificates.
var two = &config.Config{Principals: []config.Principal{
	{Name: "web", Certificates: config.Certificates{DNS: []string{"web.example"}}},
	{Name: "billing", Certificates: config.Certificates{URI: []string{billingURI}, DNS: []string{"billing.example"}}},
}}

// newPolicy returns the policy of a configuration, with these authorities.
func newPolicy(t *testing.T, c *config.Config, authorities *x509.CertPool) *Policy {
	t.Helper()
	p, err := New(c, &Policy{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	p.TLS.ClientCAs = authorities
	return p
}

// TestTrusted: a certificate that was good when the connection was made is not any more once it has
// expired, or its authority was removed, however often it was good before.
func TestTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, other := servers.NewAuthority(), servers.NewAuthority()
		system := filepath.Join(t.TempDir(), "ca.pem") // the system's authorities, from now on
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.Leaf.Raw})
		require.NoError(t, os.WriteFile(system, text, 0o600))
		t.Setenv("SSL_CERT_FILE", system)
		policy := func(authorities *x509.CertPool) *Policy { return newPolicy(t, two, authorities) }
		p := policy(servers.Pool(ours))
		r := showing(ours, ours.Sign(time.Hour, []string{"web.example"}))
		for range 3 {
			who, err := p.Identify(r)
			require.Must(t, err == nil && who == "web", "%q, error %v", who, err)
		}
		for what, p := range map[string]*Policy{"another authority": policy(servers.Pool(other)), "none": policy(nil)} {
			if _, err := p.Identify(r); !errors.Is(err, ErrCertificate) || !errors.Is(err, ErrUnknown) {
				t.Errorf("with %s: error %v", what, err)
			}
		}
		own := *ours.Leaf
		own.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		r.TLS.VerifiedChains[0][1] = &own
		require.Gives(t, "web", "an authority that signs for clients alone")(p.Identify(r))
		trusted := x509.NewCertPool()
		trusted.AddCert(r.TLS.PeerCertificates[0])
		alone := &http.Request{TLS: &tls.ConnectionState{
			PeerCertificates: r.TLS.PeerCertificates,
			VerifiedChains:   [][]*x509.Certificate{r.TLS.PeerCertificates},
		}}
		require.Gives(t, "web", "a certificate that is among the authorities itself")(policy(trusted).Identify(alone))
		time.Sleep(time.Hour + time.Second)
		require.Refuses(t, ErrCertificate, "once it has expired")(p.Identify(r))
	})
}

// TestNames: a name counts as what it is, and a certificate of two principals is of neither.
func TestNames(t *testing.T) {
	ours := servers.NewAuthority()
	p := newPolicy(t, two, servers.Pool(ours))
	for _, tt := range []struct {
		dns, uris []string
		want      string
	}{
		{[]string{"web.example"}, nil, "web"},
		{[]string{"other.example", "WEB.example"}, nil, "web"},
		{nil, []string{billingURI}, "billing"},
		{[]string{"billing.example"}, []string{billingURI}, "billing"},
		{[]string{billingURI}, nil, ""},
		{nil, []string{"web.example"}, ""},
		{nil, nil, ""},
		{[]string{"web.example", "billing.example"}, nil, ""},
		{[]string{"web.example"}, []string{billingURI}, ""},
	} {
		pair := ours.Sign(time.Hour, tt.dns, func(c *x509.Certificate) {
			for _, text := range tt.uris {
				u, _ := url.Parse(text)
				c.URIs = append(c.URIs, u)
			}
		})
		who, err := p.Identify(showing(ours, pair))
		wantErr := tt.want == ""
		require.That(t, who == tt.want && (err != nil) == wantErr && errors.Is(err, ErrUnknown) == wantErr,
			"DNS names %q and URIs %q: %q, error %v, want %q", tt.dns, tt.uris, who, err, tt.want)
	}
}

func TestTighter(t *testing.T) {
	two := config.Quota{Nodes: 2, Batch: 7}
	four := config.Quota{Nodes: 3, Rate: 4, Batch: 5}
	want := config.Quota{Nodes: 2, Rate: 4, Batch: 5}
	for _, got := range []config.Quota{Tighter(two, four), Tighter(four, two)} {
		require.Equal(t, got, want, "options")
	}
}

// TestRules: a call is allowed by the first rule with its principal, space and verb, under the limits of that rule.
func TestRules(t *testing.T) {
	c := *two
	c.Rules = []config.Rule{
		{Principals: []string{"web"}, Spaces: []string{"orders"}, Verbs: []string{"mint", "count"}, Quota: config.Quota{Batch: 1}},
		{Principals: []string{"*"}, Spaces: []string{"shop"}, Verbs: []string{"mint"}, Quota: config.Quota{Batch: 2}},
		{Principals: []string{"billing", "web"}, Spaces: []string{"*"}, Verbs: []string{"count"}, Quota: config.Quota{Batch: 3}},
	}
	p := newPolicy(t, &c, nil)
	for _, tt := range []struct {
		who, verb, space string
		batch            uint64 // 0 is a denial
	}{
		{"web", "mint", "orders", 1},
		{"web", "count", "orders", 1},
		{"web", "mint", "shop", 2},
		{"other", "mint", "shop", 2},
		{"web", "count", "shop", 3},
		{"billing", "count", "elsewhere", 3},
		{"billing", "mint", "orders", 0},
		{"web", "mint", "elsewhere", 0},
		{"other", "count", "shop", 0},
		{"web", "set", "orders", 0},
	} {
		limits, err := p.Allow(tt.who, tt.verb, tt.space)
		wantErr := tt.batch == 0
		require.That(t, limits.Batch == tt.batch && (err != nil) == wantErr && errors.Is(err, ErrDenied) == wantErr,
			"%s, %s in %s: %+v, error %v; want the rule with %d", tt.who, tt.verb, tt.space, limits, err, tt.batch)
	}
	open := newPolicy(t, &config.Config{}, nil)
	require.Gives(t, (config.Quota{}), "without principals")(open.Allow(config.Anyone, "set", "orders"))
}

// TestIdentify: a token is good with the scheme Bearer alone, and without principals so is
// everybody on this machine, by one of its own names.
func TestIdentify(t *testing.T) {
	hash := sha256.Sum256([]byte("the-token"))
	ofNothing := sha256.Sum256(nil)
	hashes := []string{hex.EncodeToString(hash[:]), hex.EncodeToString(ofNothing[:])}
	web := config.Principal{Name: "web", TokenHashes: hashes}
	guarded := &config.Config{Principals: []config.Principal{web}}
	for _, tt := range []struct {
		config             *config.Config
		host, header, want string
	}{
		{guarded, "ids.example", "Bearer the-token", "web"},
		{guarded, "ids.example", "bearer  the-token", "web"},
		{guarded, "ids.example", "Basic the-token", ""},
		{guarded, "ids.example", "the-token", ""},
		{guarded, "ids.example", "Bearer another", ""},
		{guarded, "ids.example", "Bearer", ""},
		{guarded, "ids.example", "Bearer  ", ""},
		{guarded, "ids.example", "Bearer a.b.c", ""},
		{guarded, "localhost", "", ""},
		{&config.Config{}, "localhost", "", config.Anyone},
		{&config.Config{}, "localhost:8080", "", config.Anyone},
		{&config.Config{}, "127.1.2.3:8080", "", config.Anyone},
		{&config.Config{}, "[::1]:8080", "", config.Anyone},
		{&config.Config{}, "10.0.0.1:8080", "", ""},
		{&config.Config{}, "[2001:db8::1]", "", ""},
		{&config.Config{}, "evil.example:8080", "", ""},
		{&config.Config{}, "", "", ""},
	} {
		p := newPolicy(t, tt.config, nil)
		r := &http.Request{Host: tt.host, Header: http.Header{}}
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		for _, r.TLS = range []*tls.ConnectionState{nil, {}} {
			who, err := p.Identify(r)
			wantErr := tt.want == ""
			require.That(t, who == tt.want && (err != nil) == wantErr && errors.Is(err, ErrUnknown) == wantErr,
				"%q for %q: %q, error %v, want %q", tt.header, tt.host, who, err, tt.want)
			require.That(t, !errors.Is(err, ErrCertificate),
				"%q for %q: error %v, without a certificate", tt.header, tt.host, err)
		}
	}
}
