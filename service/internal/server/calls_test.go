package server

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/snowflake"
)

// TestMint: IDs are all different, in each form, and open to when they were made. A line tells of that, and none of new IDs.
func TestMint(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, space := range []string{"mint", "sorted"} {
		ids := w.call("IDService/Mint", `{"space":"`+space+`","count":5000}`).body.IDs
		numbers := w.call("IDService/Mint", `{"space":"`+space+`","form":"FORM_NUMBER"}`).body.Numbers
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != 5000 || len(numbers) != 1 {
			t.Fatalf("%s: %d different IDs, want 5000, and %d numbers", space, n, len(numbers))
		}
		for asked, logged := range map[string]string{
			`"text":"` + ids[0] + `"`:       `"id":"` + ids[0] + `"`,
			`"number":"` + numbers[0] + `"`: `"id":` + numbers[0],
		} {
			a := w.call("IDService/Inspect", `{"space":"`+space+`",`+asked+`}`)
			made, err := time.Parse(time.RFC3339Nano, a.body.Time)
			if err != nil || time.Since(made).Abs() > time.Minute || !a.body.Plausible {
				t.Errorf("%s: inspect %s says %s", space, asked, a.text)
			}
			if !strings.Contains(w.written.String(), `"msg":"inspection","principal":"anyone","space":"`+space+`",`+logged) {
				t.Errorf("%s: no line tells of the inspection of %s:\n%s", space, asked, w.written)
			}
		}
	}
	if strings.Contains(w.written.String(), `"msg":"mint"`) {
		t.Errorf("a line tells of new IDs, and auditMint is not set:\n%s", w.written)
	}
}

// TestInspect: an ID says when it was made, by whom, and as which one of that moment, as text and as a number.
func TestInspect(t *testing.T) {
	w := newTestbed(t, spaces)
	cipher := randflake.NewCipher(w.secret)
	fields := func(n int64) string {
		f := cipher.Inspect(randflake.ID(n))
		return fmt.Sprintf("%s node %d sequence %d", f.Time.Format(time.RFC3339Nano), f.Node, f.Sequence)
	}
	for _, tt := range []struct{ space, id, want string }{
		{"sorted", `"number":"1541815603606036485"`, "2022-06-28T16:07:40.105Z node 378 sequence 5"},
		{"sorted", `"text":"1541815603606036485"`, "2022-06-28T16:07:40.105Z node 378 sequence 5"},
		{"mint", `"number":"7"`, fields(7)},
		{"mint", `"number":"-7"`, fields(-7)},
		{"mint", `"text":"` + randflake.ID(-7).String() + `"`, fields(-7)},
		{"sorted", `"number":"-1"`, "invalid_argument"},
	} {
		a := w.call("IDService/Inspect", `{"space":"`+tt.space+`",`+tt.id+`}`)
		got := fmt.Sprintf("%s node %d sequence %d", a.body.Time, a.body.Node, cmp.Or(a.body.Sequence, 0))
		if got != tt.want && !strings.Contains(a.text, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.space, tt.id, a.text, tt.want)
		}
	}
	soon := func(ahead time.Duration) string {
		return fmt.Sprint(time.Now().Add(ahead).Sub(snowflake.Twitter().Epoch()).Milliseconds() << 22)
	}
	for ahead, plausible := range map[time.Duration]bool{50 * time.Second: true, 2 * time.Minute: false} {
		if a := w.call("IDService/Inspect", `{"space":"sorted","number":"`+soon(ahead)+`"}`); a.body.Plausible != plausible {
			t.Errorf("an ID of a time that is %v ahead: %s", ahead, a.text)
		}
	}
}

