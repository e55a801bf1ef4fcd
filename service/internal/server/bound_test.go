package server

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/config"
)

// othersUsually is the quota of pages, and of calls that are denied, without a limit of a rule.
var othersUsually = rateLimit{calls, othersTogether, config.DefaultRate, int(config.DefaultRate)}

// limited configures limits for web by the size of a call, and for slow by the rate of its calls.
var limited = strings.Replace(spaces, "store: none,", "store: none, quota: {nodes: 4},", 1) +
	"principals:\n" +
	"- {name: web, tokenHashes: [" + hashOf("web") + "]}\n" +
	"- {name: slow, tokenHashes: [" + hashOf("slow") + "]}\n" +
	"rules:\n" +
	"- {principals: [web], spaces: ['*'], verbs: [lease, mint, count], quota: {nodes: 8, batch: 5}}\n" +
	"- {principals: [slow], spaces: [mint, given], verbs: [mint], quota: {rate: 0.001}}\n" +
	"- {principals: [slow], spaces: [mint], verbs: [count], quota: {rate: 0.002}}\n" +
	"- {principals: [slow], spaces: [mint], verbs: [observe], quota: {rate: 0.003}}\n" +
	"- {principals: [slow], spaces: [given], verbs: [lease], quota: {nodes: 1}}\n"

// TestLimits: a rule's limits hold, and so do the space's, whichever is tighter.
func TestLimits(t *testing.T) {
	w := newTestbed(t, limited)
	for i, tt := range []struct {
		who, procedure, body, code string
		denied, retry              bool // what the log tells and the answer offers
	}{
		{"web", "LeaseService/Take", fmt.Sprintf(`{"space":"none","window":%d,"nodeCount":4}`, time.Now().Unix()/60), "", false, false},
		{"web", "LeaseService/Take", `{"space":"none","nodeCount":5}`, "permission_denied LIMIT", true, false},
		{"web", "IDService/Mint", `{"space":"mint","count":5}`, "", false, false},
		{"web", "IDService/Mint", `{"space":"mint","count":6}`, "permission_denied LIMIT", true, false},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/1","count":5}`, "", false, false},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/1","count":6}`, "permission_denied LIMIT", true, false},
		{"web", "CounterService/Next", `{"space":"none","counter":"invoices/2"}`, "", false, false},
		{"slow", "IDService/Mint", `{"space":"mint"}`, "", false, false},
		{"slow", "IDService/Mint", `{"space":"mint"}`, "resource_exhausted RATE", true, true},
		{"slow", "IDService/Mint", `{"space":"given"}`, "", false, false},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, "", false, false},
		{"slow", "CounterService/Next", `{"space":"mint","counter":"others"}`, "resource_exhausted RATE", true, true},
		{"slow", "IDService/Mint", `{"space":"ulid"}`, "permission_denied PERMISSION_DENIED", true, false},
		{"slow", "LeaseService/Take", `{"space":"given","nodeCount":2}`, "permission_denied LIMIT", true, false},
		{"web", "IDService/Mint", `{"space":"elsewhere"}`, "not_found UNKNOWN_SPACE", false, false},
	} {
		before := len(w.written.String())
		a := w.call(tt.procedure, tt.body, as(tt.who))
		w.wants(tt.code, a, "%d: %s %s", i, tt.procedure, tt.body)
		if allowed := strings.Contains(a.text, `"limit":"`); allowed != strings.Contains(a.body.Message, "the limit is") {
			t.Errorf("%d: %s %s: %s, and for programs how much is allowed: %v",
				i, tt.procedure, tt.body, a.text, allowed)
		}
		line := `"msg":"deny","principal":"` + tt.who + `"`
		log := w.written.String()[before:]
		hasLine := strings.Contains(log, line) && strings.Contains(log, `"procedure":"randflake.v1.`+tt.procedure+`"`)
		require.Equal(t, hasLine, tt.denied, "%d: %s %s: whether a line tells of a denial, in\n%s", i, tt.procedure, tt.body, log)
		require.Equal(t, strings.Contains(a.text, `"retryDelay"`), tt.retry,
			"%d: %s %s: %s: to be tried again", i, tt.procedure, tt.body, a.text)
	}
}

// TestPageRate: the page counts against the rate of a rule.
func TestPageRate(t *testing.T) {
	w := newTestbed(t, limited)
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if a := w.send(http.MethodGet, "/", "", as("slow")); a.status != want {
			t.Errorf("the page under a rule's rate: %d %s, want %d", a.status, a.text, want)
		}
	}
}

