package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/store/storetest"
)

// TestCheckNames has all names of stores, right and wrong, in configurations.
func TestCheckNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, n := range storetest.Names() {
		for _, source := range []string{fmt.Sprintf("store: %q", n.Name), fmt.Sprintf("storeFile: %q", write("store", n.Name))} {
			var out bytes.Buffer
			err := check([]string{"--offline", "--config", write("config", "spaces: [{name: a, kind: randflake, "+source+"}]\n")}, &out, &out)
			said := fmt.Sprint(out.String(), err)
			if (err == nil) != (n.Wrong == "") || !strings.Contains(said, n.Wrong) || strings.Contains(said, storetest.Password) {
				t.Errorf("%s: %s, want %q", source, said, n.Wrong)
			}
		}
	}
}

// TestServeNames has all names of stores in files that nobody could check before: no log and no page shows a password.
func TestServeNames(t *testing.T) {
	t.Chdir(t.TempDir())
	names := storetest.Names()
	var text strings.Builder
	text.WriteString("listen: localhost:0\nspaces:\n")
	for i := range names {
		fmt.Fprintf(&text, "- {name: s%d, kind: randflake, storeFile: name%d}\n", i, i)
	}
	c, err := config.Parse("names", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range names {
		if err := os.WriteFile(fmt.Sprintf("name%d", i), []byte(n.Name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := new(buffer)
	d := &daemon{read: func() (*config.Config, error) { return c, nil }, logger: slog.New(slog.NewJSONHandler(log, nil)), problems: log, bounds: usual}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan os.Signal, 1), make(chan error)
	go func() { ended <- d.run(stop, nil) }()
	defer func() {
		stop <- os.Interrupt
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for i, n := range names {
		line := fmt.Sprintf(`"space":"s%d",`, i)
		for !strings.Contains(log.String(), line) { // that it can't be opened
			time.Sleep(time.Millisecond)
		}
		if page := get(t, fmt.Sprintf("%s/spaces/s%d", d.url, i)); strings.Contains(page, storetest.Password) || !strings.Contains(page, "s"+fmt.Sprint(i)) {
			t.Errorf("%s: page %s", n.Name, page)
		}
	}
	if said := log.String() + get(t, d.url+"/") + get(t, d.url+"/readyz") + get(t, d.url+"/metrics"); strings.Contains(said, storetest.Password) {
		t.Errorf("the password is shown: %s", said)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	a, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestAuditPipe: a pipe that nobody reads as audit log is an error, and does not keep the service waiting.
func TestAuditPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := make(chan error, 1)
	go func() { _, err := load(&config.Config{Audit: pipe}, io.Discard); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(time.Minute):
		t.Error("it waits for a reader")
	}
}
