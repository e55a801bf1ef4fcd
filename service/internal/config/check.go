package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	neturl "net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/snowflake"
)

// Verbs are what rules may allow.
var Verbs = []string{"lease", "list", "mint", "inspect", "count", "set", "observe"}

// A checker collects what is wrong with a file.
type checker struct {
	file     string
	problems []error
}

// must notes that the value at a path, such as spaces[0].name, is wrong, unless it is right.
func (k *checker) must(right bool, path, format string, args ...any) {
	if !right {
		k.problems = append(k.problems, fmt.Errorf("config: %s: %s: %s", k.file, path, fmt.Sprintf(format, args...)))
	}
}

func (k *checker) wrong(path, format string, args ...any) { k.must(false, path, format, args...) }

// name is the form of names of spaces and principals.
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// counterName is what package counter takes, or a pattern.
var counterName = regexp.MustCompile(`^([a-z0-9]([a-z0-9/_.-]{0,55}[a-z0-9])?(/\*)?|\*)$`)

func (k *checker) check(c *Config) {
	spaces, principals, issuers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	k.must(len(c.Spaces) > 0, "spaces", "there is none: want one at least, with name, kind and store")
	for i, s := range c.Spaces {
		p := fmt.Sprintf("spaces[%d]", i)
		k.unique(p+".name", s.Name, name, spaces)
		k.space(p, s)
	}
	for i, s := range c.Issuers {
		k.issuer(fmt.Sprintf("issuers[%d]", i), s, issuers)
	}
	held := map[string]bool{} // what shows who calls
	for i, p := range c.Principals {
		path := fmt.Sprintf("principals[%d]", i)
		k.unique(path+".name", p.Name, name, principals)
		k.principal(path, p, issuers, held)
		k.must(len(p.Certificates.DNS)+len(p.Certificates.URI) == 0 || c.TLS != nil && c.TLS.ClientCA != "", path+".certificates", "no client has a certificate without tls.clientCA: set it")
	}
	for i, r := range c.Rules {
		k.rule(fmt.Sprintf("rules[%d]", i), r, principals, spaces)
	}
	k.listen(c)
	k.must(c.Level.UnmarshalText([]byte(cmp.Or(c.LogLevel, "info"))) == nil, "logLevel", "want debug, info, warn or error")
}

// unique checks a name that must be there once.
func (k *checker) unique(p string, value string, form *regexp.Regexp, seen map[string]bool) {
	k.must(form.MatchString(value), p, "%q: want a name that matches %s", value, form)
	k.must(!seen[value], p, "%q is there twice: take another name", value)
	seen[value] = true
}

func (k *checker) known(p string, value string, known map[string]bool) {
	k.must(known[value], p, "%q is not defined: want one of those in this file", value)
}

func (k *checker) space(p string, s Space) {
	layout, err := s.Layout()
	switch {
	case err != nil:
		k.wrong(p+".kind", "%v: want randflake, ulid, or a layout of Snowflake IDs such as twitter", err)
	case s.Store != "" && s.StoreFile != "":
		k.wrong(p+".storeFile", "there is a store, too: leave one of them out")
	case s.Store == "" && s.StoreFile == "" && s.Kind != "ulid":
		k.wrong(p+".store", "there is none: want a directory, as file:/var/lib/randflaked, or the URL of a server")
	}
	if location, err := s.Location(); err == nil && location != "" {
		_, _, err := url.Parse(location)
		k.must(err == nil, p+".store", "%v", err)
	}
	k.must(s.SecretFile == "" || layout == nil && s.Kind != "ulid", p+".secretFile", "%s IDs have no secret: leave it out", s.Kind)
	k.must(!strings.Contains(s.StoreFile, "://"), p+".storeFile", "it looks like a URL: want the name of a file that has it, or name it as store")
	_, err = randflake.ParseSecret(strings.TrimSpace(s.SecretFile))
	k.must(err != nil, p+".secretFile", "it looks like a secret: want the name of a file that has it")
	k.must(s.Nodes >= 0 && s.Nodes <= randflake.MaxNode+1, p+".nodes", "%d: want 1 to %d", s.Nodes, randflake.MaxNode+1)
	k.limits(p+".limits", s.Limits)
	counters := map[string]bool{}
	for i, c := range s.Counters {
		p := fmt.Sprintf("%s.counters[%d]", p, i)
		k.unique(p+".name", c.Name, counterName, counters)
		k.must(c.Start >= 0 && c.Step >= 0 && (c.End == 0 || c.End >= c.Start), p, "want a start of 1 or more, an end that is not before it, and a step of 1 or more")
		_, err := c.PeriodAt(time.Now())
		k.must(err == nil, p+".period", "%v", err)
		k.must(c.Zone == "" || c.Zone != "Local" && c.Period != "", p+".zone", "%q: want one such as Europe/Berlin, with a period", c.Zone)
		k.must(len(c.Check) <= 200, p+".check", "want at most 200 bytes")
	}
}

// Layout returns the layout of a space of Snowflake IDs, and nil for other kinds.
func (s Space) Layout() (*snowflake.Layout, error) {
	if s.Kind == "randflake" || s.Kind == "ulid" {
		return nil, nil
	}
	return snowflake.ParseLayout(s.Kind)
}

// Location returns where the store is, and nothing for a space without one.
func (s Space) Location() (string, error) {
	if s.StoreFile == "" {
		return s.Store, nil
	}
	text, err := os.ReadFile(s.StoreFile)
	if err != nil {
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			err = pathErr.Err // without the name, which may be what the file should have
		}
		return "", fmt.Errorf("storeFile: %w", err)
	}
	location := strings.TrimSpace(string(text))
	if location == "" {
		return "", errors.New("storeFile: it is empty: want a directory, or the URL of a server")
	}
	return location, nil
}