// TestDeniedRate: calls that are denied count against the principal's rate, and not for a space.
func TestDeniedRate(t *testing.T) {
	w := newTestbed(t, limited)
	w.wants("not_found UNKNOWN_SPACE", w.call("IDService/Mint", `{"space":"elsewhere"}`, as("web")), "no such space")
	go func() { // a slow machine makes fewer calls a second than the rate
		for t.Context().Err() == nil {
			w.rates.allow("slow", othersUsually)
		}
	}()
	slowed := false
	for range 2 * int(config.DefaultRate) {
		slowed = slowed || w.call("IDService/Mint", `{"space":"ulid"}`, as("slow")).body.Code == "resource_exhausted"
	}
	require.That(t, slowed, "denied calls count against no rate")
	w.rates.mu.Lock()
	defer w.rates.mu.Unlock()
	for key := range w.rates.limiters {
		if key.principal == "slow" && key.space == "ulid" {
			t.Error("denied calls count for the space that they name")
		}
		require.That(t, key.space != "elsewhere", "a call counts for a space that is not there")
	}
}

// TestNoRoom: a call for many IDs waits while answers are not read, and one for few does not.
func TestNoRoom(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		require.NoError(t, w.usage.reserve(t.Context(), config.Anyone, roomOfOne))
		late := func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") }
		many := `{"space":"ulid","count":1000}`
		w.wants("unavailable BUSY", w.call("IDService/Mint", many, late), "there is no room")
		began := time.Now()
		if a := w.call("IDService/Mint", many); a.body.Code != "unavailable" || time.Since(began) != callTimeout {
			t.Errorf("there is no room, after %v: %d %s", time.Since(began), a.status, a.text)
		}
		gone, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, hangUp)
		a := w.call("IDService/Mint", many, func(r *http.Request) { *r = *r.WithContext(gone) })
		require.That(t, a.body.Code == "canceled", "the caller has left: %d %s", a.status, a.text)
		w.wants("", w.call("IDService/Mint", `{"space":"mint","count":5}`), "for few IDs there is no room")
		w.usage.free(config.Anyone, roomOfOne)
		for range 300 { // as each gives its room back
			if a := w.call("IDService/Mint", many); a.status != http.StatusOK {
				t.Fatalf("there is room again: %d %s", a.status, a.text)
			}
		}
	})
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

// unread fails the test when it is read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) { u.Error("the body was read"); return 0, io.EOF }

// TestStrangers: callers without credentials that are known are refused before a byte of their
// bodies is read, and learn nothing of what is configured.
func TestStrangers(t *testing.T) {
	w := newTestbed(t, spaces+watchers+"issuers: [{issuer: 'https://issuer.example', audience: randflaked, jwks: 'https://issuer.example/keys'}]\n")
	for _, procedure := range append(procedures(), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") {
		for what, token := range map[string]string{"none": "", "unknown": "x",
			"unsigned": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0."} {
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
			require.That(t, a.why() == "unauthenticated UNAUTHENTICATED" && !strings.Contains(a.text, "issuer") && a.header.Get("Connection") == "close",
				"%s, token %s: %s", procedure, what, a.text)
		}
	}
}

// from is as, or nothing for a stranger.
func from(who string) func(*http.Request) {
	if who == "" {
		return func(*http.Request) {}
	}
	return as(who)
}

func byHTTP2(r *http.Request) { r.ProtoMajor = 2 }

// checkPlaces calls each path while a number of who's places is held: with all 1,000 it is refused.
func checkPlaces(t *testing.T, w *testbed, who string, held int64, status int) {
	t.Helper()
	for _, path := range []string{"/healthz", "/randflake.v1.IDService/Mint", "//", "/nothing", "/metrics"} {
		a := w.send(http.MethodPost, path, "", from(who))
		refused := a.status == status && a.text == ""
		require.Equal(t, refused, held == 1000, "%q: %s with %d under way: %d %s", who, path, held, a.status, a.text)
		if refused && a.header.Get("Connection") != "close" {
			t.Errorf("%q: %s with %d under way: the connection stays", who, path, held)
		}
		a = w.send(http.MethodPost, path, "", from(who), byHTTP2)
		if refused && a.header.Get("Connection") == "close" && who != "" {
			t.Errorf("%q: %s with %d under way by HTTP/2: the connection ends, which others may use",
				who, path, held)
		}
	}
}

