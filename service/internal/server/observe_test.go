package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// watchers are principals who may look at one space, at all, and at none.
var watchers = "principals: [{name: one, tokens: [" + hashOf("one") + "]}, {name: all, tokens: [" + hashOf("all") + "]}, {name: web, tokens: [" + hashOf("web") + "]}]\n" +
	"rules: [{principals: [one], spaces: [none], verbs: [observe]}, {principals: [all], spaces: ['*'], verbs: [observe]}, " +
	"{principals: [web], spaces: ['*'], verbs: [lease, list, mint, inspect, count, report-loss, revoke]}]\n"

func basic(password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth("me", password) }
}

// TestObserve: page and metrics are for those who may observe, and show them no more than they may see.
func TestObserve(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	w.call("IDService/Mint", `{"space":"given"}`, as("one"))
	for _, tt := range []struct {
		path   string
		as     func(*http.Request)
		status int
	}{
		{"/", func(*http.Request) {}, 401}, {"/", as("nobody"), 401}, {"/", basic("nobody"), 401}, {"/", as("web"), 403}, {"/", basic("token-of-web"), 403},
		{"/", as("one"), 200}, {"/", basic("token-of-one"), 200}, {"/", as("all"), 200},
		{"/spaces/none", func(*http.Request) {}, 401}, {"/spaces/none", as("web"), 403}, {"/spaces/none", as("one"), 200},
		{"/spaces/mint", as("one"), 404}, {"/spaces/mint", as("all"), 200}, {"/spaces/other", as("all"), 404},
		{"/metrics", func(*http.Request) {}, 401}, {"/metrics", as("web"), 403}, {"/metrics", as("one"), 403},
		{"/metrics", as("all"), 200}, {"/metrics", basic("token-of-all"), 200}, {"/favicon.ico", func(*http.Request) {}, 404},
	} {
		a := w.send(http.MethodGet, tt.path, "", tt.as)
		if a.status != tt.status || strings.Contains(a.text, "token-of") {
			t.Errorf("GET %s: %d, want %d, and no token:\n%s", tt.path, a.status, tt.status, a.text)
		}
		if a := w.send(http.MethodPost, tt.path, "", tt.as); a.status == http.StatusOK {
			t.Errorf("POST %s: %d", tt.path, a.status)
		}
	}
	if a := w.call("IDService/Mint", `{"space":"mint"}`, basic("token-of-web")); a.body.Code != "unauthenticated" {
		t.Errorf("a call with what browsers send by themselves: %s", a.text)
	}
	one, all := w.send(http.MethodGet, "/", "", as("one")).text, w.send(http.MethodGet, "/", "", as("all")).text
	if strings.Contains(one, `"/spaces/mint"`) || strings.Contains(one, "given") || !strings.Contains(all, `"/spaces/mint"`) || !strings.Contains(all, "no rule lets one mint in space &#34;given&#34;") {
		t.Errorf("a page of one space shows others, or one of all does not:\n%s\n\n%s", one, all)
	}
	if !strings.Contains(w.written.String(), `"msg":"denial","principal":"web","space":"","procedure":"page"`) || strings.Contains(w.written.String(), "token-of") {
		t.Errorf("no line tells of a denial, or one shows a token:\n%s", w.written)
	}
	open := newTestbed(t, spaces)
	for _, path := range []string{"/", "/metrics", "/spaces/none"} {
		if a := open.send(http.MethodGet, path, "", func(r *http.Request) { r.Host = "evil.example" }); a.status != http.StatusUnauthorized {
			t.Errorf("%s of this machine by another name: %d", path, a.status)
		}
	}
}

