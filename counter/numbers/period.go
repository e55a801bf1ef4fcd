package numbers

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
)

// Periods say when numbers begin at 1 again, such as each day. One such day is a lease.Period.
type Periods int

const (
	Forever Periods = iota // one counter for all numbers
	Year
	Month
	Day
	Quarter
	Week // of ISO 8601: from Monday on, and the first week of a year has January 4

	fiscalYears // plus a month: see FiscalYear
)

// FiscalYear is a year that begins with the first day of a month. It is named for the year in which
// it ends: with April as the first month, FY2027 begins on 2026-04-01.
func FiscalYear(first time.Month) Periods { return fiscalYears + Periods(first) }

// periods has all but the fiscal years.
var periods = [...]struct {
	name    string
	layout  string  // of its key for package time, which has none for quarters and weeks
	shownBy Periods // what a date must show to tell the period
}{
	Forever: {"forever", "", Forever},
	Year:    {"year", "2006", Year},
	Month:   {"month", "2006-01", Month},
	Day:     {"day", "2006-01-02", Day},
	Quarter: {"quarter", "", Month},
	Week:    {"week", "", Day},
}

func (p Periods) isFiscal() bool { return p > fiscalYears }

// first returns the month with which a fiscal year begins.
func (p Periods) first() time.Month { return time.Month(p - fiscalYears) }

func (p Periods) valid() bool {
	return p >= Forever && p < fiscalYears || p.first() >= time.January && p.first() <= time.December
}

// shownBy returns what a date must show to tell p: Day, Month, Year, or Forever for nothing. These
// four are in order: a date that shows the day shows month and year too.
func (p Periods) shownBy() Periods {
	if p.isFiscal() {
		return Month
	}
	return periods[p].shownBy
}

// String returns a word such as "year" or "week", or "fiscal-year-04" for one that begins with April.
func (p Periods) String() string {
	switch {
	case !p.valid():
		return fmt.Sprintf("Periods(%d)", int(p))
	case p.isFiscal():
		return fmt.Sprintf("fiscal-year-%02d", p.first())
	}
	return periods[p].name
}

// ParsePeriods returns the Periods that String returns as text, other than forever.
func ParsePeriods(text string) (Periods, error) {
	for p := Year; p <= FiscalYear(time.December); p++ {
		if p.valid() && p.String() == text {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w: periods %.80q: "+
		"want day, week, month, quarter, year, or fiscal-year-04 for one that begins with April",
		errInvalidOption, text)
}

// At returns the period that contains t in a zone, as counters have it. For Forever that is the
// zero lease.Period.
func (p Periods) At(t time.Time, zone *time.Location) lease.Period {
	if p == Forever {
		return lease.Period{}
	}
	t = t.In(zone)
	return lease.Period{
		Periods: fmt.Sprintf("%v@%v", p, zone),
		Key:     p.key(t),
		Begin:   p.begin(t, zone),
	}
}

// key returns the name of the period that contains date.
func (p Periods) key(date time.Time) string {
	switch {
	case p == Quarter:
		return fmt.Sprintf("%04d-Q%d", date.Year(), (date.Month()+2)/3)
	case p == Week:
		year, week := date.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case p.isFiscal():
		year := dayOf(date.Year(), date.Month()+p.ahead(), 1).Year()
		return fmt.Sprintf("FY%04d", year)
	}
	return date.Format(periods[p].layout)
}

// ahead returns by how many months a fiscal year is ahead of the calendar year: 9 if April is its
// first month.
func (p Periods) ahead() time.Month { return (13 - p.first()) % 12 }

// parse returns the first day of the period with this key, and whether there is such a period.
func (p Periods) parse(key string) (day time.Time, ok bool) {
	var year, n int
	switch {
	case p == Quarter:
		fmt.Sscanf(key, "%4d-Q%1d", &year, &n)
		day = dayOf(year, time.Month(3*n-2), 1)
	case p == Week:
		fmt.Sscanf(key, "%4d-W%2d", &year, &n)
		day = dayOf(year, time.January, 4+7*(n-1)) // of that week, and now back to its Monday
		day = day.AddDate(0, 0, -int(day.Weekday()+6)%7)
	case p.isFiscal():
		fmt.Sscanf(key, "FY%4d", &year)
		day = dayOf(year, 1-p.ahead(), 1)
	default:
		day, _ = time.Parse(periods[p].layout, key)
	}
	// The day of a key that is wrong, or that Sscanf only took for one, has another key.
	return day, p.key(day) == key && day.Year() >= 0
}

func dayOf(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// begin returns the time when the period that contains date begins in the zone: the first midnight
// of its first day or, if the clocks skip that midnight, the moment of the change.
func (p Periods) begin(date time.Time, zone *time.Location) time.Time {
	midnight, _ := p.parse(p.key(date))
	// The offsets before and after midnight, if it has a change of the clocks. No zone is further than
	// 36 hours from UTC, and none has two changes within three days.
	const apart = 36 * time.Hour
	_, before := midnight.Add(-apart).In(zone).Zone()
	_, after := midnight.Add(apart).In(zone).Zone()
	early := midnight.Add(-time.Duration(max(before, after)) * time.Second)
	if early.In(zone).Day() == midnight.Day() {
		return early
	}
	return midnight.Add(-time.Duration(min(before, after)) * time.Second)
}
