package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestMint: IDs are those of the space, in each form, all different, and open to what they are.
func TestMint(t *testing.T) {
	w := newTestbed(t, spaces)
	cipher := randflake.NewCipher(w.secret)
	for space, opens := range map[string]func(text string) (time.Time, error){
		"mint": func(text string) (time.Time, error) {
			id, err := randflake.Parse(text)
			return cipher.Inspect(id).Time, err
		},
		"sorted": func(text string) (time.Time, error) {
			id, err := snowflake.Parse(text)
			f, _ := snowflake.Twitter().Inspect(id)
			return f.Time, err
		},
		"ulid": func(text string) (time.Time, error) {
			id, err := ulid.Parse(text)
			return ulid.Inspect(id).Time, err
		},
	} {
		ids := w.send(http.MethodPost, "/v1/spaces/"+space+"/ids?count=3", "").body.IDs
		ids = append(ids, w.call("IDService/Mint", `{"space":"`+space+`","count":5000}`).body.IDs...)
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != 5003 {
			t.Errorf("%s: %d different IDs, want 5003", space, n)
			continue
		}
		made, err := opens(ids[0])
		if err != nil || time.Since(made).Abs() > time.Hour {
			t.Errorf("%s: %s was made at %v, error %v", space, ids[0], made, err)
		}
		a := w.send(http.MethodGet, "/v1/spaces/"+space+"/ids/"+ids[0], "")
		if told, err := time.Parse(time.RFC3339Nano, a.body.Time); err != nil || !told.Equal(made) || !a.body.Plausible {
			t.Errorf("%s: inspect says %s, want %v", space, a.text, made)
		}
		if !strings.Contains(w.written.String(), `"msg":"inspection","principal":"anyone","space":"`+space+`","id":"`+ids[0]+`"`) {
			t.Errorf("%s: no line tells of the inspection:\n%s", space, w.written)
		}
	}
	numbers := w.call("IDService/Mint", `{"space":"mint","form":"FORM_NUMBER"}`).body.Numbers
	n, err := strconv.ParseInt(numbers[0], 10, 64)
	if a := w.call("IDService/Inspect", `{"space":"mint","number":"`+numbers[0]+`"}`); err != nil || !a.body.Plausible ||
		a.body.Time != cipher.Inspect(randflake.ID(n)).Time.Format(time.RFC3339) {
		t.Errorf("number %s: inspect says %s, error %v", numbers[0], a.text, err)
	}
}

// TestCounters: numbers are the counter's, and a run goes to its token.
func TestCounters(t *testing.T) {
	w := newTestbed(t, spaces)
	if a := w.send(http.MethodPost, "/v1/counters/orders/next?count=3", ""); !slices.Equal(a.body.Numbers, []string{"1", "2", "3"}) {
		t.Errorf("the first numbers: %s", a.text)
	}
	token := lease.NewToken(time.Now()).String()
	ask := `{"counter":"others","count":10,"token":"` + token + `"}`
	first, again := w.call("CounterService/Allocate", ask), w.call("CounterService/Allocate", ask)
	if first.status != http.StatusOK || first.text != again.text || first.body.Run["count"] != "10" {
		t.Errorf("a run: %s, and again: %s", first.text, again.text)
	}
	run := fmt.Sprintf(`{"first":"1","stride":"1","count":"10","version":"%v","token":"%s"}`, first.body.Run["version"], token)
	give := `{"counter":"others","unused":"4","run":` + run + `}`
	if a := w.call("CounterService/Return", give); a.body.Returned != "4" {
		t.Errorf("return: %s, want 4", a.text)
	}
	if a := w.call("CounterService/Return", give); a.body.Returned != "4" {
		t.Errorf("return again, as after a lost answer: %s, want 4", a.text)
	}
	if a := w.call("CounterService/Get", `{"counter":"others"}`); !strings.Contains(a.text, `"next":"7"`) {
		t.Errorf("get: %s, want 7 next", a.text)
	}
	if a := w.call("CounterService/List", `{}`); len(a.body.Counters) != 2 {
		t.Errorf("list: %s, want the two counters that were used", a.text)
	}
	w.send(http.MethodPost, "/v1/counters/few/next?count=3", "")
	if a := w.send(http.MethodPost, "/v1/counters/few/next", ""); a.body.Code != "out_of_range" {
		t.Errorf("past the end: %s", a.text)
	}
}

