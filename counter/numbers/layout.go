package numbers

import (
	"fmt"
	"strings"
)

// elements are the elements of package time's layouts that a date may have, in the order in which
// they are tried.
var elements = []struct {
	text  string
	shows int
}{
	{"2006", showsYear},
	{"002", showsDayOfYear},
	{"06", showsYear},
	{"01", showsMonth},
	{"02", showsDay},
}

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
		length, more := element(rest)
		if length == 0 || shows&more != 0 {
			return 0, fmt.Errorf("date %+q: at %+q: "+
				"want 2006 or 06, 01, 02 or 002, each once, with - . / _ or spaces between",
				layout, rest)
		}
		shows |= more
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
	return 0, fmt.Errorf("date %+q: want a year (2006 or 06), a year and a month (01), "+
		"or a year, a month and a day (02), or a year and its day (002)",
		layout)
}

// element returns the length of the element or separator that a layout begins with, and what that
// shows. The length is 0 if the layout begins with neither.
func element(layout string) (length, shows int) {
	for _, e := range elements {
		if strings.HasPrefix(layout, e.text) {
			return len(e.text), e.shows
		}
	}
	if strings.IndexByte(grouping, layout[0]) >= 0 {
		return 1, 0
	}
	return 0, 0
}
