package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
)

// TestMint: IDs are all different, in each format, and open to when they were made. A line tells of
// that, and none of new IDs.
func TestMint(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, space := range []string{"mint", "sorted"} {
		ids := w.call("IDService/Mint", `{"space":"`+space+`","count":5000}`).body.IDs
		numbers := w.call("IDService/Mint", `{"space":"`+space+`","format":"FORMAT_NUMBER"}`).body.Numbers
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != 5000 || len(numbers) != 1 {
			t.Fatalf("%s: %d different IDs, want 5000, and %d numbers", space, n, len(numbers))
		}
		for asked, logged := range map[string]string{
			`"text":"` + ids[0] + `"`:       `"id":"` + ids[0] + `"`,
			`"number":"` + numbers[0] + `"`: `"id":"` + numbers[0] + `"`,
		} {
			a := w.call("IDService/Inspect", `{"space":"`+space+`",`+asked+`}`)
			made, err := time.Parse(time.RFC3339Nano, a.body.Time)
			require.That(t, err == nil && time.Since(made).Abs() <= time.Minute && a.body.Plausible,
				"%s: inspect %s says %s", space, asked, a.text)
			require.That(t, strings.Contains(w.written.String(), `"msg":"inspect","principal":"anyone","space":"`+space+`",`+logged),
				"%s: no line tells of the inspection of %s:\n%s", space, asked, w.written)
		}
	}
	for _, id := range w.call("IDService/Mint", `{"space":"ulid","count":3}`).body.IDs {
		a := w.call("IDService/Inspect", `{"space":"ulid","text":"`+id+`"}`)
		made, err := time.Parse(time.RFC3339Nano, a.body.Time)
		require.That(t, err == nil && time.Since(made).Abs() <= time.Minute && a.body.Plausible,
			"ulid: inspect %s says %s", id, a.text)
	}
	require.Omits(t, w.written.String(), `"msg":"mint"`, "a line tells of new IDs, and audit.mint is not set")
}