// acquire returns the JSON of a lease, and the answer.
func (w *testbed) acquire(space, more string, change ...func(*http.Request)) answer {
	w.Helper()
	return w.call("LeaseService/Acquire", fmt.Sprintf(`{"space":%q,"nodes":1,"ttlSeconds":60,"owner":%q%s}`, space, lease.NewToken(time.Now()), more), change...)
}

// TestSecrets: a space refuses the secret of another, and gives its own to a certificate alone, when it is for that.
func TestSecrets(t *testing.T) {
	w := newTestbed(t, spaces+"tls: {certificate: c, key: k, clientCA: ca}\nprincipals: [{name: web, certificates: {dns: [web.example]}, tokens: ["+hashOf("web")+
		"]}]\nrules: [{principals: ['*'], spaces: ['*'], verbs: [lease, fetch]}]\n")
	web := withCertificate("web.example")
	other := randflake.NewSecret()
	check, wrong := fmt.Sprintf(`,"check":"%x"`, w.secret.CheckValue()), fmt.Sprintf(`,"check":"%x"`, other.CheckValue())
	if a := w.acquire("none", wrong, web); a.body.Code != "failed_precondition" {
		t.Errorf("a lease for another secret: %s", a.text)
	}
	if a := w.acquire("none", check, web); a.status != http.StatusOK {
		t.Errorf("a lease for the space's secret: %s", a.text)
	}
	for space, code := range map[string]string{"given": "", "mint": "failed_precondition", "none": "failed_precondition", "ulid": "failed_precondition"} {
		a := w.call("SecretService/Fetch", `{"space":"`+space+`"}`, web)
		if a.body.Code != code || (a.body.Secret == w.secret.Hex()) != (code == "") {
			t.Errorf("the secret of %s: code %q, want %q", space, a.body.Code, code)
		}
		if a := w.call("SecretService/Fetch", `{"space":"`+space+`"}`, as("web")); a.body.Code != "permission_denied" {
			t.Errorf("the secret of %s by token: code %q", space, a.body.Code)
		}
	}
	if !strings.Contains(w.written.String(), `"msg":"secret given","principal":"web","space":"given"`) {
		t.Errorf("no line tells who got the secret:\n%s", w.written)
	}
	for _, secret := range []string{w.secret.Hex(), "token-of-web", hashOf("web")} {
		if strings.Contains(strings.ToLower(w.written.String()), secret) {
			t.Error("a secret, token or hash was written")
		}
	}
}

// TestRevoke: a revoked lease is lost to its holder at once, and its nodes go to nobody else before its end.
func TestRevoke(t *testing.T) {
	w := newTestbed(t, spaces)
	held := w.acquire("none", `,"below":1`)
	if a := w.call("AdminService/Revoke", `{"space":"none","firstNode":0}`); a.status != http.StatusOK {
		t.Fatalf("revoke: %s", a.text)
	}
	_, sent, _ := strings.Cut(strings.TrimSuffix(held.text, "}"), ":")
	renew := w.call("LeaseService/Renew", `{"space":"none","ttlSeconds":60,"token":"`+lease.NewToken(time.Now()).String()+`","held":`+sent+`}`)
	if renew.status != http.StatusOK || renew.body.Lost == nil {
		t.Errorf("renew after it was revoked: %s, want it lost", renew.text)
	}
	if a := w.acquire("none", `,"below":1`); a.status == http.StatusOK && a.body.Lease["start"].(string) <= held.body.Lease["highWater"].(string) {
		t.Errorf("the same node again: %s, though it was granted as %s", a.text, held.text)
	}
	if a := w.call("AdminService/Revoke", `{"space":"none","firstNode":0}`); a.body.Code == "internal" || a.status == http.StatusInternalServerError {
		t.Errorf("revoke again: %s", a.text)
	}
	for _, line := range []string{`"msg":"grant"`, `"msg":"revocation"`, `"msg":"renewal failed"`} {
		if !strings.Contains(w.written.String(), line) {
			t.Errorf("no line with %s:\n%s", line, w.written)
		}
	}
	if owner := held.body.Lease["owner"].(string); strings.Contains(w.written.String(), owner) {
		t.Error("an owner's token was written")
	}
}

