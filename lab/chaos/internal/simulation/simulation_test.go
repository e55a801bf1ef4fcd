package simulation

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
)

// TestMain is a worker that fails at once, where a Simulation starts one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		os.Stderr.WriteString("no mood\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newWorld(t *testing.T, ctx context.Context) *Simulation {
	w, err := New(ctx, Settings{
		Secret: randflake.NewSecret(),
		Dir:    t.TempDir(),
		Start:  engine.StartMemory,
		Limits: Limits,
		Rand:   rand.New(rand.NewPCG(1, 2)),
	})
	t.Cleanup(w.End)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPlay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script func(*Simulation)
		want   string
	}{
		{"nothing", func(w *Simulation) {}, ""},
		{"Fail", func(w *Simulation) { w.Fail("number %d", 7) }, "number 7"},
		{"Must", func(w *Simulation) { w.Must(os.ErrClosed) }, "already closed"},
		{"Ensure", func(w *Simulation) { w.Ensure(false, "not so") }, "not so"},
		{"Await", func(w *Simulation) {
			w.StepTimeout = 100 * time.Millisecond
			w.Await("a miracle", func() bool { return false })
		}, "not within 100ms: a miracle"},
		{"panic", func(w *Simulation) { panic("lost my head") }, "lost my head"},
		{"a worker that ends", func(w *Simulation) { w.Start(1) }, "worker-1 ended by itself: exit status 1: no mood"},
		{"a worker that ends unseen", func(w *Simulation) { w.Launch(1)[0].child.Err() }, "worker-1 ended by itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := newWorld(t, t.Context()).Play(tt.script)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPlayInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := newWorld(t, ctx).Play(func(w *Simulation) {
		cancel()
		w.Sleep(time.Hour)
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v, want one that says interrupted", err)
	}
}

// TestDuring finds refusals where there must be none.
func TestDuring(t *testing.T) {
	err := newWorld(t, t.Context()).Play(func(w *Simulation) {
		p := &Process{Name: "worker-9", Page: w.Launch(1)[0].Page, simulation: w}
		w.During([]*Process{p}, func() { p.Refused[0].Add(2) })
	})
	if err == nil || !strings.Contains(err.Error(), "worker-9 was refused 2 times") {
		t.Errorf("error %v, want that it was refused", err)
	}
}
