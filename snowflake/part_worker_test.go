package snowflake

import (
	"errors"
	"strings"
	"testing"
)

// Every worker number has bits of its own, within the static fields, and the fields that are pinned
// have their values; the numbers count up the fields from the lowest.
func TestStatic(t *testing.T) {
	l := mustLayout(t, Time(30), Static("a", 2), Sequence(4), Static("b", 3), Rollback(2), Static("c", 1))
	for _, test := range []struct {
		pins    []pin
		workers uint64
	}{
		{nil, 64},
		{[]pin{{"a", 3}}, 16},
		{[]pin{{"b", 5}}, 8},
		{[]pin{{"c", 0}}, 32},
		{[]pin{{"c", 1}, {"a", 2}}, 8},
		{[]pin{{"a", 1}, {"b", 2}, {"c", 1}}, 1},
	} {
		seen := map[uint64]bool{}
		for worker := range test.workers {
			bits, workers, err := l.static(worker, test.pins)
			if err != nil || workers != test.workers || seen[bits] {
				t.Fatalf("%v, worker %d: bits %b, %d workers, %v; seen before: %v", test.pins, worker, bits, workers, err, seen[bits])
			}
			seen[bits] = true
			p, err := l.Inspect(ID(bits))
			if err != nil || !p.Time.Equal(l.Epoch()) || p.Rollback != 0 || p.Sequence != 0 {
				t.Fatalf("%v, worker %d: bits %b are outside of the static fields: %v, %v", test.pins, worker, bits, p, err)
			}
			number := uint64(0)
			for _, s := range l.statics {
				pinned := false
				for _, pin := range test.pins {
					if pin.name == s.name {
						pinned = true
						if p.Static[s.name] != pin.value {
							t.Fatalf("%v: worker %d has %v", test.pins, worker, p.Static)
						}
					}
				}
				if !pinned {
					number = number<<s.bits | p.Static[s.name]
				}
			}
			if number != worker {
				t.Fatalf("%v: worker %d has %v", test.pins, worker, p.Static)
			}
		}
		if _, _, err := l.static(test.workers, test.pins); !errors.Is(err, ErrInvalidLease) {
			t.Errorf("%v: worker %d: %v, want ErrInvalidLease", test.pins, test.workers, err)
		}
	}
}

func TestStaticRefuses(t *testing.T) {
	for _, test := range []struct {
		pins []pin
		says string
	}{
		{[]pin{{"datacenter", 32}}, "datacenter 32: want at most 31"},
		{[]pin{{"shard", 1}}, "shard"},
		{[]pin{{"sequence", 1}}, "sequence"},
		{[]pin{{"worker", 1}, {"worker", 1}}, "worker: given twice"},
	} {
		_, _, err := Twitter().static(0, test.pins)
		if !errors.Is(err, ErrInvalidOption) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: %v, want ErrInvalidOption that says %q", test.pins, err, test.says)
		}
	}
	none := mustLayout(t, Time(41), Sequence(12))
	if bits, workers, err := none.static(0, nil); bits != 0 || workers != 1 || err != nil {
		t.Errorf("no static fields: %b, %d, %v", bits, workers, err)
	}
	if _, _, err := none.static(1, nil); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("no static fields, worker 1: %v", err)
	}
}
