package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
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
		ids := w.call("IDService/Mint", `{"space":"`+space+`","count":3}`).body.IDs
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
		a := w.call("IDService/Inspect", `{"space":"`+space+`","text":"`+ids[0]+`"}`)
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

// TestCounters: numbers are the counter's, and a run is taken for good.
func TestCounters(t *testing.T) {
	w := newTestbed(t, spaces)
	for i, tt := range []struct{ procedure, body, want string }{
		{"Get", `{"space":"mint","counter":"others"}`, `"next":"1"`},
		{"Next", `{"space":"none","counter":"orders","count":3}`, `{"numbers":["1","2","3"]}`},
		{"Take", `{"space":"mint","counter":"others","count":10}`, `{"first":"1","count":"10","step":"1"}`},
		{"Take", `{"space":"mint","counter":"others","count":10}`, `{"first":"11","count":"10","step":"1"}`},
		{"Take", `{"space":"given","counter":"others","count":10}`, `{"first":"1","count":"10","step":"1"}`}, // another one
		{"Take", `{"space":"mint","counter":"others","count":2,"period":"2026-11-26","periodBegin":"1795651200"}`, `{"first":"1","count":"2","step":"1"}`},
		{"Set", `{"space":"mint","counter":"others","next":"100"}`, `{}`},
		{"Set", `{"space":"mint","counter":"others","next":"99"}`, `invalid_argument`},
		{"Get", `{"space":"mint","counter":"others"}`, `"next":"100","period":"2026-11-26"`},
		{"Take", `{"space":"mint","counter":"others","count":1}`, `"INVALID"`},
		{"Take", `{"space":"none","counter":"few","count":5}`, `"count":"3"`},
		{"Next", `{"space":"none","counter":"few"}`, `out_of_range`},
		{"List", `{"space":"none"}`, `{"counters":[{"name":"few","start":"1"`},
		{"List", `{"space":"none","limit":1,"after":"few"}`, `{"counters":[{"name":"orders"`},
		{"List", `{"space":"none","after":"orders"}`, `{}`},
		{"Next", `{"space":"none","counter":"unknown"}`, `"not_found","message":"lease:nosuchcounter:\"unknown\"`},
		{"Next", `{"space":"none"}`, `not_found`},
	} {
		if a := w.call("CounterService/"+tt.procedure, tt.body); !strings.Contains(strings.ReplaceAll(a.text, " ", ""), tt.want) {
			t.Errorf("%d: %s %s: %s, want %s", i, tt.procedure, tt.body, a.text, tt.want)
		}
	}
}

// take takes nodes of the present window.
func (w *testbed) take(space, more string, change ...func(*http.Request)) answer {
	w.Helper()
	return w.call("LeaseService/Take", fmt.Sprintf(`{"space":%q,"window":%d%s}`, space, time.Now().Unix()/60, more), change...)
}

// TestLeases: nodes are taken once, the audit log says by whom, and errors say until when to wait.
func TestLeases(t *testing.T) {
	w := newTestbed(t, spaces)
	if a := w.call("LeaseService/GetLimits", `{"space":"none"}`); !strings.Contains(a.text, fmt.Sprintf("%x", w.secret.CheckValue())) || !strings.Contains(a.text, `60`) {
		t.Errorf("limits: %s", a.text)
	}
	for i, want := range []uint32{0, 3, 6} {
		if a := w.take("none", `,"nodes":3,"label":"host/web"`); a.status != http.StatusOK || a.body.FirstNode != want {
			t.Errorf("take %d: %s", i, a.text)
		}
	}
	line := `"msg":"take","principal":"anyone","space":"none","window":` + fmt.Sprint(time.Now().Unix()/60) + `,"first_node":3,"last_node":5,`
	if !strings.Contains(w.written.String(), line) || !strings.Contains(w.written.String(), `"label":"host/web"`) ||
		!strings.Contains(w.written.String(), `"msg":"take","principal":"randflaked","space":"mint"`) {
		t.Errorf("no line %s in\n%s", line, w.written)
	}
	if a := w.take("none", `,"nodes":65536`); a.body.Code != "resource_exhausted" || !strings.Contains(a.text, `"reason":"FULL"`) || !strings.Contains(a.text, `"until":"`) {
		t.Errorf("more than there are: %s", a.text)
	}
	if state, err := w.setup.Load().spaces["none"].State(); err != nil || state.Store.ReportLoss(t.Context(), "of this test") != nil {
		t.Fatal(err)
	}
	if a := w.take("none", ""); a.body.Code != "unavailable" || !strings.Contains(a.text, `"reason":"LOSS"`) {
		t.Errorf("after a loss: %s", a.text)
	}
}