// TestLimits: a rule's limits hold, and so do the space's, whichever is tighter.
func TestLimits(t *testing.T) {
	w := newTestbed(t, strings.Replace(spaces, "store: none,", "store: none, limits: {nodes: 4, ttl: 10m},", 1)+
		"principals: [{name: web, tokens: ["+hashOf("web")+"]}, {name: slow, tokens: ["+hashOf("slow")+"]}]\n"+
		"rules:\n- {principals: [web], spaces: ['*'], verbs: [lease, mint, count], limits: {nodes: 8, ttl: 2m, leases: 2, batch: 5}}\n"+
		"- {principals: [slow], spaces: ['*'], verbs: [mint], limits: {rate: 0.001}}\n")
	web := as("web")
	for body, code := range map[string]string{
		`,"nodes":4`:        "",
		`,"nodes":5`:        "permission_denied",
		`,"ttlSeconds":120`: "",
		`,"ttlSeconds":121`: "permission_denied",
	} {
		// The later of two fields of a name does not do in JSON, so each has a call of its own.
		text := fmt.Sprintf(`{"space":"none","owner":%q%s}`, lease.NewToken(time.Now()), body)
		if !strings.Contains(body, "nodes") {
			text = strings.Replace(text, "}", `,"nodes":1}`, 1)
		} else {
			text = strings.Replace(text, "}", `,"ttlSeconds":60}`, 1)
		}
		if a := w.call("LeaseService/Acquire", text, web); a.body.Code != code {
			t.Errorf("acquire %s: %s, want code %q", text, a.text, code)
		}
	}
	if a := w.acquire("none", "", web); a.body.Code != "permission_denied" || !strings.Contains(a.text, "leases 3: the limit is 2") {
		t.Errorf("a third lease: %s", a.text)
	}
	for count, code := range map[int]string{5: "", 6: "permission_denied"} {
		if a := w.send(http.MethodPost, fmt.Sprintf("/v1/spaces/mint/ids?count=%d", count), "", web); a.body.Code != code {
			t.Errorf("%d IDs: %s, want code %q", count, a.text, code)
		}
		if a := w.send(http.MethodPost, fmt.Sprintf("/v1/counters/orders/next?count=%d", count), "", web); a.body.Code != code {
			t.Errorf("%d numbers: %s, want code %q", count, a.text, code)
		}
	}
	codes := []string{w.send(http.MethodPost, "/v1/spaces/mint/ids", "", as("slow")).body.Code, w.send(http.MethodPost, "/v1/spaces/mint/ids", "", as("slow")).body.Code}
	if !slices.Equal(codes, []string{"", "resource_exhausted"}) {
		t.Errorf("two calls at once, with a bound of one in a thousand seconds: %q", codes)
	}
}

