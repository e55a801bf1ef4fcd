package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// whole has everything that a configuration can have.
const whole = `listen: :8443
tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}
audit: /var/log/randflaked/audit.log
spaces:
- name: orders
  kind: randflake
  store: postgres://me:pass-word@db/ids?space=orders
  secret: mint
  secretFile: /etc/randflaked/orders
  nodes: 4
  limits: {nodes: 16, batch: 1000, rate: 50.5}
- {name: shop, kind: randflake, store: etcd://etcd, check: 0123456789abcdef}
- {name: sorted, kind: twitter, storeFile: /etc/randflaked/sorted}
- {name: events, kind: ulid}
counters:
- {name: invoices/2026, space: orders, start: 1000, step: 2, end: 99999}
issuers:
- issuer: https://kubernetes.default.svc
  audience: randflaked
  jwks: https://kubernetes.default.svc/openid/v1/jwks
  ca: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
  tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
principals:
- {name: billing, certificates: {uri: [spiffe://prod/billing], dns: [Billing.prod]}, tokens: [e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855]}
- {name: web, serviceAccount: {issuer: https://kubernetes.default.svc, subject: "system:serviceaccount:shop:web"}}
rules:
- {principals: [billing], spaces: [orders], verbs: [mint, inspect], limits: {batch: 10}}
- {principals: ['*'], spaces: ['*'], verbs: [lease, list, count, set, report-loss, fetch]}
`

func TestRead(t *testing.T) {
	file := t.TempDir() + "/c.yaml"
	if _, err := Read(file); err == nil {
		t.Error("a file that is not there was read")
	}
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Space{Name: "orders", Kind: "randflake", Store: "postgres://me:pass-word@db/ids?space=orders", Secret: "mint", SecretFile: "/etc/randflaked/orders",
		Nodes: 4, Limits: Limits{Nodes: 16, Batch: 1000, Rate: 50.5}}
	if !reflect.DeepEqual(c.Spaces[0], want) || c.Counters[0].End != 99999 || c.Rules[0].Limits.Batch != 10 || !c.Guarded() {
		t.Errorf("read %+v", c)
	}
}

