package snowflake

import (
	"errors"
	"testing"
	"time"
)

// Over all IDs of a small layout, and all moments around it, First, Last and Range are what the times
// that Inspect tells say.
func TestRangesExhaustively(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		l, err := NewLayout("small", epoch2025, unit, Time(3), Static("worker", 1), Sequence(2))
		if err != nil {
			t.Fatal(err)
		}
		var times []time.Time // of all IDs
		for id := range ID(1) << l.bits() {
			p, err := l.Inspect(id)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, p.Time)
		}
		var moments []time.Time
		for i := -2; i <= 1<<3+2; i++ {
			start := epoch2025.Add(time.Duration(i) * unit)
			moments = append(moments, start.Add(-1), start, start.Add(1), start.Add(unit/2))
		}
		for _, from := range moments {
			wantFirst, _, found := idsBetween(times, from, time.Time{})
			checkBound(t, "First", l, from, wantFirst, found)(l.first(from))
			_, wantLast, found := idsBetween(times, time.Time{}, from.Add(1))
			checkBound(t, "Last", l, from, wantLast, found)(l.last(from))
			for _, to := range moments {
				wantFirst, wantLast, found := idsBetween(times, from, to)
				first, last, err := l.Range(from, to)
				checkBound(t, "Range's first", l, from, wantFirst, found)(first, err)
				checkBound(t, "Range's last", l, to, wantLast, found)(last, err)
			}
		}
	}
}

// idsBetween looks at the times of all IDs for those in [from, to); a zero to is no bound.
func idsBetween(times []time.Time, from, to time.Time) (first, last ID, found bool) {
	for i, at := range times {
		if at.Before(from) || !to.IsZero() && !at.Before(to) {
			continue
		}
		last = ID(i)
		if !found {
			first, found = last, true
		}
	}
	return first, last, found
}

func checkBound(t *testing.T, what string, l *Layout, at time.Time, want ID, found bool) func(ID, error) {
	return func(got ID, err error) {
		t.Helper()
		if !found {
			if !errors.Is(err, ErrInvalidID) {
				t.Fatalf("%v: %s at %v: %d, %v, want ErrInvalidID", l, what, at, got, err)
			}
			return
		}
		if got != want || err != nil {
			t.Fatalf("%v: %s at %v: %d, %v, want %d", l, what, at, got, err, want)
		}
	}
}

// For the presets: the bounds are open and closed where they should be, at both ends of the layout.
func TestRangeEdges(t *testing.T) {
	for _, l := range Presets() {
		highest := ID(1)<<l.bits() - 1
		always := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		if first, last, err := l.Range(time.Time{}, always); first != 0 || last != highest || err != nil {
			t.Errorf("%v: all of time: %d, %d, %v", l, first, last, err)
		}
		middle := l.Epoch().Add(100 * time.Second)
		_, before, err1 := l.Range(time.Time{}, middle)
		after, _, err2 := l.Range(middle, always)
		if err1 != nil || err2 != nil || after != before+1 {
			t.Errorf("%v: at %v one range ends with %d, and the next begins with %d: %v, %v", l, middle, before, after, err1, err2)
		}
		p, err := l.Inspect(after)
		if err != nil || !p.Time.Equal(middle) {
			t.Errorf("%v: the first ID from %v has time %v: %v", l, middle, p.Time, err)
		}
		if _, err := l.first(l.Expires()); !errors.Is(err, ErrEndOfLife) || !errors.Is(err, ErrInvalidID) {
			t.Errorf("%v: First at the end: %v", l, err)
		}
		if id, err := l.last(l.Expires().AddDate(50, 0, 0)); id != highest || err != nil {
			t.Errorf("%v: Last after the end: %d, %v", l, id, err)
		}
		if _, _, err := l.Range(middle, middle); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%v: an empty range: %v", l, err)
		}
		if _, _, err := l.Range(middle, l.Epoch()); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%v: a range that ends before it begins: %v", l, err)
		}
	}
}
