package snowflake

import (
	"testing"
	"time"
)

func TestUnitAt(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 10 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		l, err := NewLayout("test", epoch2025.Add(123*time.Millisecond), unit, Time(31), Sequence(3))
		if err != nil {
			t.Fatal(err)
		}
		for ms := l.epoch - 3000; ms < l.epoch+3000; ms++ {
			u := l.unitAt(ms)
			if l.startOf(u) > ms || l.startOf(u+1) <= ms {
				t.Fatalf("%v: %d ms after the epoch is unit %d", unit, ms-l.epoch, u)
			}
			if second := time.UnixMilli(l.startOf(u + 1)).Add(-time.Millisecond).Unix(); l.lastSecond(u) != second {
				t.Fatalf("%v: unit %d ends in second %d, want %d", unit, u, l.lastSecond(u), second)
			}
		}
	}
}

// The generator that has no clock of its own says what the system's says.
func TestSystemClock(t *testing.T) {
	g, err := New(smallLayout(t), Forever(1))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	before := time.Now()
	ms, now := g.read(), g.time()
	after := time.Now()
	if ms < before.UnixMilli() || ms > after.UnixMilli() || now.Before(before) || now.After(after) {
		t.Errorf("%d and %s between %s and %s", ms, now, before, after)
	}
}