// TestBadInput: what can't be is refused with the code that says so, by each procedure.
func TestBadInput(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct{ procedure, body, code string }{
		{"LeaseService/Acquire", `{"space":"none"}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"none","owner":"zz","nodes":1,"ttlSeconds":60}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"none","owner":"` + strings.Repeat("1", 32) + `","nodes":1,"ttlSeconds":60}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"none","owner":"` + lease.NewToken(time.Now()).String() + `","nodes":1,"ttlSeconds":60,"check":"zz"}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"none","owner":"` + lease.NewToken(time.Now()).String() + `","nodes":200000,"ttlSeconds":60}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"none","owner":"` + lease.NewToken(time.Now()).String() + `","nodes":1,"ttlSeconds":4000000000}`, "invalid_argument"},
		{"LeaseService/Acquire", `{"space":"ulid"}`, "failed_precondition"},
		{"LeaseService/Acquire", `{"space":"other"}`, "not_found"},
		{"LeaseService/Acquire", `{`, "invalid_argument"},
		{"LeaseService/Renew", `{"space":"none"}`, "invalid_argument"},
		{"LeaseService/Renew", `{"space":"none","held":{"owner":"zz"}}`, "invalid_argument"},
		{"LeaseService/Renew", `{"space":"none","held":{"firstNode":200000},"ttlSeconds":60}`, "invalid_argument"},
		{"LeaseService/Renew", `{"space":"none","held":{},"token":"zz","ttlSeconds":60}`, "invalid_argument"},
		{"LeaseService/Lookup", `{"space":"none"}`, "invalid_argument"},
		{"LeaseService/Release", `{"space":"none"}`, "invalid_argument"},
		{"LeaseService/List", `{}`, "not_found"},
		{"LeaseService/GetLimits", `{"space":"` + strings.Repeat("x", 10000) + `"}`, "not_found"},
		{"IDService/Mint", `{"space":"none"}`, "failed_precondition"},
		{"IDService/Mint", `{"space":"mint","count":65537}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","count":-1}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","form":7}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","form":-1}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"ulid","form":"FORM_NUMBER"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint","text":"not an ID"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"sorted","text":"x"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"ulid","text":"x"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"ulid","number":"1"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"none","text":"1"}`, "failed_precondition"},
		{"CounterService/Next", `{"counter":"unknown"}`, "not_found"},
		{"CounterService/Next", `{"counter":"orders","count":65537}`, "invalid_argument"},
		{"CounterService/Allocate", `{"counter":"orders","count":"1000000001"}`, "invalid_argument"},
		{"CounterService/Allocate", `{"counter":"orders","token":"zz"}`, "invalid_argument"},
		{"CounterService/Allocate", `{"counter":"orders"}`, "invalid_argument"},
		{"CounterService/Return", `{"counter":"orders"}`, "invalid_argument"},
		{"CounterService/Return", `{"counter":"orders","run":{"count":"1"},"unused":"2"}`, "invalid_argument"},
		{"CounterService/Get", `{"counter":"orders"}`, "not_found"},
		{"AdminService/Revoke", `{"space":"none","firstNode":7}`, "not_found"},
		{"AdminService/ReportLoss", `{}`, "not_found"},
		{"SecretService/Fetch", `{"space":"given"}`, "permission_denied"},
	} {
		if a := w.call(tt.procedure, tt.body); a.body.Code != tt.code {
			t.Errorf("%s %.200s: %d %s, want code %s", tt.procedure, tt.body, a.status, a.text, tt.code)
		}
	}
	for _, procedure := range procedures() {
		for size, what := range map[int]string{maxMessage + 1: "too large a message", 3 * maxBody: "too large a body"} {
			if a := w.call(procedure, `{"space":"`+strings.Repeat("x", size)+`"}`); a.body.Code != "resource_exhausted" && a.body.Code != "invalid_argument" {
				t.Errorf("%s with %s: %d %.200s", procedure, what, a.status, a.text)
			}
		}
	}
	for path, status := range map[string]int{"/v1/spaces/mint/ids?count=x": 400, "/v1/spaces/mint/ids?count=70000": 400, "/v1/spaces/%ff/ids": 400, "/v1/spaces/mint": 404} {
		if a := w.send(http.MethodPost, path, ""); a.status != status {
			t.Errorf("POST %s: %d %s, want %d", path, a.status, a.text, status)
		}
	}
}

// TestGetMakesNothing: GET is refused by all that changes anything, and by a page of another site so is POST.
func TestGetMakesNothing(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, path := range []string{"/v1/spaces/mint/ids", "/v1/counters/orders/next", "/randflake.v1.IDService/Mint?connect=v1&encoding=json&message=%7B%22space%22%3A%22mint%22%7D"} {
		if a := w.send(http.MethodGet, path, ""); a.status != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %d %s", path, a.status, a.text)
		}
	}
	elsewhere := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids", "", elsewhere); a.status != http.StatusForbidden {
		t.Errorf("POST by a page of another site: %d %s", a.status, a.text)
	}
	rebound := func(r *http.Request) { r.Host = "evil.example:8080" }
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids", "", rebound); a.status != http.StatusUnauthorized {
		t.Errorf("POST to this machine by another name: %d %s", a.status, a.text)
	}
	if a := w.call("IDService/Mint", `{"space":"`+strings.Repeat("x", 60000)+`"}`, rebound); a.status != http.StatusUnauthorized || len(w.written.String()) > 5000 {
		t.Errorf("a long name: %d, and %d bytes written", a.status, len(w.written.String()))
	}
}

// TestStoreFails: clients learn that the store failed, and the log why.
func TestStoreFails(t *testing.T) {
	w := newTestbed(t, spaces)
	w.broken.Store(true)
	a := w.acquire("none", "")
	if a.body.Code != "unavailable" || strings.Contains(a.text, "db-7") || !strings.Contains(w.written.String(), "db-7") {
		t.Errorf("the store failed: %s, log %s", a.text, w.written)
	}
	if a := w.call("CounterService/List", "{}"); a.body.Code != "unavailable" || strings.Contains(a.text, "db-7") {
		t.Errorf("a store failed, and a list of all spaces: %s", a.text)
	}
	w.broken.Store(false)
	if a := w.acquire("none", ""); a.status != http.StatusOK {
		t.Errorf("the store works again: %s", a.text)
	}
}

