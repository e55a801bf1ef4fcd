package numbers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones wherever tests run

	"github.com/randflake/randflake/internal/test/require"
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

// The first second of each period belongs to it, and the one before it to the period before, in
// zones where clocks change at that moment, too. Texts with the period are read as they were
// printed.
func TestFirstSeconds(t *testing.T) {
	for _, c := range []struct {
		period        Periods
		zone, first   string
		before, after string
	}{
		{Week, "UTC", "2020-12-28T00:00:00", "2020-W52", "2020-W53"}, // a year of 53 weeks
		{Week, "UTC", "2021-01-04T00:00:00", "2020-W53", "2021-W01"}, // January 3 is in the week of the year before
		{Week, "UTC", "2024-12-30T00:00:00", "2024-W52", "2025-W01"}, // December 30 is in the week of the next year
		{Week, "UTC", "2026-12-28T00:00:00", "2026-W52", "2026-W53"},
		{Week, "Europe/Berlin", "2026-03-30T00:00:00", "2026-W13", "2026-W14"},     // after a day of 23 hours
		{Week, "Africa/Cairo", "2012-01-02T00:00:00", "2011-W52", "2012-W01"},      // a year that begins on a Sunday
		{Week, "America/Asuncion", "2017-03-27T00:00:00", "2017-W12", "2017-W13"},  // after a day of 25 hours
		{Quarter, "Asia/Amman", "2022-04-01T00:00:00", "2022-Q1", "2022-Q2"},       // a month after no midnight
		{Quarter, "Australia/Sydney", "2023-10-01T00:00:00", "2023-Q3", "2023-Q4"}, // clocks change on that day
		{Quarter, "Pacific/Apia", "2012-01-01T00:00:00", "2011-Q4", "2012-Q1"},     // two days after a day that was left out
		{FiscalYear(time.January), "UTC", "2027-01-01T00:00:00", "FY2026", "FY2027"},
		{FiscalYear(time.April), "Asia/Kolkata", "2026-04-01T00:00:00", "FY2026", "FY2027"},
		{FiscalYear(time.October), "Australia/Sydney", "2023-10-01T00:00:00", "FY2023", "FY2024"},
		{FiscalYear(time.October), "America/Asuncion", "2017-10-01T01:00:00", "FY2017", "FY2018"}, // no midnight
		{FiscalYear(time.November), "America/Havana", "2015-11-01T00:00:00", "FY2015", "FY2016"},  // midnight twice, at 1:00
		{FiscalYear(time.March), "America/Argentina/San_Luis", "2000-03-01T00:00:00", "FY2000", "FY2001"},
	} {
		zone := zoneOf(t, c.zone)
		first, err := time.ParseInLocation("2006-01-02T15:04:05", c.first, zone)
		require.NoError(t, err)
		f := newTestFormat(t, "{period}-{n:3}", WithPeriods(c.period), WithLocation(zone))
		for at, want := range map[time.Time]string{first.Add(-time.Second): c.before, first: c.after} {
			n, err := f.Number(at.UTC(), 7)
			require.That(t, err == nil && n.Period == want && n.String() == want+"-007",
				"%v, %v: %v, %v, want %s", c.period, at, n, err, want)
			require.Equal(t, c.period.At(at.UTC(), zone).Key, want, "%v, %v", c.period, at)
			require.Gives(t, n, "%s is read as", n)(f.Parse(n.String()))
		}
		early := first.Sub(c.period.begin(first, zone))
		require.That(t, early >= 0 && early <= 25*time.Hour, "%v begins %v before %v", c.period, early, first)
	}
	for period, texts := range map[Periods][]string{
		Week:                   {"2026-w47-007", "2025-W53-007", "2026-W00-007", "2026-W1 -007", "2026-W+1-007"},
		Quarter:                {"2026-Q0-007", "2026-Q5-007"},
		FiscalYear(time.April): {"FY-001-007", "Fy2026-007", "FY0000-007"},
	} {
		for _, text := range texts {
			require.Refuses(t, ErrInvalidNumber, "%s", text)(newTestFormat(t, "{period}-{n:3}", WithPeriods(period)).parse(text))
		}
	}
}

// TestBegin: at random times, and around changes of the clocks, a period begins with its first
// time, and its name stands for a day of it. Kwajalein left out 1993-08-21.
func TestBegin(t *testing.T) {
	const seconds = 4e9 // from 1970 to 2096
	random := rand.New(rand.NewPCG(1, 2))
	periods := []Periods{Year, Month, Day, Quarter, Week, FiscalYear(time.January), FiscalYear(time.April), FiscalYear(time.December)}
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein",
	} {
		zone := zoneOf(t, name)
		for i := range 1000 {
			at := time.Unix(random.Int64N(seconds), 0).In(zone)
			if _, change := at.ZoneBounds(); i%2 == 0 && !change.IsZero() {
				at = change.Add(time.Duration(random.Int64N(72)-36) * time.Hour)
			}
			for _, p := range periods {
				key := p.key(at)
				begin := p.begin(at, zone)
				require.Must(t, !at.Before(begin) && p.key(begin.Add(-time.Second).In(zone)) != key,
					"%v is before %v, the begin of %s", at, begin.In(zone), key)
				require.Must(t, p.key(begin.In(zone)) == key, "%s begins after %v", key, begin.In(zone))
				day, ok := p.parse(key)
				require.Must(t, ok && p.key(day) == key, "%s is read as %v, %v", key, day, ok)
			}
		}
	}
}

// TestParsePeriods: what String returns is read, but for no period at all.
func TestParsePeriods(t *testing.T) {
	for _, p := range []Periods{Year, Month, Day, Quarter, Week, FiscalYear(time.January), FiscalYear(time.December)} {
		require.Gives(t, p, "%v is read as", p)(ParsePeriods(p.String()))
	}
	for _, text := range []string{"", "forever", "Periods(6)", "Day", "fiscal-year", "fiscal-year-13"} {
		require.Refuses(t, errInvalidOption, "%q", text)(ParsePeriods(text))
	}
}

func TestPeriodString(t *testing.T) {
	all := fmt.Sprint(Forever, Day, Quarter, Week, FiscalYear(time.April), FiscalYear(13))
	require.Equal(t, all, "forever day quarter week fiscal-year-04 Periods(19)", "periods")
}

// What nobody made says so.
func TestNoFormat(t *testing.T) {
	for want, calls := range map[string][]func(){
		"numbers: no Format, or the zero one: make one with NewFormat": {
			func() { new(Format).Last() },
			func() { new(Format).Number(time.Now(), 1) },
			func() { new(Format).Parse("1") },
			func() { (*Format)(nil).Last() },
			func() { (*Format)(nil).Number(time.Now(), 1) },
			func() { (*Format)(nil).Parse("1") },
		},
		"numbers: no Series, or the zero one: make one with Open": {
			func() { new(Series).Next(t.Context()) },
			func() { new(Series).Close() },
			func() { (*Series)(nil).Next(t.Context()) },
			func() { (*Series)(nil).Close() },
		},
	} {
		for i, call := range calls {
			func() {
				defer func() {
					if text, _ := recover().(string); !strings.Contains(text, want) {
						t.Errorf("call %d: %q, want %q", i, text, want)
					}
				}()
				call()
			}()
		}
	}
}
