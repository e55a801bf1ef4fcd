package access

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/smallfile"
	"github.com/randflake/randflake/service/internal/config"
)

// byCertificate returns the principal that a client's certificate names.
func (p *Policy) byCertificate(of *tls.ConnectionState) (principal string, err error) {
	if !p.trusts(of.VerifiedChains) {
		return "", ErrCertificate
	}
	certificate := of.PeerCertificates[0]
	var names, found []string
	for _, name := range certificate.DNSNames {
		names = append(names, "dns "+strings.ToLower(name))
	}
	for _, uri := range certificate.URIs {
		names = append(names, "uri "+uri.String())
	}
	for _, name := range names {
		if who := p.principals[name]; who != "" && !slices.Contains(found, who) {
			found = append(found, who)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: no principal has a name of this certificate: %.100q", ErrUnknown, names)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: its certificate names several principals, %q: "+
		"want one with names of one of them", ErrUnknown, found)
}

// trusts reports whether one of these chains has not expired, and ends with one of the authorities
// in force. TLS checks that only once, when the connection is made.
func (p *Policy) trusts(chains [][]*x509.Certificate) bool {
	if p.TLS.ClientCAs == nil {
		return false // Verify would take the authorities of the system
	}
	now := time.Now()
	expired := func(c *x509.Certificate) bool { return now.After(c.NotAfter) }
	trusted := x509.VerifyOptions{
		Roots:     p.TLS.ClientCAs,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	return slices.ContainsFunc(chains, func(chain []*x509.Certificate) bool {
		last := chain[len(chain)-1]
		_, err := last.Verify(trusted)
		return err == nil && !slices.ContainsFunc(chain, expired)
	})
}

// readCertificates reads the server's certificate, and those of the authorities of its clients.
// Without files, the server has no TLS, and there are no certificates.
func readCertificates(files *config.TLS) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if files == nil {
		return c, nil
	}
	certificate, certificateErr := smallfile.Read(files.Certificate)
	key, keyErr := smallfile.Read(files.Key)
	pair, err := tls.X509KeyPair(certificate, key)
	if err := cmp.Or(certificateErr, keyErr, err); err != nil {
		return nil, fmt.Errorf("tls: certificate and key: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	if files.ClientCA != "" {
		c.ClientAuth = tls.VerifyClientCertIfGiven
		c.ClientCAs, err = authorities(files.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls: clientCA: %w", err)
		}
	}
	return c, nil
}

// Client returns a client that follows no redirects: they may lead to a URL that is not https. It
// trusts the authorities in a file, or those of the system if file is "".
func Client(file string) (*http.Client, error) {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &http.Client{CheckRedirect: noRedirect}
	if file == "" {
		return c, nil
	}
	roots, err := authorities(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // uses a proxy of the environment
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	transport.DisableKeepAlives = true // each configuration makes a client, and calls are rare
	c.Transport = transport
	return c, nil
}

// authorities reads a file in PEM, which must have certificates alone.
func authorities(file string) (*x509.CertPool, error) {
	text, err := smallfile.Read(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			pool.AddCert(c)
			n++
		}
	}
	all := bytes.Count(text, []byte("-----BEGIN "))
	if n == 0 || n < all {
		return nil, fmt.Errorf("%s: %d of %d blocks in PEM are certificates: want all of them, and at least one", file, n, all)
	}
	return pool, nil
}