// TestWrong: what is wrong is told with its line, and what to do; all of it at once, and without anything that may be secret.
func TestWrong(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"listen: :8443", "listen: 8443", `w.yaml:1: listen: "8443": want an address and a port`},
		{"tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}", "tls: {clientCA: ca.pem}", "w.yaml:2: tls: want certificate and key"},
		{"tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}", "tls: {certificate: c, key: k}", "certificates: no client has a certificate without tls.clientCA"},
		{"tls: {certificate: cert.pem, key: key.pem, clientCA: ca.pem}", "", "w.yaml:1: listen: :8443 is open to others without TLS"},
		{"audit:", "audits:", "w.yaml: line 3: audits is no field here: correct its name, or leave it out"},
		{"name: orders\n", "name: Orders\n", `w.yaml:5: spaces[0].name: "Orders": want a name that matches`},
		{"name: shop", "name: orders", `w.yaml:12: spaces[1].name: "orders" is there twice`},
		{"kind: randflake\n", "kind: random\n", "w.yaml:6: spaces[0].kind:"},
		{"kind: ulid", "kind: discord", "w.yaml:14: spaces[3].store: there is none: want a directory"},
		{"  secret: mint\n", "  secret: mint\n  storeFile: url\n", "w.yaml:9: spaces[0].storeFile: there is a store, too"},
		{"secret: mint", "secret: pass-word", "w.yaml:8: spaces[0].secret: want none, mint or distribute, and not the secret"},
		{"/etc/randflaked/sorted", "redis://:pass-word@db", "w.yaml:13: spaces[2].storeFile: it looks like a URL: want the name of a file"},
		{"/etc/randflaked/orders", "000102030405060708090a0b0c0d0e0f", "w.yaml:9: spaces[0].secretFile: it looks like a secret: want the name of a file"},
		{"secret: mint", "secret: *pass-word", "unknown anchor what is there referenced"},
		{"nodes: 4", "nodes: \"`pass-word`\"", "w.yaml: line 10: want a whole number"},
		{"rate: 50.5", "rate: .inf", "limits.rate: +Inf: want calls a second"},
		{"secret: mint", "secret: none", "w.yaml:9: spaces[0].secretFile: the service has no use for a secret in mode none"},
		{"  secretFile: /etc/randflaked/orders\n", "", "w.yaml:5: spaces[0].secretFile: there is none, and the mode is mint"},
		{"nodes: 4", "nodes: 4\n  check: 0123456789abcdef", "spaces[0].check: the secret says it"},
		{"check: 0123456789abcdef", "check: 01234567", "w.yaml:12: spaces[1].check: want 16 hexadecimal digits"},
		{"kind: ulid", "kind: ulid, secret: mint", "w.yaml:14: spaces[3].secret: ulid IDs have no secret"},
		{"nodes: 4", "nodes: 200000", "w.yaml:10: spaces[0].nodes: 200000: want 1 to 131072"},
		{"nodes: 16", "nodes: -1", "w.yaml:11: spaces[0].limits.nodes: -1: want 1 to"},
		{"batch: 1000, rate: 50.5", "batch: -1, rate: x", "w.yaml: line 11: want a whole number\n  line 11: want a number"},
		{"limits: {nodes: 16, batch: 1000, rate: 50.5}", "limits: 16", "w.yaml: line 11: want fields, such as {name: value}"},
		{"listen: :8443", "listen: :8443\nplaintext: 7", "w.yaml: line 2: want true or false"},
		{"listen: :8443", "listen: [pass-word]", "w.yaml: line 1: want text"},
		{"listen: :8443", "listen: :8443\nlogLevel: loud", "w.yaml:2: logLevel: want debug, info, warn or error"},
		{"rate: 50.5", "rate: -1", "limits.rate: -1: want calls a second"},
		{"space: orders, start", "space: other, start", `w.yaml:16: counters[0].space: "other" is not defined`},
		{"name: invoices/2026", "name: Invoices", "w.yaml:16: counters[0].name:"},
		{"name: invoices/2026", "name: invoices*", "w.yaml:16: counters[0].name:"},
		{"name: invoices/2026", "name: 'orders*'", "w.yaml:16: counters[0].name:"},
		{"end: 99999", "most: 7", "w.yaml:16: counters[0].most: 7: want how many counters one caller may add, for a pattern"},
		{"end: 99999", "end: 9", "w.yaml:16: counters[0]: want a start of 1 or more, an end that is not before it"},
		{"  audience: randflaked\n", "", "w.yaml:18: issuers[0].audience: there is none"},
		{"jwks: https://", "jwks: http://", "issuers[0].jwks: want a file, or a URL that begins with https:"},
		{"- issuer: https://kubernetes.default.svc\n  audience: randflaked\n  jwks: https://kubernetes.default.svc/openid/v1/jwks\n", "- issuer: http://kubernetes.default.svc\n  audience: randflaked\n", "issuers[0].jwks: want a file"},
		{"- issuer: https://kubernetes.default.svc\n", "- issuer: \"\"\n", "issuers[0].issuer: there is none"},
		{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "pass-word", "w.yaml:24: principals[0].tokens[0]: want the 64 hexadecimal digits of a token's SHA-256, and not the token"},
		{"[e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855]", "pass-word", "w.yaml: line 24: want a list, such as [a, b]"},
		{"name: web,", "name: web, certificates: {uri: [spiffe://prod/billing]},", "w.yaml:25: principals[1].certificates.uri[0]: another principal has it"},
		{"name: web,", "name: web, certificates: {dns: [billing.prod]},", "w.yaml:25: principals[1].certificates.dns[0]: another principal has it"},
		{"name: web,", "name: web, certificates: {dns: ['spiffe://prod/web']},", `w.yaml:25: principals[1].certificates.dns[0]: "spiffe://prod/web": want a DNS name`},
		{"name: web,", "name: web, certificates: {uri: [web.prod]},", `w.yaml:25: principals[1].certificates.uri[0]: "web.prod": want a URI`},
		{"name: web,", "name: randflaked,", `w.yaml:25: principals[1].name: "randflaked" stands for other callers`},
		{"name: web,", "name: anyone,", `w.yaml:25: principals[1].name: "anyone" stands for other callers`},
		{"{issuer: https://kubernetes.default.svc, subject", "{issuer: https://other, subject", `principals[1].serviceAccount.issuer: "https://other" is not defined`},
		{`subject: "system:serviceaccount:shop:web"`, `subject: ""`, "principals[1].serviceAccount.subject: there is none"},
		{`, serviceAccount: {issuer: https://kubernetes.default.svc, subject: "system:serviceaccount:shop:web"}`, "", "w.yaml:25: principals[1]: nothing shows who it is"},
		{"principals: [billing]", "principals: [billings]", `w.yaml:27: rules[0].principals[0]: "billings" is not defined`},
		{"principals: [billing], ", "", "w.yaml:27: rules[0].principals: there are none"},
		{"spaces: [orders]", "spaces: [order]", `w.yaml:27: rules[0].spaces[0]: "order" is not defined`},
		{"verbs: [mint, inspect]", "verbs: [mint, all]", `w.yaml:27: rules[0].verbs[1]: "all": want one of lease, list,`},
		{"limits: {batch: 10}", "limits: {bach: 10}", "w.yaml: line 27: bach is no field here: correct its name, or leave it out"},
		{whole, "", "w.yaml is empty"},
		{whole, "listen: localhost:1\n---\nlisten: localhost:2", "more than one document"},
		{whole, "listen: localhost:1", "w.yaml:1: spaces: there is none"},
		{whole, "listen: :1\nspaces: [{name: a, kind: ulid}]", "w.yaml:1: listen: :1 is open to others, and there are no principals"},
		{whole, "spaces: [{name: a, kind: ulid}]\nrules: [{principals: ['*'], spaces: [a], verbs: [mint]}]", "w.yaml:2: rules: they are for nobody"},
	} {
		if !strings.Contains(whole, tt.old) {
			t.Errorf("%q is not there to be replaced", tt.old)
		}
		_, err := Parse("w.yaml", []byte(strings.Replace(whole, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s\ninstead of\n%s\nerror %v\nwant %s", tt.new, tt.old, err, tt.want)
		}
	}
	_, err := Parse("w.yaml", []byte("listen: x\nspaces: [{name: A, kind: ulid}]"))
	if n := strings.Count(err.Error(), "\n") + 1; n != 2 {
		t.Errorf("%d problems, want both at once: %v", n, err)
	}
}

// TestProbe: a counter that another space's store has is refused, unless it was moved; and so is a store that is not there, or for
// another secret.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		space, err := url.Create(t.Context(), "file:"+dir+"/"+name, lease.Config{New: true, Check: [8]byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := space.CreateCounter(t.Context(), lease.Counter{Name: "inv/" + name, Start: 1}); err != nil {
			t.Fatal(err)
		}
		space.Close()
	}
	for _, tt := range []struct{ b, check, counters, want string }{
		{"b", "0100000000000000", "{name: inv/a, space: a}, {name: '*', space: b}", ""},
		{"b", "", "{name: '*', space: b}", "inv/a is in space b, and the store of space a has it"},
		{"b", "", "{name: '*', space: b, moved: true}", ""},
		{"a", "", "{name: '*', space: b}", ""}, // one store
		{"c", "", "", "create it with randflake store init"},
		{"b", "0200000000000000", "", "it is for a secret whose check value is 0100000000000000, and this one's is 02"},
	} {
		text := fmt.Sprintf("spaces:\n- {name: a, kind: randflake, store: 'file:%[1]s/a'}\n- {name: b, kind: randflake, store: 'file:%[1]s/%[2]s', check: '%[3]s'}\ncounters: [%[4]s]", dir, tt.b, tt.check, tt.counters)
		c, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Probe(t.Context()); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n%v, want %s", text, err, tt.want)
		}
	}
}