// TestAuditOfMints: where that is wanted, a line says which IDs a call has made.
func TestAuditOfMints(t *testing.T) {
	w := newTestbed(t, "auditMint: true"+spaces)
	ids := w.call("IDService/Mint", `{"space":"mint","count":3}`).body.IDs
	numbers := w.call("IDService/Mint", `{"space":"sorted","count":3,"form":"FORM_NUMBER"}`).body.Numbers
	for _, want := range []string{
		fmt.Sprintf(`"msg":"mint","principal":"anyone","space":"mint","count":3,"first":%q,"last":%q,`, ids[0], ids[2]),
		fmt.Sprintf(`"msg":"mint","principal":"anyone","space":"sorted","count":3,"first":%s,"last":%s,`, numbers[0], numbers[2]),
	} {
		if !strings.Contains(w.written.String(), want) {
			t.Errorf("no line has %s:\n%s", want, w.written)
		}
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
		{"Take", `{"space":"mint","counter":"others","count":2}`, `{"first":"21","count":"2","step":"1"}`},
		{"Take", `{"space":"given","counter":"others","count":1000000000}`, `{"first":"11","count":"10000","step":"1"}`},
		{"Set", `{"space":"mint","counter":"others","next":"100"}`, `{}`},
		{"Set", `{"space":"mint","counter":"others","next":"99"}`, `invalid_argument`},
		{"Get", `{"space":"mint","counter":"others"}`, `"next":"100"`},
		{"Take", `{"space":"mint","counter":"others","count":1}`, `{"first":"100"`},
		{"Take", `{"space":"none","counter":"few","count":5}`, `"count":"3"`},
		{"Next", `{"space":"none","counter":"few"}`, `out_of_range`},
		{"List", `{"space":"none"}`, `{"counters":[{"name":"few","start":"1"`},
		{"List", `{"space":"none","limit":1,"after":"few"}`, `{"counters":[{"name":"orders"`},
		{"List", `{"space":"none","after":"orders"}`, `{}`},
		{"Get", `{"space":"none","counter":"unknown"}`, `not_found`},
		{"Next", `{"space":"none","counter":"unknown"}`, `"not_found","message":"lease:nosuchcounter:\"unknown\"`},
		{"Next", `{"space":"none"}`, `not_found`},
	} {
		if a := w.call("CounterService/"+tt.procedure, tt.body); !strings.Contains(strings.ReplaceAll(a.text, " ", ""), tt.want) {
			t.Errorf("%d: %s %s: %s, want %s", i, tt.procedure, tt.body, a.text, tt.want)
		}
	}
	if line := `"msg":"set counter","principal":"anyone","space":"mint","counter":"others","next":100,`; !strings.Contains(w.written.String(), line) {
		t.Errorf("no line has %s:\n%s", line, w.written)
	}
}

// TestPeriods: the service's clock picks the period, whatever a caller says; the answer names it, and the audit log who began it.
func TestPeriods(t *testing.T) {
	ours() // is of the time of all tests
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		w := newTestbed(t, spaces)
		for i, tt := range []struct {
			procedure, more, want string
			begins                string // a period
		}{
			{"Get", ``, `"periods":"day in UTC"`, ""},
			{"Take", `,"count":2`, `{"first":"1000","count":"2","step":"1","period":"2027-01-15"}`, "2027-01-15"},
			{"Take", `,"period":"zz","periodBegin":"1700000000"`, `{"first":"1002","count":"1","step":"1","period":"2027-01-15"}`, ""},
			{"Take", `,"period":"2027-01-16","periodBegin":"1800057600"`, `{"first":"1003","count":"1","step":"1","period":"2027-01-15"}`, ""},
			{"Next", `,"count":2`, `{"numbers":["1004","1005"],"period":"2027-01-15"}`, ""},
			{"Next", ``, `{"numbers":["1000"],"period":"2027-01-16"}`, "2027-01-16"},
			{"Next", ``, `{"numbers":["1001"],"period":"2027-01-16"}`, ""},
		} {
			if tt.begins == "2027-01-16" {
				time.Sleep(24 * time.Hour)
			}
			before := len(w.written.String())
			a := w.call("CounterService/"+tt.procedure, `{"space":"none","counter":"daily"`+tt.more+`}`)
			if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(a.text, " ", ""), "dayinUTC", "day in UTC"), tt.want) {
				t.Errorf("%d: %s %s: %s, want %s", i, tt.procedure, tt.more, a.text, tt.want)
			}
			line := `"msg":"begin period","principal":"anyone","space":"none","counter":"daily","period":"` + tt.begins + `"`
			if written := w.written.String()[before:]; strings.Contains(written, "begin period") != (tt.begins != "") || tt.begins != "" && !strings.Contains(written, line) {
				t.Errorf("%d: want a line on %q in %s", i, tt.begins, written)
			}
		}
	})
}

