package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/service/internal/config"
)

// TestCheckFiles: what a configuration names and is missing, damaged, or does not fit together is found, all at once;
// what fits is ok; and nothing is changed.
func TestCheckFiles(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	a.sign("server")
	other.sign("server")
	t.Chdir(a.dir)
	a.save("old", a.Sign(-time.Minute, []string{"server"}))
	ca, err := os.ReadFile("ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	a.write("cut.pem", string(ca)+string(ca[:len(ca)/2]))
	a.write("damaged.pem", string(ca)+strings.Replace(string(ca), "M", "N", 1))
	for _, dir := range []string{"shop", "orders"} {
		if _, err := local.Create(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := local.CreateStore("posts"); err != nil {
		t.Fatal(err)
	}
	if err := local.WriteSecret("another", randflake.NewSecret()); err != nil {
		t.Fatal(err)
	}
	a.write("keys.json", `{"keys": []}`)
	a.write("place", "file:posts\n")
	a.write("nowhere", "file:nowhere-else\n")
	a.write("closed", "redis://shop:hunter2@127.0.0.1:1?dial_timeout=1s\n")
	const good = `listen: localhost:0
tls: {certificate: server.pem, key: server.key, clientCA: ca.pem}
audit: audit.log
spaces:
- {name: shop, kind: randflake, store: "file:shop", secret: mint, secretFile: shop/secret}
- {name: orders, kind: randflake, store: "file:orders"}
- {name: posts, kind: twitter, storeFile: place}
- {name: events, kind: ulid}
issuers: [{issuer: i, audience: a, jwks: keys.json}]
principals: [{name: web, serviceAccount: {issuer: i, subject: s}}]
`
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"server.pem", "none.pem", "tls: certificate and key: open none.pem: no such file"},
		{"key: server.key", "key: " + filepath.Join(other.dir, "server.key"), "tls: certificate and key: tls: private key does not match public key"},
		{"ca.pem", "server.key", "tls: clientCA: "}, {"ca.pem", "cut.pem", "1 of 2 blocks"}, {"ca.pem", "damaged.pem", "1 of 2 blocks"},
		{"server.pem, key: server", "old.pem, key: old", "tls: certificate: old.pem has expired"},
		{"audit.log", "logs/audit.log", "audit: the directory: stat logs: no such file"},
		{"jwks: keys.json", "jwks: server.key", "access: issuer i: jwks: "},
		{"shop/secret", "shop/none", "c.yaml:5: spaces[0].secretFile: secret file shop/none: no such file"},
		{"shop/secret", "ca.pem", "c.yaml:5: spaces[0].secretFile: secret file ca.pem: "},
		{"shop/secret", "another", "c.yaml:5: spaces[0].store: store: space of another secret: its check value is"},
		{"kind: randflake, store: \"file:orders\"", "kind: twitter, store: \"file:orders\"", "c.yaml:6: spaces[1].store: it is that of a space of Randflake IDs"},
		{`"file:orders"}`, `"file:orders", check: 0123456789abcdef}`, "c.yaml:6: spaces[1].store: store: space of another secret: its check value is"},
		{`"file:orders"`, `"file:order"`, "or create it with randflake lease init"},
		{`"file:orders"`, `"file:./shop/../shop"`, "c.yaml:6: spaces[1].store: space shop has the same one: want a store, or a space in it, for each"},
		{"storeFile: place", "storeFile: none", "c.yaml:7: spaces[2].store: storeFile: no such file"},
		{"storeFile: place", "storeFile: nowhere", "c.yaml:7: spaces[2].store: store: read: "},
		{"storeFile: place", "storeFile: closed", "connection refused"},
	} {
		a.write("c.yaml", strings.Replace(good, tt.old, tt.new, 1))
		var out bytes.Buffer
		err := run([]string{"check", "--config", "c.yaml"}, &out, &out)
		said := fmt.Sprint(out.String(), err)
		if (err == nil) != (tt.want == "") || !strings.Contains(said, tt.want) || strings.Contains(said, "hunter2") {
			t.Errorf("%q: %s, want %q", tt.new, said, tt.want)
		}
		if err := run([]string{"check", "--offline", "--config", "c.yaml"}, &out, &out); err != nil && tt.new != "storeFile: none" {
			t.Errorf("%q: offline: %v", tt.new, err)
		}
	}
	a.write("c.yaml", strings.NewReplacer("server.pem", "none", "shop/secret", "none", `"file:orders"`, "none").Replace(good))
	if err := run([]string{"check", "--config", "c.yaml"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, want three problems at once", err)
	}
	if _, err := os.Stat("audit.log"); err == nil {
		t.Error("it made the audit log")
	}
}

// TestReady: a service is asked until it is ready, or once, or until the time is over; and no other is asked in its place.
func TestReady(t *testing.T) {
	var calls atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case r.URL.Path == "/slow/readyz":
			<-r.Context().Done()
		case r.URL.Path == "/moved/readyz":
			http.Redirect(w, r, "/ready", http.StatusFound)
		case r.URL.Path == "/readyz" && n%3 != 0:
			http.Error(w, "spaces are being opened", http.StatusServiceUnavailable)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for _, tt := range []struct {
		args  []string
		calls int64
		want  string
	}{
		{[]string{plain.URL}, 1, "ready: 503 Service Unavailable"},
		{[]string{"--timeout", "500ms", plain.URL + "/"}, 1, "503"},
		{[]string{"--timeout", "1m", plain.URL}, 3, ""},
		{[]string{plain.URL + "/moved"}, 1, "302"},
		{[]string{"--timeout", "1ns", plain.URL + "/slow"}, 0, "deadline exceeded"},
		{[]string{secure.URL}, 0, "certificate"},
		{[]string{"http://127.0.0.1:1"}, 0, "connection refused"},
	} {
		calls.Store(0)
		var out bytes.Buffer
		err := run(append([]string{"ready"}, tt.args...), &out, &out)
		if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) || calls.Load() > tt.calls {
			t.Errorf("%q: %v, %d calls, want %q", tt.args, err, calls.Load(), tt.want)
		}
	}
}

// TestVersion: the command and a metric say which version this is.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"version"}, &out, &out); err != nil || !strings.HasPrefix(out.String(), "randflaked ") || !strings.Contains(out.String(), " "+runtime.Version()+" ") {
		t.Errorf("%s, error %v", &out, err)
	}
	p := start(t, func() (*config.Config, error) { return demo(filepath.Join(t.TempDir(), "state"), "localhost:0") }, http.DefaultClient)
	if metrics := get(t, p.url+"/metrics"); !strings.Contains(metrics, `randflake_build_info{goversion="`+runtime.Version()+`",version="`) {
		t.Errorf("no version in %s", metrics)
	}
}

// TestDevCounters: with --dev a counter of any name is there from its first use on.
func TestDevCounters(t *testing.T) {
	p := start(t, func() (*config.Config, error) { return demo(filepath.Join(t.TempDir(), "state"), "localhost:0") }, http.DefaultClient)
	for _, name := range []string{"demo", "orders", "orders"} {
		answer, err := http.Post(p.url+"/v1/counters/"+name+"/next", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("counter %s: %s", name, answer.Status)
		}
	}
}

// TestLogLevel: the level of the log follows the configuration.
func TestLogLevel(t *testing.T) {
	level := "error"
	p := start(t, func() (*config.Config, error) {
		return config.Parse("c", []byte("listen: localhost:0\nlogLevel: "+level+"\nspaces: [{name: demo, kind: ulid}]\n"))
	}, http.DefaultClient)
	if got := p.level.Level().String(); got != "ERROR" {
		t.Errorf("level %s", got)
	}
	level = "debug"
	p.reload <- os.Interrupt
	p.reload <- os.Interrupt // is taken once the first is done
	if got := p.level.Level().String(); got != "DEBUG" {
		t.Errorf("level %s once the file was read again", got)
	}
}
