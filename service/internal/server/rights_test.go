package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/service/internal/config"
)

// TestRights: each procedure is for those who have its verb in its space, and for nobody else. A procedure that is not here
// fails the test.
func TestRights(t *testing.T) {
	for _, open := range []bool{true, false} {
		rules := "principals:\n"
		for _, verb := range config.Verbs {
			rules += fmt.Sprintf("- {name: %s, tokens: [%s], certificates: {dns: [%[1]s.example]}}\n", verb, hashOf(verb))
		}
		rules += "rules:\n"
		for _, verb := range config.Verbs {
			rules += fmt.Sprintf("- {principals: [%s], spaces: [given], verbs: [%[1]s]}\n", verb)
		}
		if open {
			rules = ""
		} else {
			rules += "tls: {certificate: c, key: k, clientCA: ca}\n"
		}
		w := newTestbed(t, spaces+rules)
		rows := map[string]string{ // verbs by procedure
			"LeaseService/Take": "lease", "LeaseService/GetLimits": "lease", "IDService/Mint": "mint", "IDService/Inspect": "inspect",
			"CounterService/Next": "count", "CounterService/Take": "count", "CounterService/Get": "count", "CounterService/Set": "set", "CounterService/List": "list",
			"AdminService/ReportLoss": "report-loss", "SecretService/Fetch": "fetch",
		}
		for _, procedure := range procedures() {
			verb, ok := rows[procedure]
			if !ok {
				t.Errorf("%s: whose is it? it has no row here", procedure)
				continue
			}
			delete(rows, procedure)
			mine, others := `{"space":"given","counter":"others"}`, `{"space":"mint","counter":"others"}` // fields that a message lacks are ignored
			if open {
				w.wantAdmitted(procedure, w.call(procedure, mine), verb != "fetch")
				continue
			}
			if a := w.call(procedure, mine); a.body.Code != "unauthenticated" || a.status != http.StatusUnauthorized {
				t.Errorf("%s by nobody: %s, want unauthenticated", procedure, a.text)
			}
			if a := w.call(procedure, mine, as("nobody")); a.body.Code != "unauthenticated" || strings.Contains(a.text+w.written.String(), "token-of") {
				t.Errorf("%s with an unknown token: %s, want unauthenticated, and no token shown", procedure, a.text)
			}
			for _, other := range config.Verbs {
				may := verb == other
				w.wantAdmitted(procedure+" by "+other, w.call(procedure, mine, as(other)), may && verb != "fetch")
				w.wantAdmitted(procedure+" by "+other+" in another space", w.call(procedure, others, as(other)), false)
				w.wantAdmitted(procedure+" by the certificate of "+other, w.call(procedure, mine, withCertificate(other+".example")), may)
			}
			if a := w.call(procedure, mine, withCertificate("other.example")); a.body.Code != "unauthenticated" {
				t.Errorf("%s by another certificate: %s, want unauthenticated", procedure, a.text)
			}
		}
		if len(rows) > 0 {
			t.Errorf("rows of procedures that are not there: %v", rows)
		}
	}
}

// TestAuthentication: each procedure is refused to callers that are not known any more, or not yet, and to those whose rules are of
// another space or list alone. A procedure without a space to name fails the test.
func TestAuthentication(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	publish := func(names ...string) {
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
		for _, name := range names {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: name})
		}
		text, _ := json.Marshal(set)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	publish("one", "two")
	signed := func(name string) func(*http.Request) {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: name}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(signer).Claims(jwt.Claims{Issuer: "issuer", Subject: "web", Audience: jwt.Audience{"randflaked"}, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	everything := strings.Join(config.Verbs, ", ")
	w := newTestbed(t, spaces+`tls: {certificate: c, key: k, clientCA: ca}
issuers: [{issuer: issuer, audience: randflaked, jwks: `+file+`}]
principals:
- {name: web, tokens: [`+hashOf("web")+`], certificates: {dns: [web.example]}, serviceAccount: {issuer: issuer, subject: web}}
- {name: elsewhere, certificates: {dns: [elsewhere.example]}}
- {name: lister, certificates: {dns: [lister.example]}}
rules:
- {principals: [web], spaces: [given], verbs: [`+everything+`]}
- {principals: [elsewhere], spaces: [mint], verbs: [`+everything+`]}
- {principals: [lister], spaces: [given], verbs: [list]}
`)
	c := w.setup.Load().config
	added := servers.NewAuthority()
	configure := func(c *config.Config, authorities ...*servers.Authority) error {
		return w.Configure(c, Files{Audit: w.written, TLS: trusting(authorities...)})
	}
	broken := *c
	broken.Spaces = append(slices.Clone(c.Spaces), config.Space{Name: "new", Kind: "randflake", Store: "none", Secret: "mint", SecretFile: "no/such/file"})
	broken.Rules = []config.Rule{{Principals: []string{"*"}, Spaces: []string{"*"}, Verbs: config.Verbs}}
	ask := func(procedure string, as func(*http.Request)) answer {
		return w.call(procedure, `{"space":"given","counter":"others"}`, as)
	}
	web, new, old := withCertificate("web.example"), showing(added, "web.example", time.Hour), showing(ours(), "web.example", -time.Second)
	for _, procedure := range procedures() {
		refused := func(what, code string, as func(*http.Request)) {
			t.Helper()
			if a := ask(procedure, as); a.body.Code != code {
				t.Errorf("%s by %s: %d %s, want %s", procedure, what, a.status, a.text, code)
			}
		}
		admitted := func(what string, as func(*http.Request)) {
			t.Helper()
			if a := ask(procedure, as); a.body.Code == "unauthenticated" || a.body.Code == "permission_denied" {
				t.Errorf("%s by %s: %d %s", procedure, what, a.status, a.text)
			}
		}
		refused("no principal", "unauthenticated", func(*http.Request) {})
		refused("an expired certificate", "unauthenticated", old)
		refused("a principal of another space", "permission_denied", withCertificate("elsewhere.example"))
		if procedure != "CounterService/List" {
			refused("one who may list", "permission_denied", withCertificate("lister.example"))
		}
		if procedure != "SecretService/Fetch" { // which no token gets
			admitted("a key of the issuer", signed("two"))
			publish("one")
			if err := configure(c, ours()); err != nil {
				t.Fatal(err)
			}
			refused("a withdrawn key", "unauthenticated", signed("two"))
			admitted("a key that is still there", signed("one"))
			publish("one", "two")
		}
		if err := configure(&broken, added); err == nil {
			t.Fatal("a space without its secret was accepted")
		}
		admitted("the authority from before a reload that is refused", web)
		refused("an authority that a refused reload would add", "unauthenticated", new)
		refused("a rule that a refused reload would add", "permission_denied", withCertificate("elsewhere.example"))
		if err := configure(c, added); err != nil {
			t.Fatal(err)
		}
		refused("a removed authority", "unauthenticated", web)
		admitted("an added authority", new)
		if err := configure(c, ours()); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *testbed) wantAdmitted(what string, a answer, want bool) {
	w.Helper()
	if admitted := a.body.Code != "permission_denied" && (a.status != http.StatusNotFound || a.body.Code == "not_found") && a.body.Code != "unimplemented"; admitted != want {
		w.Errorf("%s: %d %s: admitted %v, want %v", what, a.status, a.text, admitted, want)
	}
}

// procedures returns what the protocol has, in whichever file, as "Service/Method".
func procedures() (all []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("randflake.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for k := range service.Methods().Len() {
				all = append(all, string(service.Name())+"/"+string(service.Methods().Get(k).Name()))
			}
		}
		return true
	})
	return all
}
