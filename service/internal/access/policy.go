// Package access knows who may do what. [Policy.Identify] finds the principal that sends a request: by a bearer
// token, of the configuration or of an issuer (token.go), or by a client certificate (certificates.go).
// [Policy.Allow] finds the rule that lets the principal call. What no rule allows is denied.
package access

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/randflake/randflake/service/internal/config"
)

// ErrUnknown says that the caller has no credentials, or none that the configuration knows.
var ErrUnknown = errors.New("access: caller is not known")

// ErrCertificate says that a certificate was valid when the connection was made, but is no longer.
var ErrCertificate = fmt.Errorf("%w: its certificate has expired, or its authority is trusted no more: "+
	"connect again with another one", ErrUnknown)

// ErrDenied says that no rule allows the call.
var ErrDenied = errors.New("access: denied")

// A Policy holds the principals and rules of a configuration. It is immutable and safe for concurrent use.
type Policy struct {
	TLS *tls.Config // certificates of the server, and of the authorities that sign those of clients

	guarded    bool                    // whether calls are checked: see config.Config.Guarded
	principals map[string]string       // by "dns NAME" or "uri URI" of a certificate, or "token HASH"
	tokens     map[config.Token]string // the principals, too
	issuers    map[string]*issuer
	rules      []config.Rule
}

// New returns the policy of a configuration that was checked, with the files that it names. Of the old policy, which
// may be the zero one, it takes over the keys of unchanged issuers. The error has all that is wrong.
func New(c *config.Config, old *Policy, logger *slog.Logger) (*Policy, error) {
	certificates, err := readCertificates(c.TLS)
	problems := []error{err}
	p := &Policy{
		TLS:        certificates,
		guarded:    c.Guarded(),
		principals: map[string]string{},
		tokens:     map[config.Token]string{},
		issuers:    map[string]*issuer{},
		rules:      c.Rules,
	}
	for _, who := range c.Principals {
		for _, name := range who.Certificates.DNS {
			p.principals["dns "+strings.ToLower(name)] = who.Name
		}
		for _, name := range who.Certificates.URI {
			p.principals["uri "+name] = who.Name
		}
		for _, hash := range who.TokenHashes {
			p.principals["token "+strings.ToLower(hash)] = who.Name
		}
		for _, t := range who.Tokens {
			p.tokens[t] = who.Name
		}
	}
	for _, i := range c.Issuers {
		p.issuers[i.Issuer], err = newIssuer(i, old.issuers[i.Issuer], logger)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// Identify returns the principal that sent a request, by its bearer token or, if it has no token,
// by its client certificate. If there is none, the error wraps ErrUnknown.
func (p *Policy) Identify(r *http.Request) (principal string, err error) {
	if !p.guarded {
		return identifyLocal(r)
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		token = strings.TrimSpace(token)
		isEmpty := token == "" // which has a hash, too: that of a variable that was not set
		if isEmpty || !strings.EqualFold(scheme, "Bearer") {
			return "", fmt.Errorf("%w: Authorization: want Bearer and a token", ErrUnknown)
		}
		return p.byToken(r.Context(), token)
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", fmt.Errorf("%w: want a header Authorization with a bearer token, or a client certificate", ErrUnknown)
	}
	return p.byCertificate(r.TLS)
}

// identifyLocal admits requests whose Host is this machine. A page of another site whose name resolves to
// this machine has another Host.
func identifyLocal(r *http.Request) (principal string, err error) {
	host := (&url.URL{Host: r.Host}).Hostname()
	ip := net.ParseIP(host)
	if host == "localhost" || ip.IsLoopback() {
		return config.Anyone, nil
	}
	return "", fmt.Errorf("%w: without principals calls are for localhost, not %.100q", ErrUnknown, host)
}

// Allow returns the quota under which a principal may do what a verb stands for in a space: those
// of the first rule that allows it. If no rule does, the error wraps ErrDenied.
func (p *Policy) Allow(principal, verb, space string) (config.Quota, error) {
	if !p.guarded {
		return config.Quota{}, nil
	}
	for _, r := range p.rules {
		applies := includes(r.Principals, principal) && includes(r.Spaces, space)
		if applies && slices.Contains(r.Verbs, verb) {
			return r.Quota, nil
		}
	}
	return config.Quota{}, fmt.Errorf("%w: no rule lets %s %s in space %.100q", ErrDenied, principal, verb, space)
}

// includes reports whether a list of a rule has a name. An asterisk is all names.
func includes(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, "*")
}

// Tighter returns the tighter of each pair of bounds.
func Tighter(a, b config.Quota) config.Quota {
	return config.Quota{
		Nodes: tighter(a.Nodes, b.Nodes),
		Batch: tighter(a.Batch, b.Batch),
		Rate:  tighter(a.Rate, b.Rate),
	}
}

// tighter returns the lower limit. Zero is no limit.
func tighter[T int | uint64 | float64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
