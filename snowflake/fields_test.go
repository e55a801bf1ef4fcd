package snowflake

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// randomFields returns fields that l can hold, and the ID that has them, put together from their
// binary digits.
func randomFields(l *Layout) (Fields, ID) {
	var digits strings.Builder
	var p Fields
	for _, f := range l.Parts() {
		value := rand.Uint64N(1 << f.Bits)
		switch rand.IntN(4) { // the ends are where mistakes are
		case 0:
			value = 0
		case 1:
			value = 1<<f.Bits - 1
		}
		fmt.Fprintf(&digits, "%0*b", f.Bits, value)
		switch f.Name {
		case "time":
			p.Time = time.UnixMilli(l.Epoch().UnixMilli() + int64(value)*l.Unit().Milliseconds()).UTC()
		case "rollback":
			p.Rollback = value
		case "sequence":
			p.Sequence = value
		default:
			if p.Static == nil {
				p.Static = map[string]uint64{}
			}
			p.Static[f.Name] = value
		}
	}
	id, err := strconv.ParseUint(digits.String(), 2, 64)
	if err != nil {
		panic(err)
	}
	return p, ID(id)
}

func TestFieldsRoundTrip(t *testing.T) {
	layouts := append(Presets(), mustLayout(t, Time(1), Sequence(1)),
		mustLayout(t, Time(20), Rollback(3), Static("a", 1), Sequence(7), Static("b", 9), Static("c", 2)))
	for _, l := range layouts {
		for range 2000 {
			p, id := randomFields(l)
			if got, err := l.Compose(p); got != id || err != nil {
				t.Fatalf("%v: Compose(%v) = %d, %v, want %d", l, p, got, err, id)
			}
			if got, err := l.Inspect(id); !reflect.DeepEqual(got, p) || err != nil {
				t.Fatalf("%v: Inspect(%d) = %v, %v, want %v", l, id, got, err, p)
			}
		}
	}
}

func TestComposeRoundsTimeDown(t *testing.T) {
	for _, l := range []*Layout{Twitter(), sonyflake, baidu} {
		p := Fields{Time: l.Epoch().Add(5 * l.Unit())}
		want, _ := l.Compose(p)
		for _, later := range []time.Duration{1, l.Unit() / 2, l.Unit() - 1} {
			p.Time = l.Epoch().Add(5*l.Unit() + later).In(time.FixedZone("", -7200))
			if got, err := l.Compose(p); got != want || err != nil {
				t.Errorf("%v: %v after a unit's start: %d, %v, want %d", l, later, got, err, want)
			}
		}
		p.Time = l.Epoch().Add(6 * l.Unit())
		if got, _ := l.Compose(p); got <= want {
			t.Errorf("%v: the next unit gave %d, not above %d", l, got, want)
		}
	}
}

func TestComposeRefuses(t *testing.T) {
	l := mustLayout(t, Time(41), Static("region", 3), Static("worker", 5), Rollback(2), Sequence(12))
	tests := []struct {
		why    string
		fields Fields
		says   string
	}{
		{"before the epoch", Fields{Time: epoch2025.Add(-1)}, "epoch"},
		{"the zero time", Fields{}, "epoch"},
		{"after the end", Fields{Time: l.Expires()}, "ends at"},
		{"rollback", Fields{Time: epoch2025, Rollback: 4}, "rollback 4: want at most 3"},
		{"sequence", Fields{Time: epoch2025, Sequence: 4096}, "sequence 4096: want at most 4095"},
		{"region", Fields{Time: epoch2025, Static: map[string]uint64{"region": 8}}, "region 8: want at most 7"},
		{"worker", Fields{Time: epoch2025, Static: map[string]uint64{"worker": math.MaxUint64}}, "worker"},
		{"unknown", Fields{Time: epoch2025, Static: map[string]uint64{"worker": 1, "shard": 1}}, "shard"},
		{"not static", Fields{Time: epoch2025, Static: map[string]uint64{"sequence": 1}}, "sequence"},
	}
	for _, test := range tests {
		id, err := l.Compose(test.fields)
		if !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %d, %v, want ErrInvalidID that says %q", test.why, id, err, test.says)
		}
		if late := !test.fields.Time.Before(l.Expires()); errors.Is(err, ErrEndOfLife) != late {
			t.Errorf("%s: %v: end of life: want %v", test.why, err, late)
		}
	}
	if _, err := worker10.Compose(Fields{Time: epoch2025, Rollback: 1}); !errors.Is(err, ErrInvalidID) {
		t.Errorf("a rollback in a layout without one: %v", err)
	}
	id, err := l.Compose(Fields{Time: l.Expires().Add(-1)})
	if err != nil || id != ID(1<<41-1)<<22 {
		t.Errorf("the last moment: %d, %v", id, err)
	}
}

func TestInspectRefuses(t *testing.T) {
	small := mustLayout(t, Time(10), Sequence(2))
	for _, test := range []struct {
		layout *Layout
		id     ID
		ok     bool
	}{
		{Twitter(), math.MaxUint64, false},
		{Twitter(), 1 << 63, false},
		{Twitter(), math.MaxInt64, true},
		{discord, math.MaxUint64, true},
		{javaScript53, 1<<53 - 1, true},
		{javaScript53, 1 << 53, false},
		{small, 1<<12 - 1, true},
		{small, 1 << 12, false},
		{small, math.MaxUint64, false},
	} {
		_, err := test.layout.Inspect(test.id)
		if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrInvalidID) {
			t.Errorf("%v: Inspect(%d): %v", test.layout, test.id, err)
		}
	}
}
