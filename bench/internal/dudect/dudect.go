// Package dudect is the chapter that looks for dependence of the cipher's time on plaintext and key, by
// the method of Reparaz, Balasch and Verbauwhede ("Dude, is my code constant time?", DATE 2017): two
// classes of inputs, fixed and random, measured in random order, and Welch's t-test on their times.
package dudect

import (
	"context"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "dudect",
		About:  "whether the cipher's time depends on its data",
		Quick:  takes(true),
		Full:   takes(false),
		Run:    run,
		Render: render,
	}
}

// threshold is the criterion for |t|, at the worst of all crops: two equal classes exceed it in one of
// 150,000 tests.
const threshold = 4.5

// form returns how many measurements are made of each subject, and of each negative control, which
// needs few to be found out.
func form(quick bool) (n, ofControl int) {
	if quick {
		return 1 << 19, 1 << 15
	}
	return 1 << 24, 1 << 15
}

// takes reckons with what a measurement takes of all subjects together, and its preparation.
func takes(quick bool) time.Duration {
	n, _ := form(quick)
	return time.Duration(n)*8*time.Microsecond + time.Second
}

const (
	library = "library"
	control = "control"
)

// A row is one comparison.
type row struct {
	Subject string `csv:"subject"`
	Code    string `csv:"code"` // the library's, or that of the negative control
	Calls   int    `csv:"calls"`
	Blocks  int    `csv:"blocks_per_call"`
	cropped
}

// A clock is how ticks are to be read.
type clock struct {
	Name              string  `csv:"clock"`
	TicksPerNano      float64 `csv:"ticks_per_ns"`
	StepTicks         float64 `csv:"step_ticks"`
	MeasurementsAsked int     `csv:"measurements"`
}

func run(ctx context.Context, r *report.Results) error {
	n, ofControl := form(r.Meta.Quick())
	step, _ := measure.Resolution()
	if err := r.CSV("clock", []clock{{measure.Clock, measure.TicksPerNanosecond(), step, n}}); err != nil {
		return err
	}
	var rows []row
	list := subjects()
	for i, s := range list {
		for _, c := range []struct {
			code string
			subject
			n int
		}{{library, s, n}, {control, s.control(s), ofControl}} {
			crops, err := compareClasses(ctx, c.subject, r.Meta.Seed, c.n)
			if err != nil {
				return err
			}
			for _, crop := range crops {
				rows = append(rows, row{s.name, c.code, s.calls, s.blocks, crop})
			}
		}
		r.Progress.At(float64(i+1) / float64(len(list)))
	}
	return r.CSV("dudect", rows)
}