// take takes nodes of the present window.
func (w *testbed) take(space, more string, change ...func(*http.Request)) answer {
	w.Helper()
	return w.call("LeaseService/Take", fmt.Sprintf(`{"space":%q,"window":%d%s}`, space, time.Now().Unix()/60, more), change...)
}

// TestLeases: nodes are taken once, the audit log says by whom, and errors say until when to wait.
func TestLeases(t *testing.T) {
	w := newTestbed(t, spaces)
	state, err := w.setup.Load().spaces["none"].State()
	if err != nil {
		t.Fatal(err)
	}
	l := state.Store.Limits()
	limits := fmt.Sprintf(`{"windowSeconds":%d,"nodes":%d,"ahead":%d,"maxSkewSeconds":%d,"reserve":%d,"check":"%x"}`,
		int(l.Window.Seconds()), l.Nodes, l.Ahead, int(l.MaxSkew.Seconds()), l.Reserve, w.secret.CheckValue())
	if a := w.call("LeaseService/GetLimits", `{"space":"none"}`); strings.ReplaceAll(a.text, " ", "") != limits {
		t.Errorf("limits: %s, want %s", a.text, limits)
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
	if a := w.take("none", ""); a.body.FirstNode != 9 || !strings.Contains(w.written.String(), `"first_node":9,"last_node":9,`) || !strings.Contains(w.written.String(), `"label":"anyone"`) {
		t.Errorf("without a number of nodes and a label: %s, and the log has\n%s", a.text, w.written)
	}
	a := w.take("none", `,"nodes":65536`)
	for _, want := range []string{`"resource_exhausted"`, `"reason":"FULL"`, `"until":"`, `"retryDelay":"`} {
		if !strings.Contains(a.text, want) {
			t.Errorf("more than there are: %s, want %s", a.text, want)
		}
	}
	if strings.Contains(a.text, state.Store.String()) {
		t.Errorf("%s: shows where the data is", a.text)
	}
	if err := state.Store.ReportLoss(t.Context(), "of this test"); err != nil {
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
		{"slow", "IDService/Mint", `{"space":"mint"}`, ""},
		{"slow", "IDService/Mint", `{"space":"mint"}`, "resource_exhausted"},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, ""},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, "resource_exhausted"},
		{"slow", "IDService/Mint", `{"space":"wide"}`, "permission_denied"},
	} {
		before := len(w.written.String())
		a := w.call(tt.procedure, tt.body, as(tt.who))
		if a.body.Code != tt.code {
			t.Errorf("%d: %s %s: %s, want code %q", i, tt.procedure, tt.body, a.text, tt.code)
		}
		if allowed := strings.Contains(a.text, `"limit":"`); allowed != strings.Contains(a.body.Message, "the limit is") {
			t.Errorf("%d: %s %s: %s, and for programs how much is allowed: %v", i, tt.procedure, tt.body, a.text, allowed)
		}
		line := `"msg":"denial","principal":"` + tt.who + `"`
		denied := a.body.Code == "permission_denied" || tt.who == "slow" && a.body.Code != ""
		if strings.Contains(w.written.String()[before:], line) != denied {
			t.Errorf("%d: %s %s: a line on a denial: want %v, in\n%s", i, tt.procedure, tt.body, denied, w.written.String()[before:])
		}
		if again := a.body.Code == "resource_exhausted" && tt.who == "slow"; strings.Contains(a.text, `"retryDelay"`) != again {
			t.Errorf("%d: %s %s: %s, and to be tried again: want %v", i, tt.procedure, tt.body, a.text, again)
		}
	}
	go func() { // a slow machine makes fewer calls a second than the rate
		for t.Context().Err() == nil {
			w.usage.Call("slow", "", config.DefaultRate, int(config.DefaultRate))
		}
	}()
	slowed := false
	for range 2 * int(config.DefaultRate) {
		slowed = slowed || w.call("IDService/Mint", `{"space":"wide"}`, as("slow")).body.Code == "resource_exhausted"
	}
	if !slowed {
		t.Error("denied calls count against no rate")
	}
}

