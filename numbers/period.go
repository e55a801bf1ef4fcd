package numbers

import (
	"fmt"
	"strings"
	"time"
)

// A Period is the time after which numbers begin at 1 again.
type Period int

const (
	Forever Period = iota // one counter for all numbers
	Year
	Month
	Day
)

// keys are the layouts of the names of periods.
var keys = [...]string{Forever: "", Year: "2006", Month: "2006-01", Day: "2006-01-02"}

// String returns "forever", "year", "month" or "day".
func (p Period) String() string {
	if p < Forever || p > Day {
		return fmt.Sprintf("Period(%d)", int(p))
	}
	return [...]string{"forever", "year", "month", "day"}[p]
}

// key returns the name of the period that contains date.
func (p Period) key(date time.Time) string { return date.Format(keys[p]) }

// begin returns the time when the period that contains date begins in the zone. Near a change of the clocks, where
// midnight may occur twice or not at all, the result may be up to an hour or so earlier.
func (p Period) begin(date time.Time, zone *time.Location) time.Time {
	year, month, day := date.Date()
	if p < Day {
		day = 1
	}
	if p < Month {
		month = 1
	}
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	const apart = 36 * time.Hour // no zone is further from UTC, and none changes twice in three days
	_, before := midnight.Add(-apart).In(zone).Zone()
	_, after := midnight.Add(apart).In(zone).Zone()
	return midnight.Add(-time.Duration(max(before, after)) * time.Second)
}

// elements are the elements of package time's layouts that a date may have, in the order in which they are tried.
var elements = []struct {
	text string
	kind int
}{{"2006", showsYear}, {"002", showsDayOfYear}, {"06", showsYear}, {"01", showsMonth}, {"02", showsDay}}

const (
	showsYear = 1 << iota
	showsMonth
	showsDay
	showsDayOfYear
)

// parseLayout returns the shortest period that a date in the given layout identifies.
func parseLayout(layout string) (Period, error) {
	shows := 0
	for rest := layout; rest != ""; {
		length, kind := element(rest)
		if length == 0 || shows&kind != 0 {
			return 0, fmt.Errorf("date %q: at %q: want 2006 or 06, 01, 02 or 002, each once, with - . / _ or spaces between", layout, rest)
		}
		shows |= kind
		rest = rest[length:]
	}
	switch shows {
	case showsYear:
		return Year, nil
	case showsYear | showsMonth:
		return Month, nil
	case showsYear | showsMonth | showsDay, showsYear | showsDayOfYear:
		return Day, nil
	}
	return 0, fmt.Errorf("date %q: want a year (2006 or 06), a year and a month (01), or a year, a month and a day (02), or a year and its day (002)", layout)
}

// element returns the length and the kind of the first element or separator of a layout, or 0.
func element(layout string) (length, kind int) {
	for _, e := range elements {
		if strings.HasPrefix(layout, e.text) {
			return len(e.text), e.kind
		}
	}
	if strings.IndexByte("-./_ ", layout[0]) >= 0 {
		return 1, 0
	}
	return 0, 0
}