// TestInspect: an ID says when it was made, by whom, and as which one of that moment, as text and as a number.
func TestInspect(t *testing.T) {
	w := newTestbed(t, spaces+"- {name: wide, kind: snowflake, store: wide, "+
		"layout: 'wide: time 29, worker 33, sequence 1; 1s since 2025-01-01T00:00:00Z'}\n")
	cipher := randflake.NewCipher(w.secret)
	fields := func(n int64) string {
		f := cipher.Inspect(randflake.ID(n))
		return fmt.Sprintf("%s node %d sequence %d", f.Time.Format(time.RFC3339Nano), f.Node, f.Sequence)
	}
	for _, tt := range []struct{ space, id, want string }{
		{"sorted", `"number":"1541815603606036485"`, "2022-06-28T16:07:40.105Z node 378 sequence 5"},
		{"sorted", `"text":"1541815603606036485"`, "2022-06-28T16:07:40.105Z node 378 sequence 5"},
		{"ulid", `"text":"01ARZ3NDEKTSV4RRFFQ69G5FAV"`, "2016-07-30T23:54:10.259Z node 0 sequence 0"},
		{"mint", `"number":"7"`, fields(7)},
		{"mint", `"number":"-7"`, fields(-7)},
		{"mint", `"text":"` + randflake.ID(-7).String() + `"`, fields(-7)},
		{"mint", `"text":"10"`, `"invalid_argument","message":"randflake: invalid ID: \"10\": a decimal number`},
		{"sorted", `"number":"-1"`, "invalid_argument"},
		{"wide", `"number":"8589934591"`, "2025-01-01T00:00:00Z node 4294967295 sequence 1"},
		{"wide", `"number":"8589934592"`, `"invalid_argument","message":"randflake: invalid ID: worker 4294967296: want at most`},
		{"ulid", `"number":"1"`, `"invalid_argument","message":"randflake: invalid ID: a ULID is no 64-bit integer`},
		{"ulid", `"text":"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"`, `"invalid_argument","message":"randflake: invalid ID: of the year 10889`},
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
	w := newTestbed(t, "audit: {mint: true}"+spaces)
	ids := w.call("IDService/Mint", `{"space":"mint","count":3}`).body.IDs
	numbers := w.call("IDService/Mint", `{"space":"sorted","count":3,"format":"FORMAT_NUMBER"}`).body.Numbers
	for _, want := range []string{
		fmt.Sprintf(`"msg":"mint","principal":"anyone","space":"mint","count":3,"first":%q,"last":%q,`, ids[0], ids[2]),
		fmt.Sprintf(`"msg":"mint","principal":"anyone","space":"sorted","count":3,"first":%q,"last":%q,`, numbers[0], numbers[2]),
	} {
		require.That(t, strings.Contains(w.written.String(), want), "no line has %s:\n%s", want, w.written)
	}
}

// TestCounters: numbers are the counter's, and a run is taken for good.
func TestCounters(t *testing.T) {
	w := newTestbed(t, spaces)
	for i, tt := range []struct{ procedure, body, want string }{
		{"GetCounter", `{"space":"mint","counter":"others"}`, `"next":"1"`},
		{"Next", `{"space":"none","counter":"orders","count":3}`, `{"numbers":["1","2","3"]}`},
		{"TakeNumbers", `{"space":"mint","counter":"others","count":10}`, `{"first":"1","count":"10","step":"1"}`},
		{"TakeNumbers", `{"space":"mint","counter":"others","count":10}`, `{"first":"11","count":"10","step":"1"}`},
		{"TakeNumbers", `{"space":"given","counter":"others","count":10}`, `{"first":"1","count":"10","step":"1"}`}, // another one
		{"TakeNumbers", `{"space":"mint","counter":"others","count":2}`, `{"first":"21","count":"2","step":"1"}`},
		{"TakeNumbers", `{"space":"given","counter":"others","count":1000000000}`, `{"first":"11","count":"10000","step":"1"}`},
		{"SetCounter", `{"space":"mint","counter":"others","next":"100"}`, `{}`},
		{"SetCounter", `{"space":"mint","counter":"others","next":"99"}`, `invalid_argument`},
		{"GetCounter", `{"space":"mint","counter":"others"}`, `"next":"100"`},
		{"TakeNumbers", `{"space":"mint","counter":"others","count":1}`, `{"first":"100"`},
		{"TakeNumbers", `{"space":"none","counter":"few","count":5}`, `"count":"3"`},
		{"Next", `{"space":"none","counter":"few"}`, `out_of_range`},
		{"GetCounter", `{"space":"none","counter":"few"}`, `{"counter":{"name":"few","start":"1","step":"1","last":"3"}}`},
		{"ListCounters", `{"space":"none"}`, `{"counters":[{"name":"few","start":"1"`},
		{"ListCounters", `{"space":"none","limit":1,"after":"few"}`, `{"counters":[{"name":"orders"`},
		{"ListCounters", `{"space":"none","after":"orders"}`, `{}`},
		{"SetCounter", `{"space":"none","counter":"invoices/1","next":"50"}`, `{}`}, // which was not used yet
		{"TakeNumbers", `{"space":"none","counter":"invoices/1"}`, `{"first":"50"`},
		{"GetCounter", `{"space":"none","counter":"unknown"}`, `not_found`},
		{"Next", `{"space":"none","counter":"unknown"}`, `"not_found","message":"lease:nosuchcounter:\"unknown\"`},
		{"Next", `{"space":"none"}`, `not_found`},
	} {
		if a := w.call("CounterService/"+tt.procedure, tt.body); !strings.Contains(strings.ReplaceAll(a.text, " ", ""), tt.want) {
			t.Errorf("%d: %s %s: %s, want %s", i, tt.procedure, tt.body, a.text, tt.want)
		}
	}
	line := `"msg":"set counter","principal":"anyone","space":"mint","counter":"others","next":"100",`
	require.That(t, strings.Contains(w.written.String(), line), "no line has %s:\n%s", line, w.written)
	require.Omits(t, w.written.String(), "begin period", "a line tells of a period, and these counters have none")
}

// TestPeriods: the service's clock picks the period, whatever a caller says; the answer names it,
// and the audit log who began it.
func TestPeriods(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		for i, tt := range []struct {
			procedure, more, want string
			begins                string // a period
		}{
			{"GetCounter", ``, `"periods":"day@UTC"`, ""},
			{"TakeNumbers", `,"count":2`, `{"first":"1000","count":"2","step":"1","period":"2027-01-15"}`, "2027-01-15"},
			{"TakeNumbers", `,"period":"zz","periodBegin":"1700000000"`, `{"first":"1002","count":"1","step":"1","period":"2027-01-15"}`, ""},
			{"TakeNumbers", `,"period":"2027-01-16","periodBegin":"1800057600"`, `{"first":"1003","count":"1","step":"1","period":"2027-01-15"}`, ""},
			{"Next", `,"count":2`, `{"numbers":["1004","1005"],"period":"2027-01-15"}`, ""},
			{"Next", ``, `{"numbers":["1000"],"period":"2027-01-16"}`, "2027-01-16"},
			{"Next", ``, `{"numbers":["1001"],"period":"2027-01-16"}`, ""},
		} {
			if tt.begins == "2027-01-16" {
				time.Sleep(24 * time.Hour)
			}
			before := len(w.written.String())
			a := w.call("CounterService/"+tt.procedure, `{"space":"none","counter":"daily"`+tt.more+`}`)
			require.That(t, strings.Contains(strings.ReplaceAll(a.text, " ", ""), tt.want),
				"%d: %s %s: %s, want %s", i, tt.procedure, tt.more, a.text, tt.want)
			line := `"msg":"begin period","principal":"anyone","space":"none","counter":"daily","period":"` + tt.begins + `"`
			written := w.written.String()[before:]
			begins := tt.begins != ""
			if strings.Contains(written, "begin period") != begins || begins && !strings.Contains(written, line) {
				t.Errorf("%d: want a line on %q in %s", i, tt.begins, written)
			}
		}
	})
}

