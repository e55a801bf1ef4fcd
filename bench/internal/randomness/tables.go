package randomness

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/verdict"
)

// data are what run kept.
type data struct {
	frequencies []frequency
	avalanche   []avalancheRow
	serials     []serial
	ent         []entRow
}

func load(r *report.Results) (d data, err error) {
	var failed [4]error
	d.frequencies, failed[0] = report.Load[frequency](r, "chi-square")
	d.avalanche, failed[1] = report.Load[avalancheRow](r, "avalanche")
	d.serials, failed[2] = report.Load[serial](r, "serial")
	d.ent, failed[3] = report.Load[entRow](r, "ent")
	return d, errors.Join(failed[:]...)
}

// render makes tables and pictures, and fails, once they are there, when a check does.
func render(r *report.Results) error {
	d, err := load(r)
	if err != nil {
		return err
	}
	checks, err := d.checks()
	if err != nil {
		return err
	}
	table := verdict.Table("IDs", checks)
	table.Notes = d.notes()
	err = errors.Join(
		r.Table("randomness", table),
		r.Table("ent", entTable(d.ent)),
		avalanchePicture(r, d.avalanche),
		moduliPicture(r, d.frequencies),
	)
	return errors.Join(err, verdict.Judge(checks))
}

func (d data) notes() string {
	counted, trials := 0, 0
	for _, f := range d.frequencies {
		counted = max(counted, f.Values)
	}
	for _, a := range d.avalanche {
		trials = max(trials, a.Trials)
	}
	chance := 64 * inputBits * math.Erfc(avalancheSigmas/math.Sqrt2)
	return fmt.Sprintf("IDs are those of one node in the order in which it makes them, from consecutive raw values; the negative control has these as they are, or a cipher cut short. "+
		"Each line fails by chance in one run of %s at most; p-values are two-sided. Frequencies are of %s IDs, avalanche of %s trials for each input bit, "+
		"all of whose cells are within %d σ but for one run in %s.",
		report.Count(int(1/verdict.Level)), report.Count(counted), report.Count(trials),
		avalancheSigmas, report.Number(100*math.Round(1/chance/100)))
}

func (d data) checks() ([]verdict.Check, error) {
	checks := []verdict.Check{
		d.frequencyCheck("chi-square of the 8 bytes", kindByte),
		d.frequencyCheck("chi-square of the remainder modulo 2 to "+report.Count(lastModulus), kindModulo),
	}
	for _, input := range []string{plaintext, key} {
		check, err := d.avalancheCheck(input)
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	checks = append(checks,
		d.serialCheck(fmt.Sprintf("correlation of values, %d lags up to %s", len(lags), report.Count(slices.Max(lags))), serialValues),
		d.serialCheck(fmt.Sprintf("agreement of each bit, %d lags", len(lags)), serialBits),
		d.serialCheck("runs up and down", serialRuns))
	ofRaw := d.entRow(raw)
	for _, name := range []string{ids, newIDs} {
		checks = append(checks, entCheck(d.entRow(name), ofRaw))
	}
	return checks, nil
}

func (d data) frequencyCheck(test, kind string) verdict.Check {
	found := selected(d.frequencies, ids, kind)
	threshold := verdict.Threshold(len(found))
	judge := func(p []float64) verdict.Outcome {
		if len(p) == 0 {
			return verdict.Outcome{Statistic: "none"}
		}
		return verdict.AtLeast(slices.Min(p), threshold)
	}
	return verdict.Check{
		Test:      test,
		Statistic: fmt.Sprintf("smallest p-value of %s", report.Count(len(found))),
		Criterion: "at least " + verdict.Probability(threshold),
		Tested:    judge(found),
		Control:   raw,
		OfControl: judge(selected(d.frequencies, raw, kind)),
	}
}

func (d data) avalancheCheck(input string) (verdict.Check, error) {
	found, err := matrix(d.avalanche, ids, input)
	if err != nil {
		return verdict.Check{}, err
	}
	control, err := matrix(d.avalanche, reduced, input)
	if err != nil {
		return verdict.Check{}, err
	}
	return verdict.Check{
		Test:      "avalanche of the " + input,
		Statistic: fmt.Sprintf("farthest of %s cells from a half", report.Count(len(found)*64)),
		Criterion: fmt.Sprintf("below %d σ", avalancheSigmas),
		Tested:    verdict.Within(verdict.Farthest(slices.Concat(found...)), avalancheSigmas),
		Control:   reduced,
		OfControl: verdict.Within(verdict.Farthest(slices.Concat(control...)), avalancheSigmas),
	}, nil
}

func (d data) serialCheck(test, kind string) verdict.Check {
	found := sigmasOf(d.serials, ids, kind)
	limit := verdict.Sigmas(max(len(found), 1))
	return verdict.Check{
		Test:      test,
		Statistic: fmt.Sprintf("farthest of %s from none", report.Count(len(found))),
		Criterion: fmt.Sprintf("below %.2f σ", limit),
		Tested:    verdict.Within(verdict.Farthest(found), limit),
		Control:   raw,
		OfControl: verdict.Within(verdict.Farthest(sigmasOf(d.serials, raw, kind)), limit),
	}
}

func (d data) entRow(name string) entRow {
	for _, e := range d.ent {
		if e.Source == name {
			return e
		}
	}
	return entRow{}
}

func entCheck(found, control entRow) verdict.Check {
	name := "`ent`"
	if found.Source == newIDs {
		name += " on `randflake new`"
	}
	threshold := verdict.Threshold(len(found.p()))
	judge := func(e entRow) verdict.Outcome {
		smallest := 1.0
		for _, p := range e.p() {
			smallest = min(smallest, p) // which of nothing is not a number
		}
		return verdict.AtLeast(smallest, threshold)
	}
	return verdict.Check{
		Test:      name,
		Statistic: fmt.Sprintf("smallest p-value of %d", len(found.p())),
		Criterion: "at least " + verdict.Probability(threshold),
		Tested:    judge(found),
		Control:   raw,
		OfControl: judge(control),
	}
}

func entTable(rows []entRow) *report.Table {
	t := &report.Table{
		Columns: []string{"`ent` on", "bytes", "entropy of a byte", "p of chi-square", "mean (p)", "pi by Monte Carlo (p)", "correlation with the next byte (p)"},
		Notes:   "p-values are two-sided.",
	}
	for _, e := range rows {
		p := e.p()
		t.Add(e.Source, report.Count(int64(e.Bytes)), fmt.Sprintf("%.6f bits", e.Entropy), verdict.Probability(p["chi-square"]),
			fmt.Sprintf("%.4f (%s)", e.Mean, verdict.Probability(p["mean"])),
			fmt.Sprintf("%.5f (%s)", e.Pi, verdict.Probability(p["pi"])),
			fmt.Sprintf("%.6f (%s)", e.Correlation, verdict.Probability(p["serial correlation"])))
	}
	return t
}
