package snowflake

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLayoutText(t *testing.T) {
	odd, err := NewLayout("a-1_b", time.Date(2020, 2, 29, 1, 2, 3, 4e6, time.UTC), 90*time.Minute+1500*time.Millisecond, Time(20), Rollback(3), Static("x", 1), Sequence(7))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(Presets(), odd) {
		parsed, err := ParseLayout(l.String())
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		if parsed.String() != l.String() || parsed.Name() != l.Name() || !parsed.Epoch().Equal(l.Epoch()) || parsed.Unit() != l.Unit() || parsed.time != l.time || parsed.sequence != l.sequence {
			t.Errorf("%s read as %s", l, parsed)
		}
	}
	if got, want := odd.String(), "a-1_b: time 20, rollback 3, x 1, sequence 7; 1h30m1.5s since 2020-02-29T01:02:03.004Z"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseLayoutRefuses(t *testing.T) {
	good := "l: time 41, worker 10, sequence 12; 1ms since 2025-01-01T00:00:00Z"
	if _, err := ParseLayout(good); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{good, ""}, {"l: ", ""}, {"; ", ", "}, {" since ", " from "}, {"l:", "L:"}, {"l:", " l:"}, {"1ms", "1"}, {"1ms", "1000us"}, {"1ms", "0s"}, {"1ms", "+1ms"},
		{"1ms", "0.5ms"}, {"41", "041"}, {"41", "+41"}, {"41", "x"}, {"41", ""}, {"41", "-1"}, {"41", "41 "}, {"worker 10", "worker"}, {"Z", "+00:00"},
		{"Z", ".000Z"}, {"Z", ".0001Z"}, {"2025", "25"}, {"2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:00"}, {"Z", "Z "}, {"2025", "1969"},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		l, err := ParseLayout(text)
		if l != nil || !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("ParseLayout(%q) = %v, %v, want ErrInvalidLayout", text, l, err)
		}
	}
}