// TestPeriodOfGone: a caller who hangs up while a call begins a period has a line in the audit log.
func TestPeriodOfGone(t *testing.T) {
	for _, procedure := range []string{"CounterService/TakeNumbers", "CounterService/Next"} {
		w := newTestbed(t, spaces)
		gone, hangUp := context.WithCancel(t.Context())
		do := func() { hangUp() }
		w.during.Store(&do)
		w.call(procedure, `{"space":"none","counter":"daily"}`, func(r *http.Request) { *r = *r.WithContext(gone) })
		lines := strings.Count(w.written.String(), "begin period")
		require.That(t, gone.Err() != nil && lines == 1, "%s: %d lines, want 1", procedure, lines)
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
	state, err := w.setup.Load().spaces["none"].State()
	require.NoError(t, err)
	l := state.Leases.Limits()
	limits := fmt.Sprintf(`{"windowSeconds":%d,"nodeCount":%d,"ahead":%d,"maxSkewSeconds":%d,"reserve":%d,"checkValue":"%x","firstNode":%d}`,
		int(l.Window.Seconds()), l.Nodes, l.Ahead, int(l.MaxSkew.Seconds()), l.Reserve, w.secret.CheckValue(), firstOfPart)
	if a := w.call("LeaseService/GetLimits", `{"space":"none"}`); strings.ReplaceAll(a.text, " ", "") != limits {
		t.Errorf("limits: %s, want %s", a.text, limits)
	}
	for i, want := range []uint32{0, 3, 6} {
		if a := w.take("none", `,"nodeCount":3,"label":"host/web"`); a.status != http.StatusOK || a.firstNode() != firstOfPart+want {
			t.Errorf("take %d: %s", i, a.text)
		}
	}
	line := `"msg":"take","principal":"anyone","space":"none","window":` + fmt.Sprint(time.Now().Unix()/60) +
		fmt.Sprintf(`,"first_node":%d,"last_node":%d,"start":"20`, firstOfPart+3, firstOfPart+5)
	if !strings.Contains(w.written.String(), line) || !strings.Contains(w.written.String(), `"label":"host/web"`) ||
		!strings.Contains(w.written.String(), `"msg":"take","principal":"randflaked","space":"mint"`) {
		t.Errorf("no line %s in\n%s", line, w.written)
	}
	a := w.take("none", "")
	log := w.written.String()
	logged := strings.Contains(log, fmt.Sprintf(`"first_node":%d,"last_node":%[1]d,`, firstOfPart+9)) &&
		strings.Contains(log, `"label":"anyone"`)
	require.That(t, a.firstNode() == firstOfPart+9 && logged,
		"without a number of nodes, one of windows and a label: %s, and the log has\n%s", a.text, log)
	a = w.take("none", `,"nodeCount":32768`)
	w.wants("resource_exhausted FULL", a, "more than there are")
	for _, want := range []string{`"until":"`, `"retryDelay":"`, `"procedure":"randflake.v1.LeaseService/Take"`} {
		require.Contains(t, a.text, want, "more than there are")
	}
	if a := w.take("none", `,"nodeCount":200000`); !strings.Contains(a.text, "which its space has") {
		t.Errorf("%s: want its space in place of where the data is", a.text)
	}
	require.NoError(t, state.Leases.ReportLoss(t.Context(), "of this test"))
	w.wants("unavailable LOSS", w.take("none", ""), "after a loss")
}

// TestBadInput: what can't be is refused with the code that says so, by each procedure.
func TestBadInput(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct{ procedure, body, code string }{
		{"LeaseService/Take", `{"space":"none","window":1}`, ""}, // which is nobody else's either
		{"LeaseService/Take", `{"space":"none","window":1000000000}`, "unavailable AHEAD"},
		{"LeaseService/Take", `{"space":"none","window":1,"nodeCount":200000}`, "invalid_argument INVALID_ARGUMENT"},
		{"LeaseService/Take", `{"space":"other"}`, "not_found"},
		{"LeaseService/Take", `{`, "invalid_argument"},
		{"LeaseService/GetLimits", `{"space":"` + strings.Repeat("x", 3000) + `"}`, "not_found"},
		{"IDService/Mint", `{"space":"none"}`, "failed_precondition NO_SECRET"},
		{"IDService/Mint", `{"space":"mint","count":10000}`, ""},
		{"IDService/Mint", `{"space":"mint","count":10001}`, "permission_denied LIMIT"}, // the limit, of the configuration
		{"IDService/Mint", `{"space":"mint","count":65536}`, "permission_denied"},
		{"IDService/Mint", `{"space":"mint","count":65537}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","count":-1}`, "invalid_argument"},
		{"IDService/Mint", `{"space":"mint","format":7}`, "invalid_argument INVALID_ARGUMENT"},
		{"IDService/Mint", `{"space":"ulid","format":"FORMAT_NUMBER"}`, "invalid_argument INVALID_ID"},
		{"IDService/Inspect", `{"space":"mint"}`, "invalid_argument"},
		{"IDService/Inspect", `{"space":"mint","text":"not an ID"}`, "invalid_argument INVALID_ID"},
		{"IDService/Inspect", `{"space":"sorted","text":"x"}`, "invalid_argument INVALID_ID"},
		{"IDService/Inspect", `{"space":"ulid","text":"x"}`, "invalid_argument INVALID_ID"},
		{"IDService/Inspect", `{"space":"none","text":"1"}`, "failed_precondition NO_SECRET"},
		{"CounterService/Next", `{"space":"none","counter":"orders","count":65537}`, "invalid_argument"},
		{"CounterService/TakeNumbers", `{"space":"none","counter":"orders","count":"1000000001"}`, "invalid_argument"},
		{"CounterService/TakeNumbers", `{"space":"none","counter":"orders","count":"-1"}`, "invalid_argument"},
		{"CounterService/SetCounter", `{"space":"none","counter":"unknown"}`, "not_found NO_COUNTER"},
		{"CounterService/TakeNumbers", `{"space":"none","counter":"unknown"}`, "not_found"},
		{"CounterService/Next", `{"space":"none","counter":"unknown"}`, "not_found"},
		{"CounterService/Next", `{"space":"none","counter":"few","count":4}`, "out_of_range COUNTER_ENDED"},
	} {
		w.wants(tt.code, w.call(tt.procedure, tt.body), "%s %.200s", tt.procedure, tt.body)
	}
	require.Omits(t, w.written.String(), "store failed", "the log has lines on what callers did wrong")
	for _, procedure := range procedures() {
		needsStore := !strings.HasPrefix(procedure, "IDService/")
		if a := w.call(procedure, `{"space":"ulid"}`); needsStore != (a.why() == "failed_precondition NO_STORE") {
			t.Errorf("%s of a space without a store: %d %s", procedure, a.status, a.text)
		}
	}

	const message = `{"space":"mint"}`
	largest := message + strings.Repeat(" ", maxMessage-len(message))
	for encoding, body := range map[string]string{"identity": largest, "gzip": gzipped(largest)} {
		a := w.call("IDService/Mint", body, func(r *http.Request) {
			r.Header.Set("Content-Encoding", encoding)
			r.Header.Set("Accept-Encoding", "gzip") // and answers are not compressed all the same
		})
		require.Equal(t, len(a.body.IDs), 1, "a message of %d bytes as %s: %d %s", maxMessage, encoding, a.status, a.text)
	}
	framed := string(binary.BigEndian.AppendUint32([]byte{0}, maxMessage)) + largest
	a := w.call("IDService/Mint", framed, func(r *http.Request) {
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", "application/grpc+json")
	})
	require.Contains(t, a.text, `"ids":`, "a message of %d bytes by gRPC: %d", maxMessage, a.status)
	for _, procedure := range procedures() {
		for _, size := range []int{grpcPrefix + maxMessage + 1, 3 * maxMessage, 1 << 20} {
			large := message + strings.Repeat(" ", size-len(message))
			for encoding, body := range map[string]string{"identity": large, "gzip": gzipped(large)} {
				a := w.call(procedure, body, func(r *http.Request) { r.Header.Set("Content-Encoding", encoding) })
				require.That(t, a.body.Code == "invalid_argument" && strings.Contains(a.body.Message, "want"),
					"%s with %d bytes as %s: %d %.200s", procedure, size, encoding, a.status, a.text)
			}
		}
	}
	for _, tt := range []struct {
		what string
		body io.Reader
		says string
	}{
		{"broken", iotest.ErrReader(errors.New("malformed chunked encoding")), "the body can't be read: malformed chunked encoding"},
		{"half a chunk", io.MultiReader(strings.NewReader(`{"space":`), iotest.ErrReader(io.ErrUnexpectedEOF)),
			"the body can't be read: unexpected EOF"},
		{"without an end", io.LimitReader(endless{}, 1<<20), "the body is too large: want a message of at most 4096 bytes"},
	} {
		a := w.call("IDService/Mint", "", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(tt.body), -1 })
		require.That(t, a.body.Code == "invalid_argument" && a.body.Message == tt.says,
			"a body that is %s: %d %s, want %q", tt.what, a.status, a.text, tt.says)
	}
	// The first is as curl -d does.
	for _, form := range []string{"application/x-www-form-urlencoded", "application/jsonl", "application/grpcweb"} {
		a := w.call("IDService/Mint", `{"space":"mint"}`, func(r *http.Request) { r.Header.Set("Content-Type", form) })
		require.Contains(t, a.text, "want application/json", "%s: %d", form, a.status)
	}
}

