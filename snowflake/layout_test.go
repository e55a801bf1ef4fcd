package snowflake

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

var epoch2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// mustLayout returns a layout of milliseconds since 2025.
func mustLayout(t testing.TB, parts ...Part) *Layout {
	t.Helper()
	l, err := NewLayout("test", epoch2025, time.Millisecond, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewLayoutRefuses(t *testing.T) {
	ms := time.Millisecond
	parts := func(p ...Part) []Part { return p }
	good := parts(Time(41), Static("worker", 10), Sequence(12))
	tests := []struct {
		why   string
		name  string
		epoch time.Time
		unit  time.Duration
		parts []Part
		says  []string
	}{
		{"no name", "", epoch2025, ms, good, []string{`name ""`}},
		{"upper case", "Mine", epoch2025, ms, good, []string{`"Mine"`, "lower-case"}},
		{"a digit first", "8node", epoch2025, ms, good, []string{`"8node"`}},
		{"no time unit", "mine", epoch2025, 0, good, []string{"unit 0s", "whole milliseconds"}},
		{"a negative unit", "mine", epoch2025, -ms, good, []string{"unit -1ms"}},
		{"half a unit", "mine", epoch2025, ms / 2, good, []string{"unit 500µs", "whole milliseconds"}},
		{"one and a half units", "mine", epoch2025, 3 * ms / 2, good, []string{"unit 1.5ms"}},
		{"microseconds", "mine", epoch2025, time.Microsecond, good, []string{"unit 1µs"}},
		{"epoch after 9999", "mine", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), ms, good, []string{"epoch", "9999"}},
		{"epoch far away", "mine", time.Unix(2305843011008994672, 0), ms, good, []string{"epoch", "9999"}},
		{"epoch before 1970", "mine", time.Unix(-1, 0), ms, good, []string{"second -1", "1970"}},
		{"no epoch", "mine", time.Time{}, ms, good, []string{"epoch", "1970"}},
		{"half a millisecond", "mine", epoch2025.Add(500 * time.Microsecond), ms, good, []string{"whole millisecond"}},
		{"no parts", "mine", epoch2025, ms, nil, []string{"part time", "missing"}},
		{"no sequence", "mine", epoch2025, ms, parts(Time(41), Static("worker", 10)), []string{"part sequence", "missing"}},
		{"no time", "mine", epoch2025, ms, parts(Static("worker", 10), Sequence(12)), []string{"part worker", "time"}},
		{"time is second", "mine", epoch2025, ms, parts(Sequence(12), Time(41)), []string{"part sequence", "first"}},
		{"two times", "mine", epoch2025, ms, parts(Time(20), Time(20), Sequence(12)), []string{"part time", "twice"}},
		{"two sequences", "mine", epoch2025, ms, parts(Time(41), Sequence(5), Sequence(12)), []string{"part sequence", "twice"}},
		{"two rollbacks", "mine", epoch2025, ms, parts(Time(41), Rollback(1), Rollback(1), Sequence(12)), []string{"part rollback", "twice"}},
		{"two workers", "mine", epoch2025, ms, parts(Time(41), Static("worker", 1), Static("worker", 1), Sequence(12)), []string{"part worker", "twice"}},
		{"no part name", "mine", epoch2025, ms, parts(Time(41), Static("", 1), Sequence(12)), []string{`part ""`}},
		{"a bad part name", "mine", epoch2025, ms, parts(Time(41), Static("data center", 1), Sequence(12)), []string{`part "data center"`, "lower-case"}},
		{"no bits", "mine", epoch2025, ms, parts(Time(41), Static("worker", 0), Sequence(12)), []string{"part worker", "0 bits", "1 to 63"}},
		{"negative bits", "mine", epoch2025, ms, parts(Time(41), Sequence(-1)), []string{"part sequence", "-1 bits"}},
		{"absurdly many bits", "mine", epoch2025, ms, parts(Time(41), Sequence(math.MaxInt)), []string{"part sequence", "1 to 63"}},
		{"65 bits", "mine", epoch2025, ms, parts(Time(42), Static("worker", 10), Sequence(13)), []string{"time 42", "65 bits", "at most 64"}},
		{"64 bits and no worker", "mine", epoch2025, ms, parts(Time(42), Rollback(2), Sequence(20)), []string{"64 bits", "static", "at most 63"}},
		{"beyond 9999", "mine", epoch2025, ms, parts(Time(48), Sequence(12)), []string{"part time", "48 bits", "9999", "at most 47"}},
		{"far beyond 9999", "mine", epoch2025, time.Second, parts(Time(62), Sequence(1)), []string{"part time", "at most 37"}},
	}
	for _, test := range tests {
		l, err := NewLayout(test.name, test.epoch, test.unit, test.parts...)
		if l != nil || !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("%s: %v, %v, want ErrInvalidLayout", test.why, l, err)
			continue
		}
		for _, words := range test.says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: error %q does not say %q", test.why, err, words)
			}
		}
	}
}

