package numbers

import (
	"fmt"
	"math"
	"testing"
	"time"
	_ "time/tzdata" // the same zones wherever tests run
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// Days around changes of the clocks, with the hours that they have.
var changes = []struct {
	zone  string
	first string // of three days
	hours [3]float64
}{
	{"Europe/Berlin", "2026-03-28", [3]float64{24, 23, 24}},
	{"Europe/Berlin", "2026-10-24", [3]float64{24, 25, 24}},
	{"America/Sao_Paulo", "2018-11-03", [3]float64{24, 23, 24}},                 // no midnight
	{"America/Sao_Paulo", "2018-02-16", [3]float64{24, 25, 24}},                 // midnight twice
	{"Asia/Beirut", "2022-03-26", [3]float64{24, 23, 24}},                       // no midnight
	{"America/St_Johns", "2006-10-28", [3]float64{24 + 59./60, 24 + 1./60, 24}}, // back to the day before, a minute after midnight
	{"Australia/Lord_Howe", "2026-04-04", [3]float64{24, 24.5, 24}},
	{"Pacific/Apia", "2011-12-29", [3]float64{24, 0, 24}}, // a day that was left out
	{"Asia/Kathmandu", "2026-01-01", [3]float64{24, 24, 24}},
}

// At each time a number has the date of the zone's calendar, and counts from 1 in each day, whatever the zone's clocks do.
func TestChangesOfTheClocks(t *testing.T) {
	for _, c := range changes {
		t.Run(c.zone+" "+c.first, func(t *testing.T) {
			zone := zoneOf(t, c.zone)
			w := newTestbed(noon)
			s := w.series(t, "{date:2006-01-02}#{n:6}", WithLocation(zone))
			first, err := time.Parse(keys[Day], c.first)
			if err != nil {
				t.Fatal(err)
			}
			const step = 5 * time.Minute
			counted := map[string]int64{}
			for at, end := first.Add(-16*time.Hour), first.Add(88*time.Hour); at.Before(end); at = at.Add(step) {
				w.set(at)
				n := w.next(t, s)
				counted[n.Period]++
				if day := at.In(zone).Format(keys[Day]); n.Period != day || n.N != counted[day] || n.String() != fmt.Sprintf("%s#%06d", day, n.N) {
					t.Fatalf("at %v: %#v, want number %d of %s", at.In(zone), n, counted[day], day)
				}
			}
			for i, hours := range c.hours {
				day := first.AddDate(0, 0, i).Format(keys[Day])
				if want := hours * float64(time.Hour/step); math.Abs(float64(counted[day])-want) >= 1 {
					t.Errorf("%s: %d numbers, want %v, as it has %v hours", day, counted[day], want, hours)
				}
			}
			w.audit(t)
		})
	}
}

// No time of a period is before its begin, and its first one is soon after it.
func TestBegin(t *testing.T) {
	for _, c := range changes {
		zone := zoneOf(t, c.zone)
		first, err := time.Parse(keys[Day], c.first)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for at, end := first.Add(-48*time.Hour), first.Add(96*time.Hour); at.Before(end); at = at.Add(5 * time.Minute) {
			for _, p := range []Period{Year, Month, Day} {
				key, begin := p.key(at.In(zone)), p.begin(at.In(zone), zone)
				if at.Before(begin) {
					t.Fatalf("%v is before %v, the begin of %s", at.In(zone), begin.In(zone), key)
				}
				late := at.Sub(begin)
				if p == Day && !seen[key] && len(seen) > 1 && late > time.Hour && c.zone != "Pacific/Apia" {
					t.Errorf("%s begins at %v in %s, not at %v", key, at.In(zone), c.zone, begin.In(zone))
				}
				if p == Day {
					seen[key] = true
				}
			}
		}
	}
	berlin := zoneOf(t, "Europe/Berlin")
	for p, want := range map[Period]string{Day: "2026-07-22T22:00:00Z", Month: "2026-06-30T22:00:00Z", Year: "2025-12-31T23:00:00Z"} {
		got := p.begin(time.Date(2026, 7, 23, 12, 0, 0, 0, berlin), berlin)
		if got.Format(time.RFC3339) != want {
			t.Errorf("the %v begins at %v, want %s", p, got, want)
		}
	}
}

func TestPeriodString(t *testing.T) {
	if got := fmt.Sprint(Forever, Year, Month, Day, Period(9)); got != "forever year month day Period(9)" {
		t.Error(got)
	}
}
