package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	neturl "net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/lease/url"
)

// A checker collects what is wrong with a file. Each of its methods checks a value at a path, such as spaces[0].name.
type checker struct {
	file     string
	problems []error
	defined  map[string]string // paths so far, by kind and name, such as "space orders"
}

// refuseUnless refuses the value at a path, for what the format says, unless it is right.
func (k *checker) refuseUnless(right bool, path, format string, args ...any) {
	if !right {
		k.refuse(path, format, args...)
	}
}

func (k *checker) refuse(path, format string, args ...any) {
	problem := fmt.Sprintf(format, args...)
	k.problems = append(k.problems, fmt.Errorf("config: %s: %s: %s", k.file, path, problem))
}

// nameForm is the form of names of spaces and principals.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// counterName is the form of names that package counter takes, or of a pattern of them.
var counterName = regexp.MustCompile(`^([a-z0-9]([a-z0-9/_.-]{0,55}[a-z0-9])?(/\*)?|\*)$`)

// check checks the whole configuration. What rules and principals refer to comes before them.
func (k *checker) check(c *Config) {
	k.defined = map[string]string{"space *": "", "principal *": ""} // in rules, all of them
	k.refuseUnless(len(c.Spaces) > 0, "spaces", "there is none: want one at least, with name, kind and store")
	for i, s := range c.Spaces {
		path := fmt.Sprintf("spaces[%d]", i)
		k.name(path+".name", "space", s.Name, nameForm)
		k.checkSpace(path, s)
	}
	for i, s := range c.Issuers {
		k.issuer(fmt.Sprintf("issuers[%d]", i), s)
	}
	hasClientCA := c.TLS != nil && c.TLS.ClientCA != ""
	for i, who := range c.Principals {
		path := fmt.Sprintf("principals[%d]", i)
		k.name(path+".name", "principal", who.Name, nameForm)
		k.principal(path, who)
		k.refuseUnless(who.Certificates.none() || hasClientCA, path+".certificates",
			"no client has a certificate without tls.clientCA: set it")
	}
	for i, r := range c.Rules {
		k.rule(fmt.Sprintf("rules[%d]", i), r)
	}
	k.refuseUnless(c.Guarded() || len(c.Rules) == 0, "rules", "they are for nobody: name principals")
	k.listen(c)
	if _, _, err := net.SplitHostPort(c.Probes); c.Probes != "" && err != nil {
		k.refuse("probes", "%q: want an address and a port, such as :8081", c.Probes)
	}
	hasPair := c.TLS != nil && c.TLS.Certificate != "" && c.TLS.Key != ""
	k.refuseUnless(c.TLS == nil || hasPair, "tls", "want certificate and key, the names of files")
	_, err := c.Log.ParseLevel()
	k.refuseUnless(err == nil, "log.level", "want debug, info, warn or error")
}

// wholeFields are the fields with whole numbers.
var wholeFields = []string{"nodes", "batch", "start", "step", "last"}

// wholeNumbers checks that there is no 1.5 in place of one, from which package yaml has cut the fraction.
func (k *checker) wholeNumbers(n *yaml.Node) {
	for i, inner := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1 // after its key
		if isValue && inner.ShortTag() == "!!float" {
			key := cmp.Or(n.Content[i-1].Alias, n.Content[i-1]).Value
			k.refuseUnless(!slices.Contains(wholeFields, key), fmt.Sprintf("line %d: %s", inner.Line, key),
				"want a whole number, in digits alone")
		}
		k.wholeNumbers(inner)
	}
}

// name checks the name of something, which must be there once.
func (k *checker) name(path, kind, value string, form *regexp.Regexp) {
	k.refuseUnless(form.MatchString(value), path, "%q: want a name that matches %s", value, form)
	k.define(path, kind, value)
}

// define notes where there is something of a kind, or the problem if it is there already.
func (k *checker) define(path, kind, value string) {
	first, found := k.defined[kind+" "+value]
	k.refuseUnless(!found, path, "it is the same as %s: want it in one place", first)
	k.defined[kind+" "+value] = path
}

// mustBeDefined checks that something of a kind is defined.
func (k *checker) mustBeDefined(path, kind, value string) {
	_, found := k.defined[kind+" "+value]
	k.refuseUnless(found, path, "%q is not defined: want one of those in this file", value)
}