// TestGetMakesNothing: GET is refused by all that changes anything. A page of another site has no call
// answered, not even by GET: that could use up the caller's rate and fill the audit log, and its
// status says which spaces and counters there are. Such a page may have a link to the page.
func TestGetMakesNothing(t *testing.T) {
	w := newTestbed(t, spaces)
	query := func(message string) string { return "?connect=v1&encoding=json&message=" + url.QueryEscape(message) }
	mint := "/randflake.v1.IDService/Mint" + query(`{"space":"mint"}`)
	inspect := "/randflake.v1.IDService/Inspect" + query(`{"space":"mint","number":"1"}`)
	counter := "/randflake.v1.CounterService/GetCounter" + query(`{"space":"given","counter":"missing"}`)
	for _, tt := range []struct {
		path, site string
		status     int
	}{
		{mint, "none", http.StatusMethodNotAllowed},
		{inspect, "", http.StatusOK},
		{inspect, "none", http.StatusOK},
		{inspect, "same-origin", http.StatusOK},
		{inspect, "same-site", http.StatusForbidden},
		{inspect, "cross-site", http.StatusForbidden},
		{counter, "none", http.StatusNotFound},
		{counter, "cross-site", http.StatusForbidden},
		{"/", "cross-site", http.StatusOK},
	} {
		a := w.send(http.MethodGet, tt.path, "", func(r *http.Request) {
			r.Header.Del("Content-Type")
			r.Header.Set("Sec-Fetch-Site", tt.site)
		})
		require.That(t, a.status == tt.status,
			"GET %s, from %q: %d %s, want %d", tt.path, tt.site, a.status, a.text, tt.status)
	}
	require.Equal(t, strings.Count(w.written.String(), `"msg":"inspect"`), 3, "lines on inspections")
	elsewhere := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if a := w.call("IDService/Mint", `{"space":"mint"}`, elsewhere); a.status != http.StatusForbidden {
		t.Errorf("POST by a page of another site: %d %s", a.status, a.text)
	}
	rebound := func(r *http.Request) { r.Host = "evil.example:8080" }
	if a := w.call("IDService/Mint", `{"space":"mint"}`, rebound); a.status != http.StatusUnauthorized {
		t.Errorf("POST to this machine by another name: %d %s", a.status, a.text)
	}
}