func (k *checker) limits(p string, l Limits) {
	k.must(l.Nodes >= 0 && l.Nodes <= randflake.MaxNode+1, p+".nodes", "%d: want 1 to %d, or 0 for no bound", l.Nodes, randflake.MaxNode+1)
	k.must(l.Rate >= 0 && l.Rate <= math.MaxInt32, p+".rate", "%v: want calls a second, or 0 for the default", l.Rate)
}

func (k *checker) issuer(p string, i Issuer, seen map[string]bool) {
	k.must(i.Issuer != "", p+".issuer", "there is none: want what its tokens have for iss")
	k.must(!seen[i.Issuer], p+".issuer", "it is there twice")
	seen[i.Issuer] = true
	k.must(i.Audience != "", p+".audience", "there is none: want what tokens for this service have for aud; those for others must not do")
	u, err := neturl.Parse(i.JWKS)
	k.must(err == nil && u.Scheme != "http", p+".jwks", "want a file, or a URL that begins with https:, with the public keys of the issuer")
	k.must(i.JWKS != "" || strings.HasPrefix(i.Issuer, "https://"), p+".jwks", "there is none: want one, unless issuer is a URL that begins with https://, which says where the keys are")
}

func (k *checker) principal(p string, who Principal, issuers, held map[string]bool) {
	claim := func(p string, key string) {
		k.must(!held[key], p, "another principal has it: want it in one place")
		held[key] = true
	}
	k.must(who.Name != Self && who.Name != Anyone, p+".name", "%q stands for other callers in the audit log: take another name", who.Name)
	k.must(len(who.Certificates.DNS)+len(who.Certificates.URI)+len(who.Tokens) > 0 || who.ServiceAccount != nil, p, "nothing shows who it is: want certificates, tokens or a serviceAccount")
	for i, name := range who.Certificates.DNS {
		k.must(name != "" && !strings.ContainsAny(name, ":/*"), fmt.Sprintf("%s.certificates.dns[%d]", p, i), "%q: want a DNS name, such as billing.example.org; URIs belong into uri", name)
		claim(fmt.Sprintf("%s.certificates.dns[%d]", p, i), "DNS name "+strings.ToLower(name))
	}
	for i, name := range who.Certificates.URI {
		u, err := neturl.Parse(name)
		k.must(err == nil && u.Scheme != "" && u.String() == name, fmt.Sprintf("%s.certificates.uri[%d]", p, i), "%q: want a URI, such as spiffe://example.org/billing", name)
		claim(fmt.Sprintf("%s.certificates.uri[%d]", p, i), "URI "+name)
	}
	for i, t := range who.Tokens {
		hash, err := hex.DecodeString(t)
		k.must(err == nil && len(hash) == 32, fmt.Sprintf("%s.tokens[%d]", p, i), "want the 64 hexadecimal digits of a token's SHA-256, and not the token: randflaked token makes both")
		claim(fmt.Sprintf("%s.tokens[%d]", p, i), "token "+strings.ToLower(t))
	}
	if a := who.ServiceAccount; a != nil {
		k.known(p+".serviceAccount.issuer", a.Issuer, issuers)
		k.must(a.Subject != "", p+".serviceAccount.subject", "there is none: want one such as system:serviceaccount:NAMESPACE:NAME")
		claim(p+".serviceAccount", "account "+a.Issuer+" "+a.Subject)
	}
}

func (k *checker) rule(p string, r Rule, principals, spaces map[string]bool) {
	each := func(field string, values []string, check func(path, value string)) {
		k.must(len(values) > 0, p+"."+field, "there are none: want a list")
		for i, value := range values {
			check(fmt.Sprintf("%s.%s[%d]", p, field, i), value)
		}
	}
	principals["*"], spaces["*"] = true, true // all of them
	each("principals", r.Principals, func(p string, value string) { k.known(p, value, principals) })
	each("spaces", r.Spaces, func(p string, value string) { k.known(p, value, spaces) })
	each("verbs", r.Verbs, func(p string, verb string) {
		k.must(slices.Contains(Verbs, verb), p, "%q: want one of %s", verb, strings.Join(Verbs, ", "))
	})
	k.limits(p+".limits", r.Limits)
}

// listen sees to it that nobody from elsewhere comes in without a name, nor with one that everybody on the way can read.
func (k *checker) listen(c *Config) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		k.wrong("listen", "%q: want an address and a port, such as localhost:8080 or :8443", c.Listen)
		return
	}
	if _, _, err := net.SplitHostPort(c.Probes); c.Probes != "" && err != nil {
		k.wrong("probes", "%q: want an address and a port, such as :8081", c.Probes)
	}
	k.must(c.TLS == nil || c.TLS.Certificate != "" && c.TLS.Key != "", "tls", "want certificate and key, the names of files")
	ip := net.ParseIP(host)
	switch local := host == "localhost" || ip != nil && ip.IsLoopback(); {
	case local:
	case !c.Guarded():
		k.wrong("listen", "%s is open to others, and there are no principals: name them, with rules, or listen on localhost", c.Listen)
	case c.TLS == nil && !c.Plaintext:
		k.wrong("listen", "%s is open to others without TLS: set tls, or plaintext to true where a proxy has it", c.Listen)
	}
	k.must(c.Guarded() || len(c.Rules) == 0, "rules", "they are for nobody: name principals")
}

// Guarded says whether calls are checked: without any principal everything is allowed, but from this machine alone.
func (c *Config) Guarded() bool { return len(c.Principals) > 0 }
