package leasetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

func TestMemory(t *testing.T) {
	Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		m := NewMemory()
		m.SetClock(time.Now)
		return func(t *testing.T) lease.Engine { return m.Connect() }
	})
}

// TestMemoryEvidence: the evidence is what a test sets, and a snapshot is a copy of all that a later put may change.
func TestMemoryEvidence(t *testing.T) {
	noon := time.Unix(1800000000, 0)
	m := NewMemory()
	engine := m.Connect()
	check := func(when, value string, want lease.Answer) {
		t.Helper()
		got, a := Get(t, engine, "a")
		if got != value || a.Lineage != want.Lineage || a.Position != want.Position || !a.Time.Equal(want.Time) {
			t.Errorf("%s: %q, %+v, want %q, %+v", when, got, a, value, want)
		}
	}
	empty := m.Snapshot()
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	Put(t, engine, "a", "1")
	check("at first", "1", lease.Answer{Lineage: "memory", Position: 1})
	old := m.Snapshot()
	m.SetClock(func() time.Time { return noon })
	m.SetLineage("second")
	Put(t, engine, "a", "2")
	check("with a clock and a lineage", "2", lease.Answer{Lineage: "second", Position: 2, Time: noon})
	m.SetClock(nil)
	for range 2 { // as what follows a restore does not change the snapshot
		m.Restore(old)
		check("restored", "1", lease.Answer{Lineage: "memory", Position: 1})
		Put(t, engine, "a", "3")
	}
	old.Lineage, old.Position = "third", 70
	m.Restore(old)
	check("restored as another copy", "1", lease.Answer{Lineage: "third", Position: 70})
	m.Restore(empty)
	if _, err := engine.Read(t.Context(), "a"); !errors.Is(err, lease.ErrNoSpace) {
		t.Errorf("restored to what was there before Prepare: %v", err)
	}
}

// TestIntercept: an interceptor gets each call as it was made, may change it, and says what the caller sees.
func TestIntercept(t *testing.T) {
	m := NewMemory()
	lost := errors.New("lost")
	var calls []string
	engine := Intercept(m.Connect(), func(ctx context.Context, c Call, engine lease.Engine) (lease.Answer, error) {
		calls = append(calls, c.String())
		if c.Swap {
			c.Put[0].Value[0] = '2'
		}
		a, err := c.On(ctx, engine)
		if c.Swap {
			err = lost
		}
		return a, err
	})
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	put := Entry("a", "1")
	if _, err := engine.Swap(t.Context(), Entry("a", ""), put); err != lost || string(put[0].Value) != "1" {
		t.Errorf("%v, %s", err, put[0].Value)
	}
	if got, _ := Get(t, engine, "a"); got != "2" || len(calls) != 2 {
		t.Errorf("%q after %q", got, calls)
	}
}