// TestLimits: a rule's limits hold, and so do the space's, whichever is tighter.
func TestLimits(t *testing.T) {
	w := newTestbed(t, strings.Replace(spaces, "store: none,", "store: none, limits: {nodes: 4},", 1)+"principals: [{name: web, tokens: ["+hashOf("web")+"]}, {name: slow, tokens: ["+hashOf("slow")+"]}]\n"+
		"rules:\n- {principals: [web], spaces: ['*'], verbs: [lease, mint, count], limits: {nodes: 8, batch: 5}}\n"+
		"- {principals: [slow], spaces: [mint], verbs: [mint], limits: {rate: 0.001}}\n- {principals: [slow], spaces: [mint], verbs: [count], limits: {rate: 0.002}}\n")
	for i, tt := range []struct{ who, procedure, body, code string }{
		{"web", "LeaseService/Take", fmt.Sprintf(`{"space":"none","window":%d,"nodes":4}`, time.Now().Unix()/60), ""},
		{"web", "LeaseService/Take", `{"space":"none","nodes":5}`, "permission_denied"},
		{"web", "IDService/Mint", `{"space":"mint","count":5}`, ""},
		{"web", "IDService/Mint", `{"space":"mint","count":6}`, "permission_denied"},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/1","count":5}`, ""},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/1","count":6}`, "permission_denied"},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/2"}`, ""},
		{"web", "CounterService/Take", `{"space":"none","counter":"invoices/3"}`, "resource_exhausted"},
		{"slow", "IDService/Mint", `{"space":"mint"}`, ""},
		{"slow", "IDService/Mint", `{"space":"mint"}`, "resource_exhausted"},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, ""},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, "resource_exhausted"},
		{"slow", "IDService/Mint", `{"space":"ulid"}`, "permission_denied"},
	} {
		if a := w.call(tt.procedure, tt.body, as(tt.who)); a.body.Code != tt.code {
			t.Errorf("%d: %s %s: %s, want code %q", i, tt.procedure, tt.body, a.text, tt.code)
		}
	}
	go func() { // a slow machine makes fewer calls a second than the rate
		for t.Context().Err() == nil {
			w.usage.Call("slow", "", config.DefaultRate, int(config.DefaultRate))
		}
	}()
	slowed := false
	for range 2 * int(config.DefaultRate) {
		slowed = slowed || w.call("IDService/Mint", `{"space":"ulid"}`, as("slow")).body.Code == "resource_exhausted"
	}
	if !slowed {
		t.Error("denied calls count against no rate")
	}
}

// TestNoRoom: a call for many IDs waits while answers are not read, and one for few does not.
func TestNoRoom(t *testing.T) {
	w := newTestbed(t, spaces)
	var all []func()
	for range 4 {
		done, err := w.usage.Answer(t.Context(), config.Anyone, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, done)
	}
	late := func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") }
	many := `{"space":"ulid","count":1000}`
	if a := w.call("IDService/Mint", many, late); a.body.Code != "resource_exhausted" {
		t.Errorf("there is no room: %d %s", a.status, a.text)
	}
	if a := w.call("IDService/Mint", `{"space":"mint","count":5}`); a.status != http.StatusOK {
		t.Errorf("for few IDs there is no room: %d %s", a.status, a.text)
	}
	for _, done := range all {
		done()
	}
	for range 300 { // as each gives its room back
		if a := w.call("IDService/Mint", many); a.status != http.StatusOK {
			t.Fatalf("there is room again: %d %s", a.status, a.text)
		}
	}
}