func (k *checker) checkSpace(path string, s Space) {
	k.refuseUnless(slices.Contains(Kinds, s.Kind), path+".kind", "%q: want one of %s", s.Kind, strings.Join(Kinds, ", "))
	k.refuseUnless(s.Layout == "" || s.Kind == "snowflake", path+".layout", "%s IDs have one layout: leave it out", s.Kind)
	if _, err := s.OpenLayout(); err != nil {
		k.refuse(path+".layout", "%v: want that of the Snowflake IDs, such as twitter", err)
	}
	k.store(path, s)
	k.secret(path+".secretFile", s)
	k.refuseUnless(s.Nodes >= 0 && s.Nodes <= randflake.MaxNode+1, path+".nodes",
		"%d: want 1 to %d", s.Nodes, randflake.MaxNode+1)
	k.quota(path+".quota", s.Quota)
	for i, c := range s.Counters {
		at := fmt.Sprintf("%s.counters[%d]", path, i)
		k.name(at+".name", path+" counter", c.Name, counterName)
		k.counter(at, c)
	}
}

// store checks where the store of a space is. IDs that need no lease need none, unless there are counters.
func (k *checker) store(path string, s Space) {
	needsStore := s.Kind != "ulid" || len(s.Counters) > 0
	switch {
	case s.Store != "" && s.StoreFile != "":
		k.refuse(path+".storeFile", "there is a store, too: leave one of them out")
	case s.Store == "" && s.StoreFile == "" && needsStore:
		k.refuse(path+".store", "there is none: want a directory, as file:/var/lib/randflaked, or the URL of a server")
	}
	k.refuseUnless(!strings.Contains(s.StoreFile, "://"), path+".storeFile",
		"it looks like a URL: want the name of a file that has it, or name it as store")
	location, err := s.Location()
	if err != nil || location == "" { // a storeFile may be on another machine
		return
	}
	at, name, err := url.Parse(location)
	if err != nil {
		k.refuse(path+".store", "%v", err)
		return
	}
	k.define(path+".store", "store", at.URL+filepath.Clean(at.Dir)+" "+cmp.Or(name, "default"))
}

func (k *checker) secret(path string, s Space) {
	k.refuseUnless(s.SecretFile == "" || s.Kind == "randflake", path, "%s IDs have no secret: leave it out", s.Kind)
	_, err := randflake.ParseSecret(strings.TrimSpace(s.SecretFile))
	k.refuseUnless(err != nil, path, "it looks like a secret: want the name of a file that has it")
}

const maxSeries = 200 // bytes, as in package counter

func (k *checker) counter(path string, c Counter) {
	k.refuseUnless(c.Start >= 1 && c.Step >= 1 && c.Last >= c.Start, path,
		"want a start of 1 or more, a last that is not before it, and a step of 1 or more")
	if _, err := numbers.ParsePeriods(c.Periods); c.Periods != "" && err != nil {
		k.refuse(path+".periods", "%v", err)
	}
	_, err := time.LoadLocation(c.Zone)
	isZone := err == nil && c.Zone != "Local" // the service's machine must not matter
	k.refuseUnless(isZone && (c.Zone == "" || c.Periods != ""), path+".zone",
		"%q: want one of IANA's, such as Europe/Berlin, with periods", c.Zone)
	k.refuseUnless(len(c.Series) <= maxSeries, path+".series", "want at most %d bytes", maxSeries)
}

func (k *checker) quota(path string, q Quota) {
	k.refuseUnless(q.Nodes >= 0 && q.Nodes <= randflake.MaxNode+1, path+".nodes",
		"%d: want 1 to %d, or 0 for no bound", q.Nodes, randflake.MaxNode+1)
	k.refuseUnless(q.Rate >= 0 && q.Rate <= math.MaxInt32, path+".rate",
		"%v: want calls a second, or 0 for the default", q.Rate)
}

