package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/service/internal/config"
)

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
			if who, err := p.Identify(r); err != nil || who != "web" {
				t.Fatalf("%q, error %v", who, err)
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
		if who != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, ErrUnknown) {
			t.Errorf("DNS names %q and URIs %q: %q, error %v, want %q", tt.dns, tt.uris, who, err, tt.want)
		}
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