// TestBadInput: what can't be is refused with the code that says so, by each procedure.
func TestBadInput(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct{ procedure, body, code string }{
		{"LeaseService/Take", `{"space":"none","window":1}`, ""}, // which is nobody else's either
		{"LeaseService/Take", `{"space":"none","window":1000000000}`, "unavailable"},
		{"LeaseService/Take", `{"space":"none","window":1,"nodes":200000}`, "invalid_argument"},
		{"LeaseService/Take", `{"space":"ulid"}`, "failed_precondition"},
		{"LeaseService/Take", `{"space":"other"}`, "not_found"},
		{"LeaseService/Take", `{`, "invalid_argument"},
		{"LeaseService/GetLimits", `{"space":"` + strings.Repeat("x", 3000) + `"}`, "not_found"},
		{"IDService/Mint", `{"space":"none"}`, "failed_precondition"},
		{"IDService/Mint", `{"space":"mint","count":65537}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","count":-1}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","form":7}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"ulid","form":"FORM_NUMBER"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint","text":"not an ID"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"sorted","text":"x"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"ulid","text":"x"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"ulid","number":"1"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"none","text":"1"}`, "failed_precondition"},
		{"CounterService/Next", `{"space":"none","counter":"orders","count":65537}`, "invalid_argument"},
		{"CounterService/Take", `{"space":"none","counter":"orders","count":"1000000001"}`, "invalid_argument"},
		{"CounterService/Take", `{"space":"none","counter":"orders","count":"-1"}`, "invalid_argument"},
		{"CounterService/Set", `{"space":"none","counter":"unknown"}`, "not_found"},
	} {
		if a := w.call(tt.procedure, tt.body); a.body.Code != tt.code {
			t.Errorf("%s %.200s: %d %s, want code %s", tt.procedure, tt.body, a.status, a.text, tt.code)
		}
	}
	for _, procedure := range procedures() {
		for _, size := range []int{maxMessage + 1, 3 * maxBody} {
			if a := w.call(procedure, `{"space":"`+strings.Repeat("x", size)+`"}`); a.body.Code != "resource_exhausted" && a.body.Code != "invalid_argument" {
				t.Errorf("%s with %d bytes: %d %.200s", procedure, size, a.status, a.text)
			}
		}
	}
	form := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") } // as curl -d does
	if a := w.call("IDService/Mint", `{"space":"mint"}`, form); !strings.Contains(a.text, "want application/json") {
		t.Errorf("a form: %d %q, want an answer that says what to send", a.status, a.text)
	}
}

// TestGetMakesNothing: GET is refused by all that changes anything, and by a page of another site so is POST.
func TestGetMakesNothing(t *testing.T) {
	w := newTestbed(t, spaces)
	if a := w.send(http.MethodGet, "/randflake.v1.IDService/Mint?connect=v1&encoding=json&message=%7B%22space%22%3A%22mint%22%7D", ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s", a.status, a.text)
	}
	elsewhere := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if a := w.call("IDService/Mint", `{"space":"mint"}`, elsewhere); a.status != http.StatusForbidden {
		t.Errorf("POST by a page of another site: %d %s", a.status, a.text)
	}
	rebound := func(r *http.Request) { r.Host = "evil.example:8080" }
	if a := w.call("IDService/Mint", `{"space":"mint"}`, rebound); a.status != http.StatusUnauthorized {
		t.Errorf("POST to this machine by another name: %d %s", a.status, a.text)
	}
}

// unread fails the test when it is read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) { u.Error("the body was read"); return 0, io.EOF }

// TestStrangers: callers without credentials that are known are refused before a byte of their bodies is read, learn nothing of what is
// configured, and are answered so many times only.
func TestStrangers(t *testing.T) {
	w := newTestbed(t, spaces+watchers+"issuers: [{issuer: 'https://issuer.example', audience: randflaked}]\n")
	for i, code := range []string{"unauthenticated", "resource_exhausted"} {
		for _, procedure := range append(procedures(), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") {
			for what, token := range map[string]string{"none": "", "unknown": "x", "unsigned": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0."} {
				a := w.call(procedure, "", func(r *http.Request) {
					r.Body, r.ContentLength = io.NopCloser(unread{t}), 100
					if r.Header.Set("Content-Encoding", "gzip"); token != "" {
						r.Header.Set("Authorization", "Bearer "+token)
					}
				})
				if strings.HasPrefix(procedure, "/") {
					continue // not by JSON
				}
				if a.body.Code != code || strings.Contains(a.text, "issuer") || a.header.Get("Connection") != "close" {
					t.Errorf("%s, token %s: %s, want %s", procedure, what, a.text, code)
				}
			}
		}
		w.strangers.SetBurst(1 - i)
		w.strangers.SetLimit(0)
		w.strangers.Allow()
	}
}

