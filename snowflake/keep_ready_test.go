package snowflake

import (
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// Ready says what Generate would, and makes no ID.
func TestReady(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	layout, err := NewLayout("ready", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		Time(41), Static("worker", 1), Rollback(2), Sequence(4))
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		clock time.Duration // where the clock is set to, after start
		made  int           // how many IDs are made then
	}
	for _, tt := range []struct {
		name   string
		policy Option
		steps  []step
		clock  time.Duration
		want   error
	}{
		{"at first", RunAhead(0), nil, time.Second, nil},
		{"too early", RunAhead(0), nil, -time.Second, ErrLeaseNotStarted},
		{"too late", RunAhead(0), nil, time.Minute, ErrLeaseEnded},
		{"unit in use", RunAhead(0), []step{{time.Second, 15}}, time.Second, nil},
		{"unit used up", RunAhead(0), []step{{time.Second, 16}}, time.Second, ErrExhausted},
		{"unit passed", RunAhead(0), []step{{time.Second, 16}}, time.Second + time.Millisecond, nil},
		{"clock back by little", RunAhead(0), []step{{20 * time.Second, 1}}, 15 * time.Second, nil},
		{"clock back by much", RunAhead(0), []step{{20 * time.Second, 1}}, 5 * time.Second, ErrClockBackward},
		{"clock back, unit used up", RunAhead(0), []step{{20 * time.Second, 16}}, 19 * time.Second, ErrClockBackward},
		{"a step back", StepBack(), []step{{20 * time.Second, 1}}, 5 * time.Second, nil},
		{"the last step back", StepBack(), []step{{20 * time.Second, 1}, {15 * time.Second, 1}, {10 * time.Second, 1}}, 5 * time.Second, nil},
		{"a step too many", StepBack(), []step{{20 * time.Second, 1}, {15 * time.Second, 1}, {10 * time.Second, 1}, {5 * time.Second, 1}}, time.Second, ErrClockBackward},
	} {
		now := start
		g, err := New(layout, randflake.Lease{Start: start, End: start.Add(time.Minute)}, tt.policy, WithClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.steps {
			now = start.Add(s.clock)
			if n, err := g.Fill(make([]ID, s.made)); n != s.made {
				t.Fatalf("%s: Fill: %d, %v", tt.name, n, err)
			}
		}
		now = start.Add(tt.clock)
		issued := g.Issued()
		if err := g.Ready(); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: Ready: %v, want %v", tt.name, err, tt.want)
		}
		if got := g.Issued(); got != issued {
			t.Errorf("%s: Ready made %d IDs", tt.name, got-issued)
		}
		if _, err := g.Generate(); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: Generate: %v, want %v", tt.name, err, tt.want)
		}
	}
	g, err := New(layout, Forever(1))
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if err := g.Ready(); err != ErrClosed {
		t.Errorf("closed: Ready: %v, want ErrClosed", err)
	}
}