func (k *checker) issuer(path string, i Issuer) {
	k.refuseUnless(i.Issuer != "", path+".issuer", "there is none: want what its tokens have for iss")
	k.define(path+".issuer", "issuer", i.Issuer)
	k.refuseUnless(i.Audience != "", path+".audience",
		"there is none: want what tokens for this service have for aud; those for others must not do")
	u, err := neturl.Parse(i.JWKS)
	k.refuseUnless(err == nil && u.Scheme != "http", path+".jwks",
		"want a file, or a URL that begins with https:, with the public keys of the issuer")
	k.refuseUnless(i.JWKS != "" || strings.HasPrefix(i.Issuer, "https://"), path+".jwks",
		"there is none: want one, unless issuer is a URL that begins with https://, which says where the keys are")
}

func (k *checker) principal(path string, who Principal) {
	k.refuseUnless(who.Name != Self && who.Name != Anyone, path+".name",
		"%q stands for other callers in the audit log: take another name", who.Name)
	shows := !who.Certificates.none() || len(who.TokenHashes) > 0 || len(who.Tokens) > 0
	k.refuseUnless(shows, path, "nothing shows who it is: want certificates, tokenHashes or tokens")
	for i, name := range who.Certificates.DNS {
		path := fmt.Sprintf("%s.certificates.dns[%d]", path, i)
		k.refuseUnless(name != "" && !strings.ContainsAny(name, ":/*"), path,
			"%q: want a DNS name, such as billing.example.org; URIs belong into uri", name)
		k.define(path, "DNS name", strings.ToLower(name))
	}
	for i, name := range who.Certificates.URI {
		path := fmt.Sprintf("%s.certificates.uri[%d]", path, i)
		u, err := neturl.Parse(name)
		k.refuseUnless(err == nil && u.Scheme != "" && u.String() == name, path,
			"%q: want a URI, such as spiffe://example.org/billing", name)
		k.define(path, "URI", name)
	}
	for i, t := range who.TokenHashes {
		path := fmt.Sprintf("%s.tokenHashes[%d]", path, i)
		hash, err := hex.DecodeString(t)
		k.refuseUnless(err == nil && len(hash) == sha256.Size, path,
			"want the 64 hexadecimal digits of a token's SHA-256, and not the token: randflaked token makes both")
		k.refuseUnless(!bytes.Equal(hash, sha256.New().Sum(nil)), path, "it is the hash of an empty token: want another one")
		k.define(path, "token", strings.ToLower(t))
	}
	for i, t := range who.Tokens {
		path := fmt.Sprintf("%s.tokens[%d]", path, i)
		k.mustBeDefined(path+".issuer", "issuer", t.Issuer)
		k.refuseUnless(t.Subject != "", path+".subject",
			"there is none: want one such as system:serviceaccount:NAMESPACE:NAME")
		k.define(path, "subject", t.Issuer+" "+t.Subject)
	}
}

func (k *checker) rule(path string, r Rule) {
	each := func(field string, values []string, check func(path, value string)) {
		k.refuseUnless(len(values) > 0, path+"."+field, "there are none: want a list")
		for i, value := range values {
			check(fmt.Sprintf("%s.%s[%d]", path, field, i), value)
		}
	}
	each("principals", r.Principals, func(path, name string) { k.mustBeDefined(path, "principal", name) })
	each("spaces", r.Spaces, func(path, name string) { k.mustBeDefined(path, "space", name) })
	each("verbs", r.Verbs, func(path, verb string) {
		k.refuseUnless(slices.Contains(Verbs, verb), path, "%q: want one of %s", verb, strings.Join(Verbs, ", "))
	})
	k.quota(path+".quota", r.Quota)
}

// listen sees to it that callers from other machines show who they are, over encrypted connections.
func (k *checker) listen(c *Config) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		k.refuse("listen", "%q: want an address and a port, such as localhost:8080 or :8443", c.Listen)
		return
	}
	isLocal := host == "localhost" || net.ParseIP(host).IsLoopback()
	isEncrypted := c.TLS != nil || c.Plaintext // by this process, or by a proxy before it
	switch {
	case !isLocal && !c.Guarded():
		k.refuse("listen", "%s is open to others, and there are no principals: "+
			"name them, with rules, or listen on localhost", c.Listen)
	case !isLocal && !isEncrypted:
		k.refuse("listen", "%s is open to others without TLS: "+
			"set tls, or plaintext to true where a proxy has it", c.Listen)
	}
}