func TestNewLayout(t *testing.T) {
	parts := []Part{Time(36), Static("region", 3), Sequence(10), Rollback(2), Static("worker-90_b", 4)}
	epoch := time.Date(2020, 2, 29, 1, 2, 3, 4e6, time.FixedZone("", 3600))
	l, err := NewLayout("mine", epoch, 10*time.Millisecond, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != "mine" || !l.Epoch().Equal(epoch) || l.Epoch().Location() != time.UTC || l.Unit() != 10*time.Millisecond || l.bits() != 55 {
		t.Errorf("name %s, epoch %v, unit %v, bits %d", l.Name(), l.Epoch(), l.Unit(), l.bits())
	}
	if l.Workers() != 1<<7 {
		t.Errorf("%d workers", l.Workers())
	}
	if want := epoch.Add((1 << 36) * 10 * time.Millisecond); !l.Expires().Equal(want) || l.Expires().Location() != time.UTC {
		t.Errorf("expires %v, want %v", l.Expires(), want)
	}
	want := "mine: time 36, region 3, sequence 10, rollback 2, worker-90_b 4; 10ms since 2020-02-29T00:02:03.004Z"
	if l.String() != want {
		t.Errorf("String: %s", l)
	}

	// The places of the parts, which the generator relies on.
	if l.time != (position{19, 36}) || l.sequence != (position{6, 10}) || l.rollback != (position{4, 2}) ||
		len(l.statics) != 2 || l.statics[0] != (static{"region", position{16, 3}}) || l.statics[1] != (static{"worker-90_b", position{0, 4}}) {
		t.Errorf("places: %+v", l)
	}

	// Nobody can change a layout.
	parts[0] = Time(1)
	l.Parts()[1].Bits = 7
	if got := l.Parts(); got[0] != Time(36) || got[1] != Static("region", 3) || l.String() != want {
		t.Errorf("the layout changed: %v", got)
	}
}

func TestSmallestAndLargestLayout(t *testing.T) {
	l := mustLayout(t, Time(1), Sequence(1))
	if l.bits() != 2 || l.Workers() != 1 || !l.Expires().Equal(epoch2025.Add(2*time.Millisecond)) {
		t.Errorf("%v: %d bits, %d workers, expires %v", l, l.bits(), l.Workers(), l.Expires())
	}
	l = mustLayout(t, Time(1), Static("worker", 62), Sequence(1))
	if l.bits() != 64 || l.Workers() != 1<<62 {
		t.Errorf("%v: %d bits, %d workers", l, l.bits(), l.Workers())
	}
	l, err := NewLayout("long", time.Unix(0, 0), time.Second, Time(37), Sequence(26))
	if err != nil || l.Expires().Year() != 6325 {
		t.Errorf("%v, %v, expires %v", l, err, l.Expires())
	}
	// Whether an epoch has passed depends on the machine's clock, so it does not matter.
	if _, err := NewLayout("soon", time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond, Time(41), Sequence(12)); err != nil {
		t.Error(err)
	}
	if l, err = NewLayout("slow", epoch2025, 1500*time.Millisecond, Time(30), Sequence(12)); err != nil || !l.start(3).Equal(epoch2025.Add(4500*time.Millisecond)) {
		t.Errorf("%v, %v", l, err)
	}
}
