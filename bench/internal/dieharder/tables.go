package dieharder

import (
	"errors"
	"fmt"
	"math"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/verdict"
	"gonum.org/v1/gonum/stat/distuv"
)

// weakness is how often dieharder calls a perfect source weak: when p is within half a per cent of
// either end. For a source to be called failed, p must be within a millionth.
const weakness = 0.01

// allowed returns how many of n p-values may be weak: chance exceeds it so seldom that it does so in
// two attempts no more often than any other check fails.
func allowed(n int) int {
	level := math.Sqrt(verdict.Level)
	k := 0
	for (distuv.Binomial{N: float64(n), P: weakness}).Survival(float64(k)) > level {
		k++
	}
	return k
}

// judge is the criterion.
func judge(found []finding) verdict.Outcome {
	count := make(map[string]int)
	for _, f := range found {
		count[f.Assessment]++
	}
	return verdict.Outcome{
		Statistic: fmt.Sprintf("%d of %d weak, %d failed", count[weak], len(found), count[failed]),
		Pass:      len(found) > 0 && count[failed] == 0 && count[weak] <= allowed(len(found)),
	}
}

// render makes the tables, and fails, once they are there, when the IDs do.
func render(r *report.Results) error {
	all, err := report.Load[tested](r, "dieharder")
	if err != nil {
		return err
	}
	attempts, err := report.Load[attempt](r, "attempts")
	if err != nil {
		return err
	}
	checks := checks(all, attempts)
	table := verdict.Table(ids, checks)
	table.Notes = notes(attempts)
	return errors.Join(
		r.Table("dieharder", table),
		verdict.Judge(checks[len(checks)-1:]), // the last attempt decides
	)
}

func checks(all []tested, attempts []attempt) (list []verdict.Check) {
	ofControl := judge(findings(all, raw, 1))
	for _, a := range attempts {
		if a.Source != ids {
			continue
		}
		found := findings(all, ids, a.Attempt)
		name := "`dieharder -a`"
		if a.Tests != fmt.Sprint([]string{everything}) {
			name = fmt.Sprintf("`dieharder`, %d tests", len(fast))
		}
		list = append(list, verdict.Check{
			Test:      fmt.Sprintf("%s, seed %d", name, a.Seed),
			Statistic: "p-values",
			Criterion: fmt.Sprintf("at most %d weak, none failed", allowed(len(found))),
			Tested:    judge(found),
			Control:   raw,
			OfControl: ofControl,
		})
	}
	return list
}

func notes(attempts []attempt) (text string) {
	for _, a := range attempts {
		if a.Source == ids {
			text += fmt.Sprintf("Seed %d is the secret %s, from raw value %s on: %.1f GB were read in %s. ",
				a.Seed, a.Secret, a.Start, float64(a.Bytes)/1e9, report.Duration(a.Seconds*1e9))
		}
	}
	return text + "Raw values get the fast tests only. Should an attempt fail, there is one more with another seed, and that decides."
}
