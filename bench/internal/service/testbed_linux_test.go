package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/bench/internal/engines"
)

func TestMain(m *testing.M) {
	engines.Main()
	os.Exit(m.Run())
}

// TestWorld: every load gives as many numbers as it says and none twice, every source is measured, and memory is told.
func TestWorld(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := start(ctx)
	defer w.stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.servers() {
		if s.Skipped != "" {
			t.Errorf("%+v: make servers installs it", s)
		}
	}
	for _, l := range w.loads() {
		if twice, err := l.twice(ctx); twice || err != nil {
			t.Errorf("%s, %d numbers a call: a number twice: %v, %v", l.name, l.each, twice, err)
		}
	}
	sources, err := w.sources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := 5*2*len(holderCounts) + len(w.loads()); len(sources) != want {
		t.Errorf("%d sources, want %d", len(sources), want)
	}
	for _, s := range sources {
		if made, err := s.draw(ctx, time.Millisecond); err != nil || made.Calls < int64(made.Callers) || made.Callers == 0 || made.P50 <= 0 || made.P999 < made.P50 {
			t.Errorf("%s %s: %+v, %v", s.name, s.on, made, err)
		}
	}
	if m, err := w.fresh(ctx, 2); err != nil || m.Resident < 1<<20 {
		t.Errorf("two spaces: %+v, %v", m, err)
	}
}

// twice reports whether two connections get a number twice, or not as many as they should.
func (l load) twice(ctx context.Context) (bool, error) {
	seen := map[string]bool{}
	for range 2 {
		c, err := dial(ctx, l.address, l.request, l.read)
		if err != nil {
			return false, err
		}
		defer c.conn.Close()
		for range 2 {
			var body bytes.Buffer
			if err := c.call(&body); err != nil {
				return false, err
			}
			numbers, err := l.numbers(body.Bytes())
			if err != nil || len(numbers) != l.each {
				return false, fmt.Errorf("%d numbers, want %d: %w", len(numbers), l.each, err)
			}
			for _, n := range numbers[:min(len(numbers), 1000)] {
				if seen[n] {
					return true, nil
				}
				seen[n] = true
			}
		}
	}
	return false, nil
}

// TestRefused: an answer that is no success is an error, which says why.
func TestRefused(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	if err := build(ctx, dir); err != nil {
		t.Fatal(err)
	}
	p, err := serve(filepath.Join(dir, "randflaked"), filepath.Join(dir, "daemon"), []space{{"demo", filepath.Join(dir, "space"), true}})
	defer p.Kill()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(ctx, p.Addr(), post(p.Addr(), "/v1/spaces/demo/ids", asJSON, "another", nil), readHTTP)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.call(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "no principal has this token") {
		t.Errorf("with another's token: %v", err)
	}
}

// TestNotInstalled: a server that is not there is told as skipped, and does no harm.
func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e, stop, err := startEngine(t.Context(), engines.All()[2], filepath.Join(t.TempDir(), "redis"))
	stop()
	w := &testbed{engines: []engine{e}}
	if !errors.Is(err, exec.ErrNotFound) || e.leases != nil || w.servers()[0].Skipped == "" {
		t.Errorf("without redis-server: %+v, %v", w.servers(), err)
	}
	if err := build(t.Context(), t.TempDir()); !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without go: %v", err)
	}
}
