package numbers

import (
	"fmt"
	"slices"
	"strings"
)

// elements replaces the elements of package time's layouts that a date may have, each by a letter,
// and drops what may stand between them. An earlier one goes before a later one.
var elements = strings.NewReplacer(
	"2006", "y",
	"002", "n", // the day of the year
	"06", "y",
	"01", "m",
	"02", "d",
	" ", "", "-", "", ".", "", "/", "", "_", "", // grouping
)

// parseLayout returns the shortest period that a date in the given layout identifies.
func parseLayout(layout string) (Periods, error) {
	shows := []byte(elements.Replace(layout))
	slices.Sort(shows)
	isOther := strings.Trim(layout, digits+grouping) != "" // it has letters, maybe those of elements
	switch {
	case isOther:
	case string(shows) == "y":
		return Year, nil
	case string(shows) == "my":
		return Month, nil
	case string(shows) == "dmy", string(shows) == "ny":
		return Day, nil
	}
	return 0, fmt.Errorf("date %+q: want a year (2006 or 06), a year and a month (01), "+
		"or a year, a month and a day (02), or a year and its day (002), "+
		"each once, with - . / _ or spaces between",
		layout)
}
