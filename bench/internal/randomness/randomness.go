// Package randomness is the chapter that tests whether IDs look random: chi-square, avalanche, serial
// correlation, and the program ent.
package randomness

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "randomness",
		About:  "whether IDs look random",
		Quick:  15 * time.Second,
		Full:   80 * time.Second,
		Run:    run,
		Render: render,
	}
}

const reducedSteps = 2

// What is tested: IDs, and the negative controls.
var (
	ids     = "IDs"
	newIDs  = "randflake new"
	raw     = "raw values"
	reduced = fmt.Sprintf("SPARX of %d steps", reducedSteps)
)

// amounts are how many IDs, or trials, each test gets.
type amounts struct{ counted, compared, ent, trials int }

// enough values are enough to find out the negative controls, whatever the IDs get.
const enough = 1 << 20

func form(quick bool) amounts {
	if quick {
		return amounts{counted: 1 << 20, compared: 1 << 20, ent: 1 << 21, trials: 1 << 20}
	}
	return amounts{counted: 1 << 26, compared: 1 << 24, ent: 1 << 25, trials: 1 << 20}
}

func run(ctx context.Context, r *report.Results) error {
	return runAmounts(ctx, r, form(r.Meta.Quick()))
}

func runAmounts(ctx context.Context, r *report.Results, amount amounts) error {
	// Ent comes first: when it is not installed, that is found out at once.
	parts := []func(context.Context, *report.Results, amounts) error{runEnt, runSerial, runAvalanche, runFrequencies}
	for i, part := range parts {
		if err := part(ctx, r, amount); err != nil {
			return err
		}
		r.Progress.At(float64(i+1) / float64(len(parts)))
	}
	return nil
}