// TestPlaces: when a principal, or all strangers, have as many requests under way as they may, more
// of theirs get a header alone, and others answers.
func TestPlaces(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	for _, tt := range []struct {
		who, other string // "" is a stranger
		status     int
	}{
		{"", "web", http.StatusServiceUnavailable},
		{"all", "web", http.StatusTooManyRequests},
		{"web", "all", http.StatusTooManyRequests},
	} {
		places := w.usage.shareOf(tt.who).places
		for _, held := range []int64{999, 1000, 999} {
			require.Must(t, places.TryAcquire(held),
				"%q: %d places: requests that are over keep theirs", tt.who, held)
			checkPlaces(t, w, tt.who, held, tt.status)
			if a := w.send(http.MethodPost, "/nothing", "", from(tt.other)); a.status != http.StatusNotFound {
				t.Errorf("%q with %d of %q under way: %d %s", tt.other, held, tt.who, a.status, a.text)
			}
			places.Release(held)
		}
	}
	require.Must(t, w.usage.shareOf("web").places.TryAcquire(maxPlaces) && w.usage.queued.TryAcquire(maxQueued),
		"not all places are free")
	a := w.send(http.MethodPost, "/nothing", "", as("web"), byHTTP2)
	require.That(t, a.status == http.StatusTooManyRequests && a.header.Get("Connection") == "close",
		"more requests wait to be refused than may: %d, Connection %q", a.status, a.header.Get("Connection"))
}

// TestTurns: while calls of a principal have all of its turns at a store, more of them wait, and fail when their time
// is over. Others' calls go on, and so do the principal's own in other spaces and from memory.
func TestTurns(t *testing.T) {
	yaml := spaces +
		"principals: [{name: busy, tokenHashes: [" + hashOf("busy") + "]}, {name: web, tokenHashes: [" + hashOf("web") + "]}]\n" +
		"rules: [{principals: ['*'], spaces: ['*'], verbs: [lease, mint, count, list, set, observe]}]\n"
	inBubble(t, yaml, func(t *testing.T, w *testbed) {
		known := `{"space":"none","counter":"orders"}`
		if a := w.call("CounterService/Next", known, as("busy")); a.status != http.StatusOK {
			t.Fatal(a.text)
		}
		turns := w.turns.of(storeTurn{"busy", "none"})
		require.Must(t, turns.TryAcquire(maxTurns), "not all turns are free")
		window := fmt.Sprintf(`{"space":"none","window":"%d"}`, time.Now().Unix()/60)
		for _, tt := range []struct {
			procedure, body string
			waits           bool
		}{
			{"LeaseService/Take", window, true},
			{"LeaseService/GetLimits", `{"space":"none"}`, false},
			{"CounterService/TakeNumbers", known, true},
			{"CounterService/GetCounter", known, true},
			{"CounterService/SetCounter", `{"space":"none","counter":"orders","next":"100"}`, true},
			{"CounterService/ListCounters", `{"space":"none"}`, true},
			{"CounterService/Next", `{"space":"none","counter":"few"}`, true},
			{"CounterService/Next", known, false},
			{"CounterService/Next", `{"space":"mint","counter":"others"}`, false},
			{"IDService/Mint", `{"space":"mint"}`, false},
		} {
			began := time.Now()
			a := w.call(tt.procedure, tt.body, as("busy"))
			waited := time.Since(began) >= callTimeout && a.why() == "unavailable BUSY"
			if waited != tt.waits || (!waited && a.status != http.StatusOK) {
				t.Errorf("%s %s: %s after %v, want it to wait: %v",
					tt.procedure, tt.body, a.text, time.Since(began), tt.waits)
			}
			w.wants("", w.call(tt.procedure, tt.body, as("web")), "%s %s of another principal", tt.procedure, tt.body)
		}
		for who, waits := range map[string]bool{"busy": true, "web": false} {
			page := w.send(http.MethodGet, "/", "", as(who)).text
			require.That(t, strings.Contains(page, "too many calls use the store") == waits && strings.Contains(page, "ulid"),
				"the page of %s, want it to say that the store is busy: %v\n%s", who, waits, page)
		}
		turns.Release(maxTurns)
		w.wants("", w.call("CounterService/TakeNumbers", known, as("busy")), "the turns are free again")
		require.That(t, turns.TryAcquire(maxTurns), "a call keeps its turn")
	})
}

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

// TestSlowStrangers: an answer to a stranger waits for five seconds, whichever way they are slow,
// and an answer to a principal as long as the connection allows.
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
		require.That(t, answer.Flushed != known, "%s: sent while its place is held: %v", who, answer.Flushed)
	}
}
