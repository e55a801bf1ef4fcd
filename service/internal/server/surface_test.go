package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"go.yaml.in/yaml/v3"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

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

// TestPages: pages have all leases and counters once, in their order.
func TestPages(t *testing.T) {
	w := newTestbed(t, spaces)
	for range 5 {
		w.acquire("none", "")
	}
	for _, counter := range []string{"few", "orders", "others"} {
		w.send(http.MethodPost, "/v1/counters/"+counter+"/next", "")
	}
	for procedure, want := range map[string]int{"LeaseService/List": 5, "CounterService/List": 3} {
		var keys []string
		var page struct {
			Leases        []struct{ FirstNode int }
			Counters      []struct{ Name string }
			NextPageToken string
		}
		for calls := 0; calls == 0 || page.NextPageToken != ""; calls++ {
			a := w.call(procedure, fmt.Sprintf(`{"space":"none","pageSize":2,"pageToken":%q}`, page.NextPageToken))
			page.Leases, page.Counters, page.NextPageToken = nil, nil, ""
			if err := json.Unmarshal([]byte(a.text), &page); err != nil || len(page.Leases)+len(page.Counters) > 2 || calls > want {
				t.Fatalf("%s: page %d: %s, error %v, want two items at most", procedure, calls, a.text, err)
			}
			for _, lease := range page.Leases {
				keys = append(keys, fmt.Sprintf("%05x", lease.FirstNode))
			}
			for _, counter := range page.Counters {
				keys = append(keys, counter.Name)
			}
		}
		if len(keys) < want || !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			t.Errorf("%s: %q, want %d at least, each once, sorted", procedure, keys, want)
		}
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

// TestReflection: a program that knows nothing of the protocol asks for it, and calls; strangers learn nothing.
func TestReflection(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	client, url := w.serveHTTP2()
	reflection := grpcreflect.NewClient(client, url, connect.WithGRPC())
	stranger := reflection.NewStream(t.Context())
	if names, err := stranger.ListServices(); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a stranger gets %v, error %v", names, err)
	}
	if !strings.Contains(w.written.String(), "ServerReflection") {
		t.Error("the audit log does not have the stranger")
	}
	header := http.Header{"Authorization": {"Bearer token-of-web"}}
	stream := reflection.NewStream(t.Context(), grpcreflect.WithRequestHeaders(header))
	defer stream.Close()
	names, err := stream.ListServices()
	if err != nil || len(names) != len(served)+1 || !slices.Contains(names, randflakev1connect.IDServiceName) {
		t.Fatalf("services %q, error %v", names, err)
	}
	files, err := stream.FileContainingSymbol(randflakev1connect.IDServiceName)
	if err != nil {
		t.Fatal(err)
	}
	for have := map[string]bool{}; ; { // what the files import may come with them or be asked for
		missing := ""
		for _, file := range files {
			have[file.GetName()] = true
		}
		for _, file := range files {
			for _, name := range file.Dependency {
				if !have[name] {
					missing = name
				}
			}
		}
		if missing == "" {
			break
		}
		more, err := stream.FileByFilename(missing)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	known, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	found, err := known.FindDescriptorByName(randflakev1connect.IDServiceName + ".Mint")
	if err != nil {
		t.Fatal(err)
	}
	method := found.(protoreflect.MethodDescriptor)
	message := dynamicpb.NewMessage(method.Input())
	if err := protojson.Unmarshal([]byte(`{"space":"mint","count":3}`), message); err != nil {
		t.Fatal(err)
	}
	mint := connect.NewClient[dynamicpb.Message, dynamicpb.Message](client, url+randflakev1connect.IDServiceMintProcedure, connect.WithGRPC(),
		connect.WithSchema(method), connect.WithResponseInitializer(func(_ connect.Spec, answer any) error {
			*answer.(*dynamicpb.Message) = *dynamicpb.NewMessage(method.Output())
			return nil
		}))
	request := connect.NewRequest(message)
	maps.Copy(request.Header(), header)
	answer, err := mint.CallUnary(t.Context(), request)
	if err != nil || answer.Msg.Get(method.Output().Fields().ByName("ids")).List().Len() != 3 {
		t.Errorf("%v, error %v, want three IDs", answer, err)
	}
}

// TestOpenAPI: the document that is served has each procedure and each short path, with schemas and errors.
func TestOpenAPI(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	type content map[string]struct {
		Schema map[string]any
	}
	var document struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
			Parameters  []struct{ Name, In string }
			Responses   map[string]struct{ Content content }
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := yaml.Unmarshal([]byte(w.send(http.MethodGet, "/openapi.yaml", "").text), &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.1") || len(document.Servers) == 0 {
		t.Errorf("OpenAPI %q with servers %v", document.OpenAPI, document.Servers)
	}
	for _, field := range []string{"code", "message", "details"} {
		if document.Components.Schemas["connect.error"].Properties[field] == nil {
			t.Errorf("errors have no %s", field)
		}
	}
	ids := map[string]bool{}
	want := func(path, verb string, method protoreflect.MethodDescriptor) {
		t.Helper()
		operation, ok := document.Paths[path][verb]
		if schema := "#/components/schemas/" + string(method.Output().FullName()); !ok || operation.OperationID == "" || ids[operation.OperationID] ||
			operation.Responses["200"].Content["application/json"].Schema["$ref"] != schema ||
			operation.Responses["default"].Content["application/json"].Schema["$ref"] != "#/components/schemas/connect.error" {
			t.Errorf("%s %s is %+v, want an operation with an ID of its own and schema %s", verb, path, operation, schema)
		}
		ids[operation.OperationID] = true
	}
	shorts := 0
	for _, procedure := range procedures() {
		service, name, _ := strings.Cut(procedure, "/")
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("randflake.v1." + service + "." + name))
		if err != nil {
			t.Fatal(err)
		}
		method := found.(protoreflect.MethodDescriptor)
		want("/randflake.v1."+procedure, "post", method)
		rule := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
		switch pattern := rule.GetPattern().(type) {
		case *annotations.HttpRule_Post:
			want(pattern.Post, "post", method)
			if content := document.Paths[pattern.Post]["post"].Responses["200"].Content; content["text/plain"].Schema == nil {
				t.Errorf("%s: %v, want text, too", pattern.Post, content)
			}
			shorts++
		case *annotations.HttpRule_Get:
			want(pattern.Get, "get", method)
			shorts++
		}
	}
	if shorts != 3 {
		t.Errorf("%d short paths, want 3", shorts)
	}
}
