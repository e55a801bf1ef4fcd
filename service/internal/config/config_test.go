package config

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// whole has everything that a configuration can have.
const whole = `listen: :8443
tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}
audit: {file: /var/log/randflaked/audit.log}
spaces:
- name: orders
  kind: randflake
  store: postgres://me:pass-word@db/ids?space=orders
  secretFile: /etc/randflaked/orders
  nodes: 4
  quota: {nodes: 16, batch: 1000, rate: 50.5}
  counters:
  - {name: invoices/2026, start: 1000, step: 2, last: 99999}
- {name: shop, kind: randflake, store: etcd://etcd}
- {name: sorted, kind: snowflake, layout: twitter, storeFile: /etc/randflaked/sorted}
- {name: events, kind: ulid}
issuers:
- issuer: https://kubernetes.default.svc
  audience: randflaked
  jwks: https://kubernetes.default.svc/openid/v1/jwks
  ca: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
  tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
principals:
- {name: billing, certificates: {uri: [spiffe://prod/billing], dns: [Billing.prod]}, tokenHashes: [7b3d979ca8330a94fa7e9e1b466d8b99e0bcdea1ec90596c0dcc8d7ef6b4300c]}
- {name: web, tokens: [{issuer: https://kubernetes.default.svc, subject: "system:serviceaccount:shop:web"}]}
rules:
- {principals: [billing], spaces: [orders], verbs: [mint, inspect], quota: {batch: 10}}
- {principals: ['*'], spaces: ['*'], verbs: [lease, list, count, set]}
`

// Texts in whole that rows of the tests replace.
const (
	hash       = "7b3d979ca8330a94fa7e9e1b466d8b99e0bcdea1ec90596c0dcc8d7ef6b4300c" // of a token
	withTLS    = "tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}"
	billing    = "{uri: [spiffe://prod/billing], dns: [Billing.prod]}"
	kubernetes = "- issuer: https://kubernetes.default.svc\n"
	keys       = "  jwks: https://kubernetes.default.svc/openid/v1/jwks\n"
	signed     = `tokens: [{issuer: https://kubernetes.default.svc, subject: "system:serviceaccount:shop:web"}]`
)

func TestRead(t *testing.T) {
	file := t.TempDir() + "/c.yaml"
	require.Refuses(t, fs.ErrNotExist, "a file that is not there")(Read(file))
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
	c, err := Read(file)
	require.NoError(t, err)
	want := Space{
		Name:       "orders",
		Kind:       "randflake",
		Store:      "postgres://me:pass-word@db/ids?space=orders",
		SecretFile: "/etc/randflaked/orders",
		Nodes:      4,
		Quota:      Quota{Nodes: 16, Batch: 1000, Rate: 50.5},
		Counters:   []Counter{{Name: "invoices/2026", Start: 1000, Step: 2, Last: 99999}},
	}
	require.That(t, reflect.DeepEqual(c.Spaces[0], want) && c.Rules[0].Quota.Batch == 10 && c.Guarded(),
		"read %+v", c)
}

// TestCounter: a counter is that of its name, or of the longest pattern.
func TestCounter(t *testing.T) {
	s := Space{Counters: []Counter{{Name: "*"}, {Name: "a/*"}, {Name: "a/b/*"}, {Name: "a/b"}}}
	for range 2 {
		for name, want := range map[string]string{
			"a":     "*",
			"x/y":   "*",
			"a/b":   "a/b",
			"a/b/":  "a/*",
			"a/c":   "a/*",
			"a/b/c": "a/b/*",
			"":      "", // no counter
			"*":     "",
			"a/*":   "",
		} {
			c, ok := s.Counter(name)
			if ok != (want != "") || ok && c.Name != want {
				t.Errorf("%q is of %q, %v; want %q", name, c.Name, ok, want)
			}
		}
		slices.Reverse(s.Counters)
	}
}

// TestPeriodAt: a period is that of the counter's zone.
func TestPeriodAt(t *testing.T) {
	late := time.Date(2026, 7, 1, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		counter Counter
		key     string
	}{
		{Counter{}, ""},
		{Counter{Periods: "day"}, "2026-07-01"},
		{Counter{Periods: "day", Zone: "Europe/Berlin"}, "2026-07-02"},
	} {
		got, err := tt.counter.PeriodAt(late)
		require.That(t, got.Key == tt.key && err == nil,
			"%+v is in the period %q, error %v; want %q", tt.counter, got.Key, err, tt.key)
	}
}

