package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/randflake/randflake/service/internal/config"
)

// TestTraces: spans of calls come to the collector that the variables name, the last ones when the service ends.
func TestTraces(t *testing.T) {
	came := new(buffer)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(came, r.URL.Path+" "+r.Header.Get("Api-Key")+" ")
		io.Copy(came, r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=pass-word")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	dir := filepath.Join(t.TempDir(), "state")
	p := start(t, func() (*config.Config, error) { return demo(dir, "localhost:0") }, http.DefaultClient)
	for path, want := range map[string]string{"/metrics": `\nrandflaked_connections [1-9]`, "/": "/spaces/demo", "/spaces/demo": "randflaked"} {
		a, err := http.Get(p.url + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		if a.Body.Close(); a.StatusCode != http.StatusOK || !regexp.MustCompile(want).Match(text) {
			t.Errorf("GET %s: %s, without %s:\n%s", path, a.Status, want, text)
		}
	}
	a, err := http.Post(p.url+"/v1/spaces/demo/ids", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	p.stop <- nil
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"/v1/traces pass-word ", "randflake.v1.IDService/Mint", "service.name", "randflaked", "deployment.environment.name"} {
		if !strings.Contains(came.String(), want) {
			t.Errorf("the collector got %q, without %q", came, want)
		}
	}
	if strings.Contains(p.written.String(), "pass-word") {
		t.Error("what the collector is told to know the service by was written")
	}
}

// TestTracesOff: without an endpoint there are none, and what is not there is refused by name.
func TestTracesOff(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	if spans, end, err := tracing(logger); len(spans) != 0 || err != nil || end(t.Context()) != nil {
		t.Errorf("without an endpoint: %v, error %v", spans, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:1/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, _, err := tracing(logger); err == nil || !strings.Contains(err.Error(), `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": want http/protobuf`) {
		t.Errorf("another protocol: error %v", err)
	}
	for name, value := range map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_SDK_DISABLED": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if spans, _, err := tracing(logger); len(spans) != 0 || err != nil {
				t.Errorf("%v, error %v, want none", spans, err)
			}
		})
	}
}
