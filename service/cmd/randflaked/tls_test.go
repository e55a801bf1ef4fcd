package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
)

// TestTLS: what a client shows over TLS, or fails to, ends in an alert or a typed error that says which, and leaves nothing
// behind.
func TestTLS(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	roots := servers.Pool(a.Authority)
	p := start(t, a.serving(), a.client(""))
	before := inUse()
	refused := func(conf *tls.Config) error {
		conn, err := tls.Dial("tcp", p.listener.Addr().String(), conf)
		if err != nil {
			return err
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		_, err = conn.Read(make([]byte, 1)) // not after a call, as then the alert may be lost
		return err
	}
	ask := func(conf *tls.Config) (int, string, error) {
		transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Post(p.url+"/v1/spaces/demo/ids", "", nil)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	with := func(a *authority, name string, change func(*x509.Certificate)) func(*tls.Config) {
		pair := a.sign(name, change)
		// Not Certificates, as those whose authority the server does not name would not be sent.
		return func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
	}
	over := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	early := func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }
	forServers := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	for what, tt := range map[string]struct {
		change func(*tls.Config)
		status int
		alert  string
	}{
		"a good one":            {with(a, "web.example", func(*x509.Certificate) {}), 200, ""},
		"none":                  {func(*tls.Config) {}, 401, ""},
		"another name":          {with(a, "db.example", func(*x509.Certificate) {}), 401, ""},
		"over":                  {with(a, "web.example", over), 0, "remote error: tls: expired certificate"},
		"not yet":               {with(a, "web.example", early), 0, "remote error: tls: expired certificate"},
		"for servers":           {with(a, "web.example", forServers), 0, "remote error: tls: bad certificate"},
		"of another authority":  {with(other, "web.example", func(*x509.Certificate) {}), 0, "remote error: tls: unknown certificate authority"},
		"TLS 1.1":               {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, 0, "remote error: tls: protocol version not supported"},
		"a client of the other": {func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }, 0, "certificate signed by unknown authority"},
	} {
		conf := &tls.Config{RootCAs: roots}
		tt.change(conf)
		if tt.alert != "" {
			if err := refused(conf); err == nil || !strings.Contains(err.Error(), tt.alert) {
				t.Errorf("%s: %v, want %s", what, err, tt.alert)
			}
			continue
		}
		if status, text, err := ask(conf); status != tt.status || err != nil || status == 401 && (!strings.Contains(text, `"unauthenticated"`) || strings.Contains(text, a.dir)) {
			t.Errorf("%s: status %d %s, error %v, want %d", what, status, text, err, tt.status)
		}
	}
	if answer, err := http.Post("http://"+p.listener.Addr().String()+"/v1/spaces/demo/ids", "", nil); err != nil || answer.StatusCode != 400 {
		t.Errorf("without TLS: %v, error %v", answer, err)
	} else {
		answer.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	settle(t, before)
	for _, want := range []string{"failed to verify certificate: x509: certificate has expired", "signed by unknown authority", "unsupported versions"} {
		if log := p.written.String(); !strings.Contains(log, `"level":"WARN","msg":"http: TLS handshake error from 127.0.0.1:`) || !strings.Contains(log, want) {
			t.Errorf("no line %q in the log:\n%s", want, log)
		}
	}
	lines := func() int { return strings.Count(p.written.String(), "TLS handshake error") }
	for range 30 {
		refused(&tls.Config{RootCAs: x509.NewCertPool()})
	}
	p.http.ErrorLog.Print("http: TLS handshake error from 127.0.0.1:1: EOF")
	if n := lines(); n < 10 || n > 20 {
		t.Errorf("%d lines of failed handshakes, want ten, and those of the seconds that this took", n)
	}
}
