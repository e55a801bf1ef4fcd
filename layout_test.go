package randflake

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestComposeRefuses(t *testing.T) {
	c := NewCipher(NewSecret())
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for name, f := range map[string]Fields{
		"zero time":        {},
		"before the epoch": {Time: at(Epoch - 1)},
		"after the end":    {Time: at(MaxTimestamp + 1)},
		"node":             {Time: at(Epoch), Node: MaxNode + 1},
		"sequence":         {Time: at(Epoch), Sequence: MaxSequence + 1},
	} {
		if id, err := c.Compose(f); id != 0 || !errors.Is(err, ErrInvalidID) || errors.Is(err, ErrEndOfLife) != (name == "after the end") {
			t.Errorf("%s: Compose = %v, %v", name, id, err)
		}
	}
}

func TestComposeRoundsDown(t *testing.T) {
	c := NewCipher(NewSecret())
	want := Fields{Time: time.Unix(Epoch+5, 0).UTC(), Node: 1, Sequence: 2}
	id, err := c.Compose(Fields{Time: want.Time.Add(999 * time.Millisecond).In(time.FixedZone("", 3600)), Node: 1, Sequence: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Inspect(id); got != want {
		t.Errorf("Inspect = %v, want %v", got, want)
	}
}

func TestWithin(t *testing.T) {
	at := func(second float64) time.Time {
		return time.Unix(Epoch, 0).Add(time.Duration(second * float64(time.Second)))
	}
	for _, tt := range []struct {
		name  string
		f     Fields
		lease Lease
		want  string // in the error, or nothing
	}{
		{"first second and node", Fields{at(10), 3, 0}, Lease{3, 5, at(10), at(20)}, ""},
		{"last second and node", Fields{at(19), 5, MaxSequence}, Lease{3, 5, at(10), at(20)}, ""},
		{"before the start", Fields{at(9), 4, 0}, Lease{3, 5, at(10), at(20)}, "time 2024-10-27T03:33:29Z is before 2024-10-27T03:33:30Z"},
		{"at the end", Fields{at(20), 4, 0}, Lease{3, 5, at(10), at(20)}, "time 2024-10-27T03:33:40Z is not before 2024-10-27T03:33:40Z"},
		{"node below", Fields{at(10), 2, 0}, Lease{3, 5, at(10), at(20)}, "node 2 is not one of 3 to 5"},
		{"node above", Fields{at(10), 6, 0}, Lease{3, 5, at(10), at(20)}, "node 6 is not one of 3 to 5"},
		{"second that a window begins in", Fields{at(10), 0, 0}, Lease{0, MaxNode, at(10.9), at(20)}, ""},
		{"second that a window ends in", Fields{at(20), 0, 0}, Lease{0, MaxNode, at(10), at(20.1)}, ""},
		{"second after a window", Fields{at(21), 0, 0}, Lease{0, MaxNode, at(10), at(20.1)}, "time"},
		{"no time at all", Fields{}, Lease{0, MaxNode, at(0), time.Unix(math.MaxInt32, 0)}, "time 0001-01-01T00:00:00Z is before"},
		{"no lease at all", Fields{at(0), 0, 0}, Lease{}, "time"},
	} {
		err := tt.f.Within(tt.lease)
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, ErrImplausible) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestWithinOwnLease: what a generator makes is plausible under its lease, in the wrong second or on another node it is not.
func TestWithinOwnLease(t *testing.T) {
	lease := testLease(7, 9, testStart, 10)
	g := newGenerator(t, lease, WithClock(func() time.Time { return time.Unix(testStart+9, 0) }))
	for range 1000 {
		id, err := g.Generate()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Cipher().Inspect(id).Within(lease); err != nil {
			t.Fatal(err)
		}
		if g.Cipher().Inspect(id).Within(testLease(7, 9, testStart, 9)) == nil || g.Cipher().Inspect(id).Within(testLease(0, 6, testStart, 10)) == nil {
			t.Fatal("plausible under another lease")
		}
	}
}

func TestLayoutConstants(t *testing.T) {
	if end := time.Unix(MaxTimestamp, 0).UTC().Format(time.DateTime); end != "2058-11-05 17:10:23" {
		t.Errorf("the format ends at %s", end)
	}
	if TimestampBits+NodeBits+SequenceBits != 64 || MaxNode != 131071 || MaxSequence != 131071 {
		t.Error("the layout is not 30 + 17 + 17 bits")
	}
}