// TestMetrics: what happens is counted where it belongs, and callers make no series.
func TestMetrics(t *testing.T) {
	w := newTestbed(t, spaces)
	metrics := func() string { return w.send(http.MethodGet, "/metrics", "").text }
	held := w.acquire("none", "").body.Lease
	text, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	renew := func(digit string) string {
		return `{"space":"none","ttlSeconds":60,"token":"` + strings.Repeat(digit, 32) + `","held":` + string(text) + `}`
	}
	w.call("LeaseService/Renew", renew("1"))
	w.call("AdminService/Revoke", fmt.Sprintf(`{"space":"none","firstNode":%v}`, or(held["firstNode"], 0)))
	w.call("LeaseService/Renew", renew("2"))
	w.acquire("none", "")
	w.send(http.MethodPost, "/v1/counters/few/next?count=3", "")
	w.acquire("sorted", `,"below":200000`)
	for i := range 20 {
		w.call("IDService/Mint", fmt.Sprintf(`{"space":"made-up-%d"}`, i))
		w.send(http.MethodPost, fmt.Sprintf("/v1/counters/made-up-%d/next", i), "")
		w.send(http.MethodGet, fmt.Sprintf("/spaces/made-up-%d", i), "")
	}
	shown := metrics()
	for _, line := range []string{
		`randflaked_leases_total{outcome="granted",space="none"} 2`, `randflaked_leases_total{outcome="renewed",space="none"} 1`,
		`randflaked_leases_total{outcome="lost",space="none"} 1`, `randflaked_leases_total{outcome="refused",space="sorted"} 1`,
		`randflaked_leases_total{outcome="granted",space="mint"} 1`, `randflaked_renewal_seconds_count{space="none"} 2`,
		`randflaked_calls_total{code="ok",procedure="LeaseService/Acquire",space="none"} 2`,
		`randflaked_calls_total{code="not_found",procedure="IDService/Mint",space=""} 20`,
		`randflaked_calls_total{code="not_found",procedure="CounterService/Next",space=""} 20`,
		`randflaked_call_seconds_count{procedure="LeaseService/Renew",space="none"} 2`,
		`randflaked_space_open{space="sorted"} 1`, `randflaked_space_ready{space="ulid"} 1`, `randflake_store_losses_total{space="none"} 0`,
		`randflake_store_nodes{space="sorted",state="free"} 1023`, `randflake_store_ranges{space="none",state="held"} 1`,
		`randflake_counter_left{counter="few",space="none"} 0`, `randflake_counter_issued_total{counter="few",space="none"} 3`,
		`randflake_leases_held{space="mint"} 1`, `randflaked_connections 0`,
	} {
		if !strings.Contains(shown, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	text, err = os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(randflaked?_\\w+)` \\| (\\w+) ").FindAllStringSubmatch(string(text), -1) {
		listed[row[1]+" "+row[2]] = true
		if strings.HasPrefix(row[1], "randflaked_") && !strings.Contains(shown, "\n# TYPE "+row[1]+" "+row[2]+"\n") {
			t.Errorf("docs/metrics.md has %s, which the service has not", row[0])
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (randflaked?_.*)$`).FindAllStringSubmatch(shown, -1) {
		if !listed[line[1]] {
			t.Errorf("docs/metrics.md does not have %s", line[1])
		}
	}
	if strings.Contains(shown, "made-up") || strings.Contains(shown, w.secret.Hex()) || strings.Contains(shown, fmt.Sprint(held["owner"])) {
		t.Errorf("a caller's word, the secret or a token is a label:\n%s", shown)
	}
	if t.Failed() {
		t.Log(shown)
	}
}

func or(value any, other any) any {
	if value == nil {
		return other
	}
	return value
}

// TestSurvey: who can't wait sees what was known before.
func TestSurvey(t *testing.T) {
	w := newTestbed(t, spaces)
	in := w.setup.Load().spaces["none"]
	before := in.Survey(t.Context(), time.Hour)
	if before == nil || before.Err != nil || before.Nodes.All() != 131072 {
		t.Fatalf("survey %+v", before)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := in.Survey(gone, 0); got == nil {
		t.Error("nothing, where something was known before")
	}
	closed, err := space.New(config.Space{Name: "late", Kind: "twitter", Store: "sorted"}, space.Options{Open: w.open, Logger: w.logger})
	if err != nil {
		t.Fatal(err)
	}
	closed.Open()
	closed.Close()
	if got := closed.Survey(t.Context(), 0); got.Err == nil {
		t.Errorf("of a space that is closed: %+v", got)
	}
}

// TestTracing: calls are in the traces of callers that are known, and nothing that they keep to themselves is.
func TestTracing(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	spans := tracetest.NewSpanRecorder()
	interceptor, err := Tracing(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
	if err != nil {
		t.Fatal(err)
	}
	w.handler = w.Handler([]connect.Interceptor{interceptor}...)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traced := func(r *http.Request) { r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01") }
	w.call("IDService/Mint", `{"space":"mint"}`, as("web"), traced)
	w.call("SecretService/Fetch", `{"space":"given"}`, as("web"), traced)
	w.send(http.MethodPost, "/v1/spaces/mint/ids", "", as("web"), traced)
	w.call("IDService/Mint", `{"space":"mint"}`, traced)
	w.call("IDService/Mint", `{"space":"mint"}`, as("nobody"), traced)
	ended := spans.Ended()
	if len(ended) != 3 || ended[0].Name() != "randflake.v1.IDService/Mint" || ended[2].Name() != ended[0].Name() {
		t.Errorf("spans %v, want three", ended)
	}
	for _, span := range ended {
		if span.SpanContext().TraceID().String() != trace {
			t.Errorf("%s is not in the caller's trace", span.Name())
		}
	}
	for _, span := range tracetest.SpanStubsFromReadOnlySpans(ended) {
		if text := fmt.Sprintf("%+v", span); strings.Contains(text, "token-of") || strings.Contains(text, w.secret.Hex()) {
			t.Errorf("a token or the secret is in %s", text)
		}
	}
}