// watchers are principals who may observe everything, one space, or nothing.
var watchers = "principals:\n" +
	"- {name: all, tokenHashes: [" + hashOf("all") + "]}\n" +
	"- {name: one, tokenHashes: [" + hashOf("one") + "]}\n" +
	"- {name: web, tokenHashes: [" + hashOf("web") + "]}\n" +
	"rules:\n" +
	"- {principals: [all], spaces: ['*'], verbs: [observe]}\n" +
	"- {principals: [one], spaces: [none], verbs: [observe]}\n" +
	"- {principals: [web], spaces: ['*'], verbs: [mint, count]}\n"

// TestConnections: a connection takes no more calls when the service shuts down, as far as no call is cut.
func TestConnections(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, tt := range []struct {
		what     string
		draining bool
		major    int
		closed   bool
	}{
		{"any", false, 1, false},
		{"one of a service that shuts down", true, 1, true},
		{"one of HTTP/2 of a service that shuts down", true, 2, false},
	} {
		w.draining.Store(tt.draining)
		a := w.call("IDService/Mint", `{"space":"mint"}`, func(r *http.Request) { r.ProtoMajor = tt.major })
		if closed := a.header.Get("Connection") == "close"; closed != tt.closed || a.status != http.StatusOK {
			t.Errorf("%s: %d %s, closed %v", tt.what, a.status, a.text, closed)
		}
	}
}

