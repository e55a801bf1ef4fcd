package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/config"
)

// TestRights: each procedure is for those who have its verb in its space, and for nobody else. A
// procedure that is not here fails the test.
func TestRights(t *testing.T) {
	for _, open := range []bool{true, false} {
		rules := "principals:\n"
		for _, verb := range config.Verbs {
			rules += fmt.Sprintf("- {name: %s, tokenHashes: [%s], certificates: {dns: [%[1]s.example]}}\n", verb, hashOf(verb))
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
			"CounterService/Next": "count", "CounterService/TakeNumbers": "count", "CounterService/GetCounter": "count",
			"CounterService/SetCounter": "set", "CounterService/ListCounters": "list",
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
				w.wantAdmitted(procedure, w.call(procedure, mine), true)
				continue
			}
			if a := w.call(procedure, mine); a.body.Code != "unauthenticated" || a.status != http.StatusUnauthorized {
				t.Errorf("%s by nobody: %s, want unauthenticated", procedure, a.text)
			}
			if a := w.call(procedure, mine, as("nobody")); a.body.Code != "unauthenticated" ||
				strings.Contains(a.text+w.written.String(), "token-of") {
				t.Errorf("%s with an unknown token: %s, want unauthenticated, and no token shown",
					procedure, a.text)
			}
			for _, other := range config.Verbs {
				may := verb == other
				w.wantAdmitted(procedure+" by "+other, w.call(procedure, mine, as(other)), may)
				w.wantAdmitted(procedure+" by "+other+" in another space", w.call(procedure, others, as(other)), false)
				w.wantAdmitted(procedure+" by the certificate of "+other, w.call(procedure, mine, withCertificate(other+".example")), may)
			}
			other := w.call(procedure, mine, withCertificate("other.example"))
			w.wants("unauthenticated", other, "%s by another certificate", procedure)
		}
		require.That(t, len(rows) == 0, "rows of procedures that are not there: %v", rows)
	}
}

func (w *testbed) wantAdmitted(what string, a answer, want bool) {
	w.Helper()
	isProcedure := a.body.Code != "unimplemented" && (a.status != http.StatusNotFound || a.body.Code == "not_found")
	admitted := isProcedure && a.body.Code != "permission_denied"
	require.Equal(w, admitted, want, "%s: %d %s: admitted", what, a.status, a.text)
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