// TestNoRoom: a call for many IDs waits while answers are not read, and one for few does not.
func TestNoRoom(t *testing.T) {
	ours() // is of the time of all tests
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
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
		many := `{"space":"wide","count":1000}`
		if a := w.call("IDService/Mint", many, late); a.body.Code != "resource_exhausted" {
			t.Errorf("there is no room: %d %s", a.status, a.text)
		}
		gone, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, hangUp)
		if a := w.call("IDService/Mint", many, func(r *http.Request) { *r = *r.WithContext(gone) }); a.body.Code != "canceled" {
			t.Errorf("the caller has left: %d %s", a.status, a.text)
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
	})
}

// TestBadInput: what can't be is refused with the code that says so, by each procedure.
func TestBadInput(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct{ procedure, body, code string }{
		{"LeaseService/Take", `{"space":"none","window":1}`, ""}, // which is nobody else's either
		{"LeaseService/Take", `{"space":"none","window":1000000000}`, "unavailable"},
		{"LeaseService/Take", `{"space":"none","window":1,"nodes":200000}`, "invalid_argument"},
		{"LeaseService/Take", `{"space":"other"}`, "not_found"},
		{"LeaseService/Take", `{`, "invalid_argument"},
		{"LeaseService/GetLimits", `{"space":"` + strings.Repeat("x", 3000) + `"}`, "not_found"},
		{"IDService/Mint", `{"space":"none"}`, "failed_precondition"},
		{"IDService/Mint", `{"space":"mint","count":65537}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","count":-1}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","form":7}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint","text":"not an ID"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"sorted","text":"x"}`, "invalid_argument"},
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
		for _, size := range []int{maxMessage + 1, 3 * maxMessage, 1 << 20} {
			large := `{"space":"` + strings.Repeat("x", size) + `"}`
			for encoding, body := range map[string]string{"identity": large, "gzip": gzipped(large)} {
				a := w.call(procedure, body, func(r *http.Request) { r.Header.Set("Content-Encoding", encoding) })
				if a.body.Code != "invalid_argument" || !strings.Contains(a.body.Message, "want") {
					t.Errorf("%s with %d bytes as %s: %d %.200s", procedure, size, encoding, a.status, a.text)
				}
			}
		}
	}
	for what, body := range map[string]io.Reader{
		"broken":         iotest.ErrReader(errors.New("malformed chunked encoding")),
		"half a chunk":   io.MultiReader(strings.NewReader(`{"space":`), iotest.ErrReader(io.ErrUnexpectedEOF)),
		"without an end": io.LimitReader(endless{}, 1<<20),
	} {
		a := w.call("IDService/Mint", "", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(body), -1 })
		if a.body.Code != "invalid_argument" {
			t.Errorf("a body that is %s: %d %s", what, a.status, a.text)
		}
	}
	form := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") } // as curl -d does
	if a := w.call("IDService/Mint", `{"space":"mint"}`, form); !strings.Contains(a.text, "want application/json") {
		t.Errorf("a form: %d %q, want an answer that says what to send", a.status, a.text)
	}
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// endless is a body of blanks.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestGetMakesNothing: GET is refused by all that changes anything, and by a page of another site so is POST.
func TestGetMakesNothing(t *testing.T) {
	w := newTestbed(t, spaces)
	plain := func(r *http.Request) { r.Header.Del("Content-Type") }
	if a := w.send(http.MethodGet, "/randflake.v1.IDService/Mint?connect=v1&encoding=json&message=%7B%22space%22%3A%22mint%22%7D", "", plain); a.status != http.StatusMethodNotAllowed {
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

// TestStrangers: callers without credentials that are known are refused before a byte of their bodies is read, and learn nothing of what
// is configured.
func TestStrangers(t *testing.T) {
	w := newTestbed(t, spaces+watchers+"issuers: [{issuer: 'https://issuer.example', audience: randflaked, jwks: 'https://issuer.example/keys'}]\n")
	for _, procedure := range append(procedures(), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") {
		for what, token := range map[string]string{"none": "", "unknown": "x", "unsigned": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0."} {
			a := w.call(procedure, "", func(r *http.Request) {
				r.Body = io.NopCloser(unread{t})
				r.ContentLength = 100
				r.Header.Set("Content-Encoding", "gzip")
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				} else {
					r.Header.Set("Content-Type", "text/plain")
				}
			})
			if strings.HasPrefix(procedure, "/") {
				continue // not by JSON
			}
			if a.body.Code != "unauthenticated" || strings.Contains(a.text, "issuer") || a.header.Get("Connection") != "close" {
				t.Errorf("%s, token %s: %s", procedure, what, a.text)
			}
		}
	}
}

// TestPlaces: when a principal, or all strangers, have as many requests under way as they may, more of theirs get a header alone, and
// others answers.
func TestPlaces(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	paths := []string{"/healthz", "/randflake.v1.IDService/Mint", "//", "/nothing", "/metrics"}
	for _, tt := range []struct {
		who, other string // "" is a stranger
		status     int
	}{
		{"", "web", http.StatusServiceUnavailable},
		{"all", "web", http.StatusTooManyRequests},
		{"web", "all", http.StatusTooManyRequests},
	} {
		from := func(who string) func(*http.Request) {
			return func(r *http.Request) {
				if who != "" {
					as(who)(r)
				}
			}
		}
		places := w.usage.Places(tt.who)
		for _, held := range []int64{999, 1000, 999} {
			if !places.TryAcquire(held) {
				t.Fatalf("%q: %d places: requests that are over keep theirs", tt.who, held)
			}
			for _, path := range paths {
				a := w.send(http.MethodPost, path, "", from(tt.who))
				refused := a.status == tt.status && a.text == ""
				if refused != (held == 1000) {
					t.Errorf("%q: %s with %d under way: %d %s", tt.who, path, held, a.status, a.text)
				}
				if refused && a.header.Get("Connection") != "close" {
					t.Errorf("%q: %s with %d under way: the connection stays", tt.who, path, held)
				}
			}
			if a := w.send(http.MethodPost, "/nothing", "", from(tt.other)); a.status != http.StatusNotFound {
				t.Errorf("%q with %d of %q under way: %d %s", tt.other, held, tt.who, a.status, a.text)
			}
			places.Release(held)
		}
	}
}

// watchers are principals who may observe everything, one space, or nothing.
var watchers = "principals: [{name: all, tokens: [" + hashOf("all") + "]}, {name: one, tokens: [" + hashOf("one") + "]}, {name: web, tokens: [" + hashOf("web") + "]}]\n" +
	"rules: [{principals: [all], spaces: ['*'], verbs: [observe]}, {principals: [one], spaces: [none], verbs: [observe]}, {principals: [web], spaces: ['*'], verbs: [mint, count]}]\n"

// A waiting writes an answer, and notes for how long it waits for the reader.
type waiting struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (w *waiting) SetReadDeadline(end time.Time) error {
	w.read = end
	return nil
}

func (w *waiting) SetWriteDeadline(end time.Time) error {
	w.write = end
	return nil
}

// TestSlowStrangers: an answer to a stranger waits for five seconds, whichever way they are slow, and an answer to a principal as long as the
// connection allows.
func TestSlowStrangers(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	for who, known := range map[string]bool{"nobody": false, "web": true} {
		r := httptest.NewRequest(http.MethodPost, "/randflake.v1.IDService/Mint", strings.NewReader(`{"space":"mint"}`))
		r.Header.Set("Content-Type", "application/json")
		as(who)(r)
		answer := &waiting{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		w.handler.ServeHTTP(answer, r)
		for what, end := range map[string]time.Time{"read": answer.read, "written": answer.write} {
			bounded := !end.Before(before.Add(strangerTime)) && !end.After(time.Now().Add(strangerTime))
			if end.IsZero() != known || !known && !bounded {
				t.Errorf("%s: %s until %v", who, what, end)
			}
		}
		if answer.Flushed == known {
			t.Errorf("%s: sent while its place is held: %v", who, answer.Flushed)
		}
	}
}

// TestConnections: a connection takes no more calls when it is old, or, as far as no call is cut, when the service shuts down.
func TestConnections(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct {
		what     string
		age      time.Duration // since it got old; 0 is never
		draining bool
		major    int
		closed   bool
	}{
		{"one of any age", 0, false, 1, false},
		{"a young one", -time.Minute, false, 1, false},
		{"an old one", time.Second, false, 1, true},
		{"an old one of HTTP/2", time.Second, false, 2, true},
		{"one of a service that shuts down", 0, true, 1, true},
		{"one of HTTP/2 of a service that shuts down", 0, true, 2, false},
	} {
		w.draining.Store(tt.draining)
		a := w.call("IDService/Mint", `{"space":"mint"}`, func(r *http.Request) {
			r.ProtoMajor = tt.major
			if tt.age != 0 {
				*r = *r.WithContext(Aging(r.Context(), time.Now().Add(-tt.age)))
			}
		})
		if closed := a.header.Get("Connection") == "close"; closed != tt.closed || a.status != http.StatusOK {
			t.Errorf("%s: %d %s, closed %v", tt.what, a.status, a.text, closed)
		}
	}
}

// TestRequestID: the ID of a request is that of its trace, or else one of its own, in the answer and in the audit log.
func TestRequestID(t *testing.T) {
	w := newTestbed(t, spaces)
	const trace = "0123456789abcdef0123456789abcdef"
	seen := map[string]bool{}
	for parent, want := range map[string]string{
		"00-" + trace + "-0123456789abcdef-01":                  trace,
		"00-" + trace + "-0123456789abcdef":                     "",
		"00-" + trace[1:] + "-0123456789abcdef-01":              "",
		"00-" + strings.ToUpper(trace) + "-0123456789abcdef-01": "",
		"": "",
	} {
		a := w.take("none", "", func(r *http.Request) { r.Header.Set("Traceparent", parent) })
		id := a.header.Get("X-Request-Id")
		if want != "" && id != want || want == "" && strings.Contains(id, trace[1:]) || id == "" || seen[id] {
			t.Errorf("traceparent %q: ID %q, want %q", parent, id, want)
		}
		seen[id] = true
		if line := `"address":"192.0.2.1:1234","request":"` + id + `"`; !strings.Contains(w.written.String(), line) {
			t.Errorf("no line has %s:\n%s", line, w.written)
		}
	}
}

// TestStoreFails: clients learn that the store failed, and the log why.
func TestStoreFails(t *testing.T) {
	w := newTestbed(t, spaces)
	w.broken.Store(true)
	a := w.take("none", "")
	if a.body.Code != "unavailable" || !strings.Contains(a.text, `"reason":"STORE"`) || !strings.Contains(a.text, `"retryDelay"`) || strings.Contains(a.text, "db-7") || !strings.Contains(w.written.String(), "db-7") {
		t.Errorf("the store failed: %s, log %s", a.text, w.written)
	}
	if a := w.call("CounterService/List", `{"space":"none"}`); a.body.Code != "unavailable" || !strings.Contains(a.text, `"reason":"STORE"`) || strings.Contains(a.text, "db-7") {
		t.Errorf("a store failed, and a list: %s", a.text)
	}
	if a := w.call("CounterService/Get", `{"space":"none","counter":"orders"}`); a.body.Code != "unavailable" {
		t.Errorf("a store failed, and a counter: %s", a.text)
	}
	for w.usage.Call(config.Anyone, "*failures", 10, 100) { // as after many calls that failed
	}
	before := strings.Count(w.written.String(), "store failed")
	w.take("none", "")
	if n := strings.Count(w.written.String(), "store failed") - before; before == 0 || n != 0 {
		t.Errorf("%d lines, and %d more when there were enough: want some, and none", before, n)
	}
	w.broken.Store(false)
	if a := w.take("none", ""); a.status != http.StatusOK {
		t.Errorf("the store works again: %s", a.text)
	}
}

// TestShortDeadline: the deadline of a caller is no failure of the store, whose log line strangers would write, nor is one that passes
// before the call begins.
func TestShortDeadline(t *testing.T) {
	w := newTestbed(t, spaces)
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if a := w.take("none", "", func(r *http.Request) { *r = *r.WithContext(past) }); a.body.Code != "deadline_exceeded" {
		t.Errorf("a deadline that is over: %s", a.text)
	}
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
	kept, gone := w.setup.Load().spaces["mint"], w.setup.Load().spaces["sorted"]
	w.broken.Store(true)
	if err := w.reconfigure(func(c *config.Config) {
		c.Spaces = slices.DeleteFunc(c.Spaces, func(s config.Space) bool { return s.Name == "sorted" })
		c.Spaces = append(c.Spaces, config.Space{Name: "late", Kind: "twitter", Store: "sorted"})
	}); err != nil {
		t.Fatal(err)
	}
	w.closing.Wait()
	if _, err := gone.State(); err == nil {
		t.Error("a space that is gone stays open")
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

// A closable is a file of the audit log.
type closable struct {
	buffer
	closed atomic.Bool
}

func (c *closable) Close() error {
	c.closed.Store(true)
	return nil
}

// TestFiles: files are closed once others have replaced them, and those of a configuration that fails are their opener's.
func TestFiles(t *testing.T) {
	w := newTestbed(t, spaces)
	c := w.setup.Load().config
	first, second, third := new(closable), new(closable), new(closable)
	configure := func(c *config.Config, file *closable) error {
		return w.Configure(c, Files{TLS: w.files.TLS, Audit: file})
	}
	if configure(c, first) != nil || configure(c, second) != nil {
		t.Fatal("a configuration does no more")
	}
	for what, change := range map[string]func(*config.Config){
		"secret": func(c *config.Config) {
			c.Spaces = []config.Space{{Name: "new", Kind: "randflake", Store: "none", SecretFile: "no/such/file"}}
		},
		"authority": func(c *config.Config) {
			c.Issuers = []config.Issuer{{Issuer: "https://issuer.example", CA: "no/such/file"}}
		},
	} {
		wrong := *c
		change(&wrong)
		if configure(&wrong, third) == nil {
			t.Errorf("the file of the %s is not there: no error", what)
		}
	}
	w.take("none", "")
	if !first.closed.Load() || second.closed.Load() || third.closed.Load() {
		t.Errorf("closed: %v, %v, %v; want the first one", first.closed.Load(), second.closed.Load(), third.closed.Load())
	}
	if first.String() != "" || !strings.Contains(second.String(), `"msg":"take"`) || third.String() != "" {
		t.Errorf("the lines are in another file than the second: %q, %q, %q", first, second, third)
	}
}

// A slow keeper is closed when it says so.
type slow struct {
	space.Keeper
	closed atomic.Bool
}

func (s *slow) Close() error {
	err := s.Keeper.Close()
	s.closed.Store(true)
	return err
}

// TestClose: a server is closed when all its spaces are.
func TestClose(t *testing.T) {
	w := newTestbed(t, spaces)
	state, err := w.setup.Load().spaces["mint"].State()
	if err != nil {
		t.Fatal(err)
	}
	keeper := &slow{Keeper: state.Own}
	state.Own = keeper
	w.Close()
	if !keeper.closed.Load() {
		t.Error("the service's lease is kept")
	}
	for name, in := range w.setup.Load().spaces {
		if _, err := in.State(); err == nil {
			t.Errorf("%s is open", name)
		}
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
		if err := w.Configure(c, w.files); err != nil || w.setup.Load().spaces[tt.space] == before[tt.space] || w.setup.Load().spaces["none"] != before["none"] {
			t.Errorf("%s with another file: it, or another space, is as before or not; error %v", tt.space, err)
		}
		os.Remove(tt.file)
		if err := w.Configure(c, w.files); err == nil {
			t.Errorf("%s without its file: no error", tt.space)
		}
		write(tt.file, tt.text)
	}
}