// TestStrangersWhoHold: when strangers have as many requests under way as they may, more of theirs get a header alone, and others answers.
func TestStrangersWhoHold(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	for _, held := range []int64{maxStrangers, 0} {
		w.places.TryAcquire(held)
		for _, path := range []string{"/healthz", "/randflake.v1.IDService/Mint", "//", "/nothing", "/metrics"} {
			if a := w.send(http.MethodPost, path, ""); (a.status == http.StatusServiceUnavailable && a.text == "") != (held > 0) {
				t.Errorf("%s with %d under way: %d %s", path, held, a.status, a.text)
			}
		}
		if a := w.call("IDService/Mint", `{"space":"mint"}`, as("web")); a.status != http.StatusOK {
			t.Errorf("a principal with %d under way: %s", held, a.text)
		}
		w.places.Release(held)
	}
}

// watchers are principals who may observe everything, one space, or nothing.
var watchers = "principals: [{name: all, tokens: [" + hashOf("all") + "]}, {name: one, tokens: [" + hashOf("one") + "]}, {name: web, tokens: [" + hashOf("web") + "]}]\n" +
	"rules: [{principals: [all], spaces: ['*'], verbs: [observe]}, {principals: [one], spaces: [none], verbs: [observe]}, {principals: [web], spaces: ['*'], verbs: [mint, count]}]\n"

// TestPages: the page and /metrics are for those who may observe, and a scrape asks no store.
func TestPages(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	w.call("CounterService/Next", `{"space":"none","counter":"orders"}`, as("web"))
	for _, tt := range []struct {
		path, who string
		status    int
		has, not  string
	}{
		{"/", "all", 200, "orders", "token"}, {"/", "one", 200, "orders", "mint"}, {"/", "web", 403, "denied", "orders"}, {"/", "nobody", 401, "not known", "orders"},
		{"/metrics", "all", 200, `randflake_counter_issued_total{counter="orders",space="none"} 1`, "token"}, {"/metrics", "one", 403, "denied", "orders"},
		{"/metrics", "all", 200, `randflaked_space_ready{space="ulid"} 1`, "token"}, {"/metrics", "all", 200, `randflake_lease_healthy{space="sorted"} 1`, "token"},
		{"/healthz", "nobody", 200, "ok", "not"}, {"/readyz", "nobody", 200, "ok", "not"},
	} {
		before := w.asked.Load()
		a := w.send(http.MethodGet, tt.path, "", func(r *http.Request) { r.SetBasicAuth("x", "token-of-"+tt.who) })
		if a.status != tt.status || !strings.Contains(a.text, tt.has) || strings.Contains(a.text, tt.not) {
			t.Errorf("%s for %s: %d %s", tt.path, tt.who, a.status, a.text)
		}
		if tt.path == "/metrics" && w.asked.Load() > before {
			t.Error("a scrape asks stores")
		}
	}
	w.broken.Store(true)
	if a := w.send(http.MethodGet, "/", "", as("all")); !strings.Contains(a.text, "The store does not answer as it should") || !strings.Contains(a.text, "IDs last until") {
		t.Errorf("the stores are away: %s", a.text)
	}
}

// TestStoreFails: clients learn that the store failed, and the log why.
func TestStoreFails(t *testing.T) {
	w := newTestbed(t, spaces)
	w.broken.Store(true)
	a := w.take("none", "")
	if a.body.Code != "unavailable" || strings.Contains(a.text, "db-7") || !strings.Contains(w.written.String(), "db-7") {
		t.Errorf("the store failed: %s, log %s", a.text, w.written)
	}
	if a := w.call("CounterService/List", `{"space":"none"}`); a.body.Code != "unavailable" || strings.Contains(a.text, "db-7") {
		t.Errorf("a store failed, and a list: %s", a.text)
	}
	w.broken.Store(false)
	if a := w.take("none", ""); a.status != http.StatusOK {
		t.Errorf("the store works again: %s", a.text)
	}
}

