// Package access authenticates callers and authorizes calls. A call that no rule allows is denied.
package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/service/internal/config"
)

// ErrUnknown says that the caller has no credentials, or none that the configuration knows.
var ErrUnknown = errors.New("access: caller is not known")

// ErrCertificate says that a certificate was valid when the connection was made, and is not any more.
var ErrCertificate = fmt.Errorf("%w: its certificate has expired, or its authority is trusted no more: connect again with another one", ErrUnknown)

// ErrDenied says that no rule allows the call.
var ErrDenied = errors.New("access: denied")

// A Policy holds the principals and rules of a configuration. It is immutable and safe for concurrent use.
type Policy struct {
	guarded      bool
	authorities  *x509.CertPool
	certificates map[string]string // principals by the kinds and names in certificates
	tokens       map[[sha256.Size]byte]string
	accounts     map[config.ServiceAccount]string
	issuers      map[string]*issuer
	rules        []config.Rule
}

// New returns the policy of a configuration that was checked, with the authorities that sign clients' certificates, or nil. It
// takes over the keys that another policy, which may be zero, has of unchanged issuers.
func New(c *config.Config, authorities *x509.CertPool, old *Policy, logger *slog.Logger) (*Policy, error) {
	p := &Policy{guarded: c.Guarded(), authorities: authorities, certificates: map[string]string{}, tokens: map[[sha256.Size]byte]string{},
		accounts: map[config.ServiceAccount]string{}, issuers: map[string]*issuer{}, rules: c.Rules}
	for _, who := range c.Principals {
		for _, name := range who.Certificates.DNS {
			p.certificates["dns "+strings.ToLower(name)] = who.Name
		}
		for _, name := range who.Certificates.URI {
			p.certificates["uri "+name] = who.Name
		}
		for _, digits := range who.Tokens {
			hash, _ := hex.DecodeString(digits)
			p.tokens[[sha256.Size]byte(hash)] = who.Name
		}
		if who.ServiceAccount != nil {
			p.accounts[*who.ServiceAccount] = who.Name
		}
	}
	for _, i := range c.Issuers {
		made, err := newIssuer(i, old.issuers[i.Issuer], logger)
		if err != nil {
			return nil, err
		}
		p.issuers[i.Issuer] = made
	}
	return p, nil
}

// Identify returns the principal that sent a request, by its bearer token or else by its client certificate. Otherwise the
// error wraps ErrUnknown.
func (p *Policy) Identify(r *http.Request) (principal string, err error) {
	if !p.guarded {
		return anyone(r)
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", fmt.Errorf("%w: Authorization: want Bearer and a token", ErrUnknown)
		}
		return p.bearer(r, strings.TrimSpace(token))
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", fmt.Errorf("%w: want a header Authorization with a bearer token, or a client certificate", ErrUnknown)
	}
	if !p.trusts(r.TLS.VerifiedChains) {
		return "", ErrCertificate
	}
	return p.named(r.TLS.PeerCertificates[0])
}

// named returns the principal that a certificate names.
func (p *Policy) named(certificate *x509.Certificate) (principal string, err error) {
	var names, found []string
	for _, name := range certificate.DNSNames {
		names = append(names, "dns "+strings.ToLower(name))
	}
	for _, uri := range certificate.URIs {
		names = append(names, "uri "+uri.String())
	}
	for _, name := range names {
		if who := p.certificates[name]; who != "" && !slices.Contains(found, who) {
			found = append(found, who)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: no principal has a name of this certificate: %.100q", ErrUnknown, names)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: its certificate names several principals, %q: want one with names of one of them", ErrUnknown, found)
}

// trusts reports whether one of these chains is valid now, and ends with one of the authorities. TLS checks that only
// once, when the connection is made.
func (p *Policy) trusts(chains [][]*x509.Certificate) bool {
	now, roots := time.Now(), x509.VerifyOptions{Roots: p.authorities, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	return p.authorities != nil && slices.ContainsFunc(chains, func(chain []*x509.Certificate) bool {
		_, err := chain[len(chain)-1].Verify(roots)
		return err == nil && !slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	})
}

// Authorities reads the certificates of authorities from a file in PEM, which has nothing else.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
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

// anyone admits requests whose Host is this machine. That keeps out pages of other sites whose own name resolves to
// this machine.
func anyone(r *http.Request) (principal string, err error) {
	host := (&url.URL{Host: r.Host}).Hostname()
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("%w: without principals calls are for localhost, not %.100q", ErrUnknown, host)
	}
	return config.Anyone, nil
}

// A refusedToken is an error that shows strangers neither issuers nor keys.
type refusedToken struct{ why error }

func (refusedToken) Error() string { return ErrUnknown.Error() + ": no principal has this token" }
func (refusedToken) Unwrap() error { return ErrUnknown }

// Why returns why a caller is not known, for the log.
func Why(err error) string {
	if refused := (refusedToken{}); errors.As(err, &refused) && refused.why != nil {
		return refused.why.Error()
	}
	return err.Error()
}

// bearer returns the principal of a bearer token. The error contains nothing of the token.
func (p *Policy) bearer(r *http.Request, token string) (principal string, err error) {
	if who, ok := p.tokens[sha256.Sum256([]byte(token))]; ok {
		return who, nil
	}
	if len(p.issuers) == 0 || strings.Count(token, ".") != 2 {
		return "", refusedToken{}
	}
	account, err := p.verify(r.Context(), token)
	if err != nil {
		return "", refusedToken{err}
	}
	who, ok := p.accounts[account]
	if !ok {
		return "", refusedToken{fmt.Errorf("no principal has the service account %.100q of %q", account.Subject, account.Issuer)}
	}
	return who, nil
}

// Allow returns the limits under which a principal may use a verb in a space: those of the first rule that allows it.
// If there is none, the error wraps ErrDenied.
func (p *Policy) Allow(principal, verb, space string) (config.Limits, error) {
	if !p.guarded {
		return config.Limits{}, nil
	}
	for _, r := range p.rules {
		if has(r.Principals, principal) && has(r.Spaces, space) && slices.Contains(r.Verbs, verb) {
			return r.Limits, nil
		}
	}
	return config.Limits{}, fmt.Errorf("%w: no rule lets %s %s in space %.100q", ErrDenied, principal, verb, space)
}

func has(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// Tighter returns the tighter of each pair of limits.
func Tighter(a, b config.Limits) config.Limits {
	return config.Limits{Nodes: tighter(a.Nodes, b.Nodes), Batch: tighter(a.Batch, b.Batch), Rate: tighter(a.Rate, b.Rate)}
}

func tighter[T ~int | ~int64 | ~uint64 | ~float64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
