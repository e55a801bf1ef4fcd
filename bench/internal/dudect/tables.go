package dudect

import (
	"errors"
	"fmt"
	"math"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/verdict"
	"gonum.org/v1/plot/plotter"
)

// render makes the tables and the picture, and fails, once they are there, when a check does.
func render(r *report.Results) error {
	rows, err := report.Load[row](r, "dudect")
	if err != nil {
		return err
	}
	clocks, err := report.Load[clock](r, "clock")
	if err != nil {
		return err
	}
	if len(clocks) != 1 {
		return fmt.Errorf("clock: want one row, have %d", len(clocks))
	}
	list := checks(rows)
	table := verdict.Table("library", list)
	table.Notes = fmt.Sprintf("Fixed against random, %s measurements each of several calls in a row, in random order. The statistic is the worst over all "+
		"measurements and over those below each of %d percentiles. Each negative control has work ready when it is asked the same again.",
		report.Count(clocks[0].MeasurementsAsked), crops)
	return errors.Join(
		r.Table("dudect", table),
		picture(r, rows),
		verdict.Judge(list),
	)
}

// of returns the comparisons of a subject.
func of(rows []row, subject, code string) (list []row) {
	for _, r := range rows {
		if r.Subject == subject && r.Code == code {
			list = append(list, r)
		}
	}
	return list
}

func judge(rows []row) verdict.Outcome {
	var t []float64
	for _, r := range rows {
		t = append(t, r.T)
	}
	worst := math.Abs(verdict.Farthest(t))
	return verdict.Outcome{Statistic: fmt.Sprintf("%.2f", worst), Pass: worst < threshold}
}

func checks(rows []row) (list []verdict.Check) {
	for _, s := range subjects() {
		list = append(list, verdict.Check{
			Test:      s.name,
			Statistic: "largest magnitude of t",
			Criterion: fmt.Sprintf("below %.1f", threshold),
			Tested:    judge(of(rows, s.name, library)),
			Control:   s.controlName,
			OfControl: judge(of(rows, s.name, control)),
		})
	}
	return list
}

// picture shows t over the share of measurements that are kept.
func picture(r *report.Results, rows []row) error {
	p := figure.New("Welch's t, fixed against random", figure.Axis{Label: "fastest measurements, per cent"}, figure.Axis{Label: "t"})
	figure.Band(p, fmt.Sprintf("below %.1f", threshold), -threshold, threshold, figure.Tint)
	var curves []figure.Curve
	p.Y.Min, p.Y.Max = -8, 8
	for _, s := range subjects() {
		var points plotter.XYs
		for _, c := range of(rows, s.name, library) {
			points = append(points, plotter.XY{X: 100 * c.Kept, Y: c.T})
			p.Y.Min, p.Y.Max = min(p.Y.Min, c.T), max(p.Y.Max, c.T)
		}
		if len(points) > 0 {
			curves = append(curves, figure.Curve{Name: s.name, Points: points})
		}
	}
	p.X.Min, p.X.Max = 0, 100
	p.Legend.Top = true
	if err := figure.Curves(p, curves...); err != nil {
		return err
	}
	return figure.Keep(r, "dudect", 640, 360, p)
}
