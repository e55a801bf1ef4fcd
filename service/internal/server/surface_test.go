package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
)

func inText(r *http.Request) { r.Header.Set("Accept", "text/plain") }

// TestShortPaths: a short path is its procedure, takes the parameters that it has and no others, and answers in lines of
// text where these are wanted.
func TestShortPaths(t *testing.T) {
	w := newTestbed(t, spaces)
	for path, want := range map[string]string{"/v1/counters/orders/next": "1\n", "/v1/counters/others/next?count=2": "1\n2\n"} {
		if a := w.send(http.MethodPost, path, "", inText); a.text != want {
			t.Errorf("%s: %q, want %q", path, a.text, want)
		}
	}
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids", "", inText); len(strings.Fields(a.text)) != 1 || !strings.HasSuffix(a.text, "\n") {
		t.Errorf("an ID: %q, want a line", a.text)
	}
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids?form=FORM_NUMBER", ""); len(a.body.Numbers) != 1 {
		t.Errorf("an ID as a number: %s", a.text)
	}
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/spaces/mint/ids?n=5", "", `parameter "n": want those in openapi.yaml`},
		{"/v1/counters/orders/next?form=FORM_TEXT", "", `parameter "form": want those in openapi.yaml`},
		{"/v1/spaces/mint/ids?space=given", "", `parameter "space": want`},
		{"/v1/spaces/mint/ids?count=5;n=1", "", "semicolon"},
		{"/v1/spaces/mint/ids?count=1&count=5", "", `parameter "count": want those in openapi.yaml, such as count, each once`},
		{"/v1/spaces/mint/ids", `{"count":5}`, "a body: want none"},
	} {
		if a := w.send(http.MethodPost, tt.path, tt.body, inText); a.status != http.StatusBadRequest || a.body.Code != "invalid_argument" || !strings.Contains(a.body.Message, tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.path, a.status, a.text, tt.want)
		}
	}
	short, long := w.send(http.MethodPost, "/v1/counters/few/next?count=4", "", inText), w.call("CounterService/Next", `{"counter":"few","count":4}`)
	if short.text != long.text || short.status != long.status {
		t.Errorf("an error of a short path: %d %s, of its procedure: %d %s", short.status, short.text, long.status, long.text)
	}
}

// TestDetails: programs learn why a call failed, and whether to try again.
func TestDetails(t *testing.T) {
	w := newTestbed(t, spaces+"principals: [{name: web, tokens: ["+hashOf("web")+"]}, {name: slow, tokens: ["+hashOf("slow")+"]}]\n"+
		"rules:\n- {principals: [web], spaces: ['*'], verbs: [lease, count]}\n- {principals: [slow], spaces: ['*'], verbs: [count], limits: {rate: 0.001}}\n")
	w.call("CounterService/Next", `{"counter":"orders"}`, as("slow"))
	type detail struct {
		Type  string
		Debug struct {
			Reason, Domain string
			Metadata       map[string]string
			RetryDelay     string
		}
	}
	for _, tt := range []struct {
		what   string
		answer answer
		reason string
		again  bool
	}{
		{"over the rate", w.call("CounterService/Next", `{"counter":"orders"}`, as("slow")), "RESOURCE_EXHAUSTED", true},
		{"past the end", w.send(http.MethodPost, "/v1/counters/few/next?count=4", "", as("web")), "END", false},
		{"unknown counter", w.call("CounterService/Get", `{"counter":"orders/x"}`, as("web")), "NOT_FOUND", false},
		{"stranger", w.call("CounterService/Get", `{"counter":"orders"}`), "UNAUTHENTICATED", false},
		{"bad lease", w.call("LeaseService/Lookup", `{"space":"none"}`, as("web")), "INVALID_REQUEST", false},
		{"store away", func() answer {
			w.broken.Store(true)
			return w.acquire("none", "", as("web"))
		}(), "UNAVAILABLE", true},
	} {
		var failed struct{ Details []detail }
		json.Unmarshal([]byte(tt.answer.text), &failed)
		all := append(failed.Details, detail{}, detail{})
		info, again := all[0].Debug, all[1].Type == "google.rpc.RetryInfo" && all[1].Debug.RetryDelay == "1s"
		if info.Reason != tt.reason || info.Domain != "randflake" || !strings.HasPrefix(info.Metadata["procedure"], "/randflake.v1.") || again != tt.again {
			t.Errorf("%s: %s, want reason %s, RetryInfo %v", tt.what, tt.answer.text, tt.reason, tt.again)
		}
	}
}

// serveHTTP2 returns a client and the URL of a testbed that is served as gRPC needs it.
func (w *testbed) serveHTTP2() (*http.Client, string) {
	server := httptest.NewUnstartedServer(w.handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	w.Cleanup(server.Close)
	return server.Client(), server.URL
}

// TestHealth: grpc.health.v1 says what /readyz says, to everybody.
func TestHealth(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	client, url := w.serveHTTP2()
	health := grpchealth.NewClient(client, url, connect.WithGRPC())
	wantStatus := func(service string, want grpchealth.Status) {
		t.Helper()
		if a, err := health.Check(t.Context(), &grpchealth.CheckRequest{Service: service}); err != nil || a.Status != want {
			t.Errorf("%q: %v, error %v, want %v", service, a, err, want)
		}
	}
	wantStatus("", grpchealth.StatusServing)
	wantStatus(randflakev1connect.IDServiceName, grpchealth.StatusServing)
	if _, err := health.Check(t.Context(), &grpchealth.CheckRequest{Service: "other"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another service: error %v", err)
	}
	w.Drain()
	wantStatus("", grpchealth.StatusNotServing)
	wantStatus(randflakev1connect.LeaseServiceName, grpchealth.StatusNotServing)
}