// TestShortDeadline: the deadline of a caller is no failure of the store, whose log line strangers would write.
func TestShortDeadline(t *testing.T) {
	w := newTestbed(t, spaces)
	w.hangs.Store(true)
	a := w.take("none", "", func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") })
	if w.hangs.Store(false); a.status == http.StatusOK || strings.Contains(w.written.String(), "store failed") {
		t.Errorf("%s, and the log has:\n%s", a.text, w.written)
	}
}

// reconfigure applies the configuration with a change.
func (w *testbed) reconfigure(change func(*config.Config)) error {
	next := *w.setup.Load().config
	next.Spaces = slices.Clone(next.Spaces)
	change(&next)
	return w.Configure(&next, w.files)
}

// TestConfigure: a space that stays as it is stays open, with its lease; others come, though their stores are away, and go; and a
// configuration that fails changes nothing.
func TestConfigure(t *testing.T) {
	w := newTestbed(t, spaces)
	kept := w.setup.Load().spaces["mint"]
	w.broken.Store(true)
	if err := w.reconfigure(func(c *config.Config) {
		c.Spaces = slices.DeleteFunc(c.Spaces, func(s config.Space) bool { return s.Name == "sorted" })
		c.Spaces = append(c.Spaces, config.Space{Name: "late", Kind: "twitter", Store: "sorted"})
	}); err != nil {
		t.Fatal(err)
	}
	if w.setup.Load().spaces["mint"] != kept || w.call("IDService/Mint", `{"space":"mint"}`).status != http.StatusOK {
		t.Error("a space that stayed as it is was closed")
	}
	if a := w.call("IDService/Mint", `{"space":"sorted"}`); a.body.Code != "not_found" {
		t.Errorf("a space that is gone: %s", a.text)
	}
	if a := w.call("IDService/Mint", `{"space":"late"}`); a.body.Code != "unavailable" || w.Ready() == nil {
		t.Errorf("a space without its store: %s, ready %v", a.text, w.Ready())
	}
	w.broken.Store(false)
	for w.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	if a := w.call("IDService/Mint", `{"space":"late"}`); a.status != http.StatusOK {
		t.Errorf("a space with its store: %s", a.text)
	}
	if err := w.reconfigure(func(c *config.Config) {
		c.Spaces = []config.Space{{Name: "new", Kind: "randflake", Store: "none", SecretFile: "no/such/file"}}
	}); err == nil || w.call("IDService/Mint", `{"space":"mint"}`).status != http.StatusOK {
		t.Errorf("a configuration that fails: error %v; or nothing is as before", err)
	}
	w.Drain()
	for path, status := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/healthz": http.StatusOK} {
		if a := w.send(http.MethodGet, path, ""); a.status != status {
			t.Errorf("%s while it shuts down: %d %s", path, a.status, a.text)
		}
	}
}

// TestMoved: a space with counters gets no other store, unless the configuration says that it was moved.
func TestMoved(t *testing.T) {
	w := newTestbed(t, spaces)
	w.call("CounterService/Next", `{"space":"none","counter":"orders"}`)
	if err := w.reconfigure(func(c *config.Config) { c.Spaces[2].Store = "given" }); err == nil || !strings.Contains(err.Error(), "set moved to true") {
		t.Errorf("reload: %v", err)
	}
	if a := w.call("CounterService/Next", `{"space":"none","counter":"orders"}`); !strings.Contains(a.text, `"2"`) {
		t.Errorf("%s, want the next number", a.text)
	}
	if err := w.reconfigure(func(c *config.Config) { c.Spaces[2].Store, c.Spaces[2].Moved = "given", true }); err != nil {
		t.Error(err)
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
	w := newTestbed(t, spaces+"- {name: filed, kind: twitter, storeFile: "+place+"}\n")
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