// TestShortDeadline: the deadline of a caller is no failure of the store, whose log line strangers would write.
func TestShortDeadline(t *testing.T) {
	w := newTestbed(t, spaces)
	w.hangs.Store(true)
	a := w.acquire("none", "", func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") })
	if w.hangs.Store(false); a.status == http.StatusOK || strings.Contains(w.written.String(), "store failed") {
		t.Errorf("%s, and the log has:\n%s", a.text, w.written)
	}
}

// TestStoreComesLate: a service starts while its stores are away, says so, and serves once they are there.
func TestStoreComesLate(t *testing.T) {
	w := newTestbed(t, spaces)
	w.broken.Store(true)
	next := *w.setup.Load().config
	next.Spaces = append(slices.Clone(next.Spaces), config.Space{Name: "late", Kind: "twitter", Store: "sorted"})
	if err := w.Configure(&next, w.files); err != nil {
		t.Fatal(err)
	}
	if a := w.send(http.MethodPost, "/v1/spaces/late/ids", ""); a.body.Code != "unavailable" || w.Ready() == nil {
		t.Errorf("without its store: %s, ready %v", a.text, w.Ready())
	}
	w.broken.Store(false)
	for w.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	if a := w.send(http.MethodPost, "/v1/spaces/late/ids", ""); a.status != http.StatusOK {
		t.Errorf("with its store: %s", a.text)
	}
}

// TestConfigure: a space that stays as it is stays open, with its lease; others come and go; and a configuration that fails changes nothing.
func TestConfigure(t *testing.T) {
	w := newTestbed(t, spaces)
	kept := w.setup.Load().spaces["mint"]
	next := *w.setup.Load().config
	next.Spaces = slices.DeleteFunc(slices.Clone(next.Spaces), func(s config.Space) bool { return s.Name == "sorted" })
	if err := w.Configure(&next, w.files); err != nil {
		t.Fatal(err)
	}
	if w.setup.Load().spaces["mint"] != kept || w.send(http.MethodPost, "/v1/spaces/mint/ids", "").status != http.StatusOK {
		t.Error("a space that stayed as it is was closed")
	}
	if a := w.send(http.MethodPost, "/v1/spaces/sorted/ids", ""); a.body.Code != "not_found" {
		t.Errorf("a space that is gone: %s", a.text)
	}
	bad := next
	bad.Spaces = []config.Space{{Name: "new", Kind: "randflake", Store: "none", Secret: "mint", SecretFile: "no/such/file"}}
	if err := w.Configure(&bad, w.files); err == nil || w.send(http.MethodPost, "/v1/spaces/mint/ids", "").status != http.StatusOK {
		t.Errorf("a configuration that fails: error %v; or nothing is as before", err)
	}
	w.Drain()
	if a := w.send(http.MethodGet, "/readyz", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("ready while it shuts down: %s", a.text)
	}
	if a := w.send(http.MethodGet, "/healthz", ""); a.status != http.StatusOK {
		t.Errorf("healthy while it shuts down: %s", a.text)
	}
}

// TestChangedFiles: another secret, or another place in a file, is another space; and a file that is missing changes nothing.
func TestChangedFiles(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(place, "sorted")
	w := newTestbed(t, strings.Replace(spaces, "counters:", "- {name: filed, kind: twitter, storeFile: "+place+"}\ncounters:", 1))
	c := w.setup.Load().config
	for _, tt := range []struct{ space, file, text string }{{"filed", place, "none"}, {"mint", c.Spaces[0].SecretFile, randflake.NewSecret().Hex()}} {
		before := w.setup.Load().spaces
		write(tt.file, tt.text)
		if err := w.Configure(c, w.files); err != nil || w.setup.Load().spaces[tt.space] == before[tt.space] || w.setup.Load().spaces["ulid"] != before["ulid"] {
			t.Errorf("%s with another file: it, or another space, is as before or not; error %v", tt.space, err)
		}
		os.Remove(tt.file)
		if err := w.Configure(c, w.files); err == nil {
			t.Errorf("%s without its file: no error", tt.space)
		}
		write(tt.file, tt.text)
	}
}