// TestLocation: a space says itself where its store is, or by a file, whose name is not shown as it
// may be what the file should have.
func TestLocation(t *testing.T) {
	file := t.TempDir() + "/pass-word"
	for _, tt := range []struct {
		what, text string
		space      Space
		want       string
		err        string
	}{
		{"store", "", Space{Store: "file:/a"}, "file:/a", ""},
		{"neither", "", Space{}, "", ""},
		{"file", " file:/b\n", Space{StoreFile: file}, "file:/b", ""},
		{"empty file", "\n", Space{StoreFile: file}, "", "storeFile: it is empty: want a directory"},
		{"no file", "", Space{StoreFile: file + "/x"}, "", "storeFile: not a directory"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
		got, err := tt.space.Location()
		text := fmt.Sprint(err)
		require.That(t, got == tt.want && (err != nil) == (tt.err != "") && strings.Contains(text, tt.err),
			"%s: %q, error %v; want %q, %s", tt.what, got, err, tt.want, tt.err)
		require.Omits(t, text, "pass-word", "%s: the error shows what the file says", tt.what)
	}
}

// TestRight: what is at the edge of the right is right.
func TestRight(t *testing.T) {
	const guarded = "principals: [{name: a, tokenHashes: [" + hash + "]}]"
	for _, tt := range []struct{ old, new string }{
		{"nodes: 4", "nodes: 131072"},
		{"nodes: 4", "nodes: 0"},
		{"nodes: 16", "nodes: 131072"},
		{"rate: 50.5", "rate: 2147483647"},
		{"{name: invoices/2026, start: 1000, step: 2, last: 99999}", "{name: a}"},
		{"last: 99999", "last: 1000"},
		{"last: 99999", "periods: day, zone: Europe/Berlin"},
		{"last: 99999", "periods: fiscal-year-04, series: " + strings.Repeat("x", 200)},
		{keys, "  jwks: keys.json\n"},
		{keys, ""},
		{billing + ", tokenHashes: [" + hash + "]", "{uri: [spiffe://prod/billing]}"},
		{billing + ", tokenHashes: [" + hash + "]", "{dns: [Billing.prod]}"},
		{"certificates: " + billing + ", ", ""},
		{"listen: :8443", "listen: :8443\nprobes: :8081"},
		{"listen: :8443", "listen: :8443\nlog: {level: debug}"},
		{"/etc/randflaked/sorted", "no/such/file"},
		{whole, "spaces: [{name: a, kind: ulid}]"},
		{whole, "spaces: [{name: a, kind: ulid}]\nissuers: [{issuer: idp, audience: randflaked, jwks: keys.json}]"},
		{whole, "listen: localhost:1\nspaces: [{name: a, kind: ulid}]"},
		{whole, "listen: 127.1.2.3:1\nspaces: [{name: a, kind: ulid}]"},
		{whole, "listen: '[::1]:1'\nspaces: [{name: a, kind: ulid}]"},
		{whole, "listen: :1\nplaintext: true\nspaces: [{name: a, kind: ulid}]\n" + guarded},
		{whole, "spaces: [{name: a, kind: ulid}]\n" + guarded + "\nrules: [{principals: [a], spaces: [a], verbs: [mint]}]"},
	} {
		require.Contains(t, whole, tt.old, "what is to be replaced")
		c, err := Parse("w.yaml", []byte(strings.Replace(whole, tt.old, tt.new, 1)))
		if err != nil {
			t.Errorf("%s\ninstead of\n%s\nerror %v", tt.new, tt.old, err)
			continue
		}
		require.Equal(t, c.Guarded(), len(c.Principals) > 0, "%s: guarded", tt.new)
		level, err := c.Log.ParseLevel()
		isDebug := level == slog.LevelDebug
		require.That(t, err == nil && isDebug == strings.Contains(tt.new, "debug"), "%s: level %v, %v", tt.new, level, err)
	}
}

// TestWrong: what is wrong is told with its place, and what to do; all of it at once, and without
// anything that may be secret.
func TestWrong(t *testing.T) {
	place := t.TempDir() + "/place"
	require.NoError(t, os.WriteFile(place, []byte("nosuchstore://me:pass-word@host"), 0o600))
	for _, tt := range []struct{ old, new, want string }{
		{"listen: :8443", "listen: 8443", `w.yaml: listen: "8443": want an address and a port`},
		{withTLS, "tls: {certificate: cert.pem, clientCA: ca.pem}", "w.yaml: tls: want certificate and key"},
		{withTLS, "tls: {key: key.pem, clientCA: ca.pem}", "w.yaml: tls: want certificate and key"},
		{withTLS, "tls: {certificate: c, key: k}", "certificates: no client has a certificate without tls.clientCA"},
		{withTLS, "", "w.yaml: listen: :8443 is open to others without TLS"},
		{"audit:", "audits:", "line 3: field audits not found"},
		{"name: orders\n", "name: Orders\n", `w.yaml: spaces[0].name: "Orders": want a name that matches`},
		{"name: shop", "name: orders", "w.yaml: spaces[1].name: it is the same as spaces[0].name: want it in one place"},
		{"kind: randflake\n", "kind: random\n", `w.yaml: spaces[0].kind: "random": want one of randflake, snowflake, ulid`},
		{"kind: snowflake, layout: twitter", "kind: snowflake", "w.yaml: spaces[2].layout: "},
		{"kind: ulid", "kind: ulid, layout: twitter", "w.yaml: spaces[3].layout: ulid IDs have one layout: leave it out"},
		{"kind: ulid", "kind: snowflake, layout: discord", "w.yaml: spaces[3].store: there is none: want a directory"},
		{"kind: ulid", "kind: ulid, counters: [{name: a}]", "w.yaml: spaces[3].store: there is none: want a directory"},
		{"  nodes: 4\n", "  nodes: 4\n  storeFile: url\n", "w.yaml: spaces[0].storeFile: there is a store, too"},
		{"secretFile:", "secret: pass-word\n  secretFile:", "line 8: field secret not found"},
		{"/etc/randflaked/sorted", "redis://:pass-word@db", "w.yaml: spaces[2].storeFile: it looks like a URL: want the name of a file"},
		{"/etc/randflaked/orders", "000102030405060708090a0b0c0d0e0f",
			"w.yaml: spaces[0].secretFile: it looks like a secret: want the name of a file"},
		{"nodes: 4", "nodes: *pass-word", "unknown anchor what is there referenced"},
		{"nodes: 4", "nodes: \"`pass-word`\"", "line 9: cannot unmarshal !!str what is there into int"},
		{"rate: 50.5", "rate: .inf", "quota.rate: +Inf: want calls a second"},
		{"kind: ulid", "kind: ulid, secretFile: x", "w.yaml: spaces[3].secretFile: ulid IDs have no secret"},
		{"kind: snowflake, layout: twitter", "kind: snowflake, layout: twitter, secretFile: x", "w.yaml: spaces[2].secretFile: snowflake IDs have no secret"},
		{"nodes: 4", "nodes: 131073", "w.yaml: spaces[0].nodes: 131073: want 1 to 131072"},
		{"nodes: 4", "nodes: -1", "w.yaml: spaces[0].nodes: -1: want 1 to 131072"},
		{"nodes: 16", "nodes: 131073", "w.yaml: spaces[0].quota.nodes: 131073: want 1 to 131072, or 0 for no bound"},
		{"rate: 50.5", "rate: 2147483648", "w.yaml: spaces[0].quota.rate: 2.147483648e+09: want calls a second"},
		{"quota: {batch: 10}", "quota: {nodes: -1}", "w.yaml: rules[0].quota.nodes: -1: want 1 to"},
		{"etcd://etcd", "'postgres://me:pass-word@db/ids?space=orders'", "w.yaml: spaces[1].store: it is the same as spaces[0].store"},
		{"etcd://etcd", "nosuchstore://me:pass-word@host", "w.yaml: spaces[1].store: "},
		{"/etc/randflaked/sorted", place, "w.yaml: spaces[2].store: "},
		{"listen: :8443", "listen: :8443\nprobes: 8081", `w.yaml: probes: "8081": want an address and a port`},
		{"batch: 1000, rate: 50.5", "batch: -1, rate: x",
			"line 10: cannot unmarshal !!int what is there into uint64\n  line 10: cannot unmarshal"},
		{"quota: {nodes: 16, batch: 1000, rate: 50.5}", "quota: 16", "line 10: cannot unmarshal"},
		{"listen: :8443", "listen: :8443\nplaintext: 7", "line 2: cannot unmarshal !!int what is there into bool"},
		{"listen: :8443", "listen: [pass-word]", "line 1: cannot unmarshal !!seq into string"},
		{"listen: :8443", "listen: :8443\nlog: {level: loud}", "w.yaml: log.level: want debug, info, warn or error"},
		{"rate: 50.5", "rate: -1", "quota.rate: -1: want calls a second"},
		{"name: invoices/2026", "name: Invoices", "w.yaml: spaces[0].counters[0].name:"},
		{"name: invoices/2026", "name: invoices*", "w.yaml: spaces[0].counters[0].name:"},
		{"last: 99999", "periods: Day", `w.yaml: spaces[0].counters[0].periods: numbers: invalid option: periods "Day": want day, week, month`},
		{"last: 99999", "periods: day, zone: Europe/Atlantis", `w.yaml: spaces[0].counters[0].zone: "Europe/Atlantis": want one of IANA's, such as Europe/Berlin`},
		{"last: 99999", "periods: day, zone: Local", `w.yaml: spaces[0].counters[0].zone: "Local": want one of IANA's`},
		{"last: 99999", "zone: Europe/Berlin",
			`w.yaml: spaces[0].counters[0].zone: "Europe/Berlin": want one of IANA's, such as Europe/Berlin, with periods`},
		{"last: 99999", "series: " + strings.Repeat("x", 201), "w.yaml: spaces[0].counters[0].series: want at most 200 bytes"},
		{"start: 1000", "start: 0", "w.yaml: spaces[0].counters[0]: want a start of 1 or more"},
		{"step: 2", "step: 0", "w.yaml: spaces[0].counters[0]: want a start of 1 or more"},
		{"start: 1000", "start: 1.5", "w.yaml: line 12: start: want a whole number, in digits alone"},
		{"step: 2", "step: 2.5", "w.yaml: line 12: step: want a whole number"},
		{"last: 99999", "last: 1e6", "w.yaml: line 12: last: want a whole number"},
		{"start: 1000", "series: &a 1.5, start: *a", "w.yaml: line 12: start: want a whole number"},
		{"start: 1000", "series: &a start, ? *a : 1.5", "w.yaml: line 12: start: want a whole number"},
		{"nodes: 4", "nodes: 4.5", "w.yaml: line 9: nodes: want a whole number"},
		{"nodes: 16, batch: 1000", "nodes: 1.5", "w.yaml: line 10: nodes: want a whole number"},
		{"batch: 10}", "batch: 10.5}", "w.yaml: line 26: batch: want a whole number"},
		{"last: 99999", "last: 0", "w.yaml: spaces[0].counters[0]: want a start of 1 or more"},
		{"last: 99999", "last: 9", "w.yaml: spaces[0].counters[0]: want a start of 1 or more, a last that is not before it"},
		{"  audience: randflaked\n", "", "w.yaml: issuers[0].audience: there is none"},
		{"jwks: https://", "jwks: http://", "issuers[0].jwks: want a file, or a URL that begins with https:"},
		{kubernetes + "  audience: randflaked\n" + keys, "- issuer: http://kubernetes.default.svc\n  audience: randflaked\n",
			"issuers[0].jwks: there is none"},
		{kubernetes, "- issuer: \"\"\n", "issuers[0].issuer: there is none"},
		{hash, "pass-word", "w.yaml: principals[0].tokenHashes[0]: want the 64 hexadecimal digits of a token's SHA-256, and not the token"},
		{hash, "7b3d979c", "w.yaml: principals[0].tokenHashes[0]: want the 64 hexadecimal digits"},
		{hash, fmt.Sprintf("%x", sha256.Sum256(nil)), "w.yaml: principals[0].tokenHashes[0]: it is the hash of an empty token"},
		{hash, hash + "0", "w.yaml: principals[0].tokenHashes[0]: want the 64 hexadecimal digits"},
		{"jwks: https://kubernetes.default.svc", "jwks: https://%zz", "issuers[0].jwks: want a file"},
		{"[" + hash + "]", "pass-word", "cannot unmarshal !!str what is there into []string"},
		{"name: web,", "name: web, certificates: {uri: [spiffe://prod/billing]},",
			"w.yaml: principals[1].certificates.uri[0]: it is the same as principals[0].certificates.uri[0]"},
		{"name: web,", "name: web, tokenHashes: [" + strings.ToUpper(hash) + "],", "w.yaml: principals[1].tokenHashes[0]: it is the same as principals[0].tokenHashes[0]"},
		{"name: web,", "name: web, certificates: {dns: [billing.prod]},", "w.yaml: principals[1].certificates.dns[0]: it is the same as principals[0].certificates.dns[0]"},
		{"name: web,", "name: web, certificates: {dns: ['spiffe://prod/web']},",
			`w.yaml: principals[1].certificates.dns[0]: "spiffe://prod/web": want a DNS name`},
		{"name: web,", "name: web, certificates: {dns: ['']},", `w.yaml: principals[1].certificates.dns[0]: "": want a DNS name`},
		{"name: web,", "name: web, certificates: {uri: [web.prod]},", `w.yaml: principals[1].certificates.uri[0]: "web.prod": want a URI`},
		{"name: web,", "name: web, certificates: {uri: ['spiffe://prod/a shop']},",
			`w.yaml: principals[1].certificates.uri[0]: "spiffe://prod/a shop": want a URI`},
		{"name: web,", "name: web, certificates: {uri: ['spiffe://%zz']},",
			`w.yaml: principals[1].certificates.uri[0]: "spiffe://%zz": want a URI`},
		{"name: web,", "name: randflaked,", `w.yaml: principals[1].name: "randflaked" stands for other callers`},
		{"name: web,", "name: anyone,", `w.yaml: principals[1].name: "anyone" stands for other callers`},
		{"{issuer: https://kubernetes.default.svc, subject", "{issuer: https://other, subject",
			`principals[1].tokens[0].issuer: "https://other" is not defined`},
		{"tokenHashes: [" + hash + "]}", signed + "}", "w.yaml: principals[1].tokens[0]: it is the same as principals[0].tokens[0]"},
		{`subject: "system:serviceaccount:shop:web"`, `subject: ""`, "principals[1].tokens[0].subject: there is none"},
		{", " + signed, "", "w.yaml: principals[1]: nothing shows who it is"},
		{"principals: [billing]", "principals: [billings]", `w.yaml: rules[0].principals[0]: "billings" is not defined`},
		{"principals: [billing], ", "", "w.yaml: rules[0].principals: there are none"},
		{"spaces: [orders]", "spaces: [order]", `w.yaml: rules[0].spaces[0]: "order" is not defined`},
		{"verbs: [mint, inspect]", "verbs: [mint, all]", `w.yaml: rules[0].verbs[1]: "all": want one of lease, list,`},
		{"quota: {batch: 10}", "quota: {bach: 10}", "field bach not found"},
		{whole, "", "w.yaml is empty"},
		{whole, "listen: localhost:1\n---\nlisten: localhost:2", "more than one document"},
		{whole, "listen: localhost:1", "w.yaml: spaces: there is none"},
		{whole, "listen: :1\nspaces: [{name: a, kind: ulid}]", "w.yaml: listen: :1 is open to others, and there are no principals"},
		{whole, "listen: 10.0.0.1:1\nspaces: [{name: a, kind: ulid}]",
			"w.yaml: listen: 10.0.0.1:1 is open to others, and there are no principals"},
		{whole, "spaces: [{name: a, kind: ulid}]\nrules: [{principals: ['*'], spaces: [a], verbs: [mint]}]",
			"w.yaml: rules: they are for nobody"},
	} {
		require.Contains(t, whole, tt.old, "what is to be replaced")
		_, err := Parse("w.yaml", []byte(strings.Replace(whole, tt.old, tt.new, 1)))
		require.That(t, err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "pass-word"),
			"%s\ninstead of\n%s\nerror %v\nwant %s", tt.new, tt.old, err, tt.want)
	}
	_, err := Parse("w.yaml", []byte("listen: x\nspaces: [{name: A, kind: ulid}]"))
	n := strings.Count(err.Error(), "\n") + 1
	require.That(t, n == 2, "%d problems, want both at once: %v", n, err)
}
