// Package verdict says when a check passes: the criteria, which are the same for all data, and the
// table of what came out.
package verdict

import (
	"errors"
	"fmt"
	"math"

	"github.com/randflake/randflake/bench/internal/report"
)

// Level is how often a check may fail by chance alone.
const Level = 1e-4

// Farthest returns the figure with the largest absolute value. Of none it is not a number, which no
// criterion lets pass.
func Farthest(figures []float64) float64 {
	farthest := math.NaN()
	for i, z := range figures {
		if i == 0 || math.Abs(z) > math.Abs(farthest) {
			farthest = z
		}
	}
	return farthest
}

// An Outcome is a statistic and whether it meets the criterion.
type Outcome struct {
	Statistic string
	Pass      bool
}

// A Check is one line of the table.
type Check struct {
	Test      string
	Statistic string // what is told of both
	Criterion string
	Tested    Outcome

	Control   string // what the negative control is; without one, there is nothing to compare with
	OfControl Outcome
}

// Table returns the checks as a table, with the name of what is tested.
func Table(tested string, checks []Check) *report.Table {
	t := &report.Table{Columns: []string{"test", "statistic", "criterion", tested, "verdict", "negative control", "its statistic", "its verdict"}}
	for _, c := range checks {
		row := []string{c.Test, c.Statistic, c.Criterion, c.Tested.Statistic, word(c.Tested.Pass), "", "", ""}
		if c.Control != "" {
			row[5], row[6], row[7] = c.Control, c.OfControl.Statistic, word(c.OfControl.Pass)
			if !c.OfControl.Pass {
				row[7] += ", as it must"
			}
		}
		t.Add(row...)
	}
	return t
}

func word(pass bool) string {
	if pass {
		return "passes"
	}
	return "fails"
}

// Judge returns an error for each check that failed, and for each whose negative control did not.
func Judge(checks []Check) error {
	var failed []error
	for _, c := range checks {
		if !c.Tested.Pass {
			failed = append(failed, fmt.Errorf("%s: %s: %s; want %s", c.Test, c.Statistic, c.Tested.Statistic, c.Criterion))
		}
		if c.Control != "" && c.OfControl.Pass {
			failed = append(failed, fmt.Errorf("%s: the test is blind: %s passes: %s: %s", c.Test, c.Control, c.Statistic, c.OfControl.Statistic))
		}
	}
	return errors.Join(failed...)
}