// TestRequestID: the ID of a request is that of its trace, or else one of its own, in the answer
// and in the audit log.
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
		line := `"address":"192.0.2.1:1234","request":"` + id + `"`
		require.That(t, strings.Contains(w.written.String(), line), "no line has %s:\n%s", line, w.written)
	}
}

// TestStoreFails: clients learn that the store failed, and the log why.
func TestStoreFails(t *testing.T) {
	w := newTestbed(t, spaces)
	w.broken.Store(true)
	wantFailure := func(a answer) {
		t.Helper()
		explained := strings.Contains(a.text, `"reason":"STORE"`) && strings.Contains(a.text, `"retryDelay"`)
		require.That(t, a.body.Code == "unavailable" && explained && !strings.Contains(a.text, "db-7"),
			"the store failed: %s", a.text)
	}
	wantFailure(w.take("none", ""))
	require.Contains(t, w.written.String(), "db-7", "the log after the store failed")
	wantFailure(w.call("CounterService/ListCounters", `{"space":"none"}`))
	wantFailure(w.call("CounterService/GetCounter", `{"space":"none","counter":"orders"}`))
	for w.rates.allow(config.Anyone, failuresOfStores) { // as after many calls that failed
	}
	before := strings.Count(w.written.String(), "store failed")
	w.take("none", "")
	if n := strings.Count(w.written.String(), "store failed") - before; before == 0 || n != 0 {
		t.Errorf("%d lines, and %d more when there were enough: want some, and none", before, n)
	}
	w.broken.Store(false)
	w.wants("", w.take("none", ""), "the store works again")
}

// TestNoIDs: a caller who gets no IDs learns why: there are not so many in the time that is left, or there is no lease.
func TestNoIDs(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		hurried := func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "1") }
		many := w.call("IDService/Mint", `{"space":"sorted","count":10000}`, hurried)
		w.wants("deadline_exceeded EXHAUSTED", many, "what takes two milliseconds")
		w.broken.Store(true)
		time.Sleep(time.Hour)
		w.wants("unavailable LEASE_ENDED", w.call("IDService/Mint", `{"space":"mint"}`), "an hour without a store")
	})
}

// TestShortDeadline: the deadline of a caller is no failure of the store, whose log line strangers
// would write, nor is one that passes before the call begins. It breaks off no call of the store.
func TestShortDeadline(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		if a := w.take("none", "", func(r *http.Request) { *r = *r.WithContext(past) }); a.body.Code != "deadline_exceeded" {
			t.Errorf("a deadline that is over: %s", a.text)
		}
		w.hangs.Store(true)
		began := time.Now()
		a := w.take("none", "", func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") })
		if w.hangs.Store(false); a.status == http.StatusOK || strings.Contains(w.written.String(), "store failed") {
			t.Errorf("%s, and the log has:\n%s", a.text, w.written)
		}
		require.Equal(t, time.Since(began), callTimeout, "the call of the store was broken off after")
	})
}
