package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTexts: what callers do wrong, and what fails, is answered with what to do.
func TestTexts(t *testing.T) {
	w := newTestbed(t, spaces)
	without := func(r *http.Request) { r.Header.Del("Content-Type") }
	as := func(kind string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Content-Type", kind) }
	}
	soon := func(r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		*r = *r.WithContext(ctx)
	}
	for what, tt := range map[string]struct {
		procedure, body string
		hangs           bool
		change          func(*http.Request)
		status          int
		code, message   string
	}{
		"no content type":  {"IDService/Mint", `{"space":"mint"}`, false, without, 400, "invalid_argument", `Content-Type "": want application/json`},
		"that of a form":   {"IDService/Mint", `{"space":"mint"}`, false, as("application/x-www-form-urlencoded"), 400, "invalid_argument", "want application/json"},
		"with a character": {"IDService/Mint", `{"space":"mint"}`, false, as("application/json; charset=utf-8"), 200, "", ""},
		"a store away":     {"CounterService/Get", `{"counter":"orders"}`, true, soon, 503, "unavailable", "the space's store failed"},
	} {
		w.hangs.Store(tt.hangs)
		if a := w.call(tt.procedure, tt.body, tt.change); a.status != tt.status || a.body.Code != tt.code || !strings.Contains(a.text, strings.ReplaceAll(tt.message, `"`, `\"`)) {
			t.Errorf("%s: %d %s, want %d %s: %s", what, a.status, a.text, tt.status, tt.code, tt.message)
		}
		w.hangs.Store(false)
	}
	for kind, ok := range map[string]bool{"Application/JSON": true, "application/json;charset=UTF-8": true, "application/json; charset=utf-8": true, "application/proto": true, "application/grpc": true,
		"application/grpc-web+json": true, "application/json; charset=latin1": false, "application/json5": false, "application/connect+json": false, "application/grpc+xml": false,
		"application/grpc;charset=utf-8": false, "application/json;": false, "application/proto; charset=utf-8": false} {
		a := w.call("IDService/Mint", "", as(kind))
		if a.status == http.StatusUnsupportedMediaType || strings.Contains(a.text, "want application/json, application/proto") == ok {
			t.Errorf("%s: %d %s", kind, a.status, a.text)
		}
	}
}
