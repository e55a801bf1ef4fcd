// Package verdict says when a check passes: the criteria, which are the same for all data, and the
// table of what came out.
package verdict

import (
	"errors"
	"fmt"
	"math"

	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/gonum/stat/distuv"
)

// Level is how often a check may fail by chance alone. A check of many figures looks at the worst of
// them, and divides Level by how many there are (Bonferroni): which holds also where they depend on
// one another, as the counts by remainders modulo 3 and modulo 6 do.
const Level = 1e-4

// TwoSided returns how likely a figure is at least that far out on its side, doubled, from how likely
// it is at most that large: counts that are all too even are as suspicious as those that are not.
func TwoSided(below, above float64) float64 { return min(1, 2*min(below, above)) }

// ChiSquare returns the two-sided p-value of a chi-square statistic of that many bins.
func ChiSquare(statistic float64, bins int) float64 {
	d := distuv.ChiSquared{K: float64(bins - 1)}
	return TwoSided(d.CDF(statistic), d.Survival(statistic))
}

// Threshold returns the p-value below which the smallest of n fails.
func Threshold(n int) float64 { return Level / float64(n) }

// Sigmas returns the distance, in standard deviations, beyond which the farthest of n figures fails.
func Sigmas(n int) float64 { return -distuv.UnitNormal.Quantile(Threshold(n) / 2) }

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

// Within judges a number of standard deviations.
func Within(z, limit float64) Outcome {
	return Outcome{fmt.Sprintf("%.2f σ", math.Abs(z)), math.Abs(z) < limit}
}

// AtLeast judges a p-value.
func AtLeast(p, threshold float64) Outcome { return Outcome{Probability(p), p >= threshold} }

// Probability returns p with two digits.
func Probability(p float64) string {
	if p < 1e-300 {
		return "0"
	}
	return fmt.Sprintf("%.2g", p)
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
