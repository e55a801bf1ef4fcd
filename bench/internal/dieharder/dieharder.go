// Package dieharder is the chapter that puts IDs through Robert G. Brown's battery of tests of
// randomness. In the full form it takes almost half an hour, and as long again when it is
// repeated.
package dieharder

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "dieharder",
		About:  "IDs in the battery of dieharder",
		Quick:  20 * time.Second,
		Full:   25 * time.Minute,
		Run:    run,
		Render: render,
	}
}

const (
	ids = "IDs"
	raw = "raw values"
)

// The quick form runs some tests that are fast, each from the start of the stream, which keeps them
// repeatable. Raw values get the same in both forms: some of the other tests never end on a source
// as poor.
var fast = []string{"0", "3", "4", "8", "9", "15", "100", "205", "206"}

// batteryBytes is about how much the whole battery reads. Nine tenths are for rgb_lagged_sum alone, which
// takes 10^8 numbers of 4 bytes for each lag from 0 to 32, and as many again for each that it skips.
const batteryBytes = 240e9

// A tested is one p-value.
type tested struct {
	Source  string `csv:"source"`
	Attempt int    `csv:"attempt"`
	Seed    uint64 `csv:"seed"`
	finding
}

// An attempt is how the findings of one attempt on one source can be had again.
type attempt struct {
	Source  string `csv:"source"`
	Attempt int    `csv:"attempt"`
	description
	Tests   string  `csv:"tests"`
	Bytes   int64   `csv:"bytes_read"`
	Seconds float64 `csv:"seconds"`
}

// run makes one attempt with the seed, and another with the next one when the first fails, as the
// author of dieharder would have it: with so many p-values, chance fails some, but not twice.
func run(ctx context.Context, r *report.Results) error {
	k := keeper{r: r}
	if err := k.try(ctx, raw, 1, r.Meta.Seed, fast); err != nil {
		return err
	}
	tests := []string{everything}
	if r.Meta.Quick() {
		tests = fast
	}
	for n := 1; n <= 2; n++ {
		if err := k.try(ctx, ids, n, r.Meta.Seed+uint64(n-1), tests); err != nil {
			return err
		}
		if judge(findings(k.tested, ids, n)).Pass {
			break
		}
	}
	return nil
}

// A keeper keeps what was found after each attempt, so that little is lost when the next one fails.
type keeper struct {
	r        *report.Results
	tested   []tested
	attempts []attempt
}

func (k *keeper) try(ctx context.Context, name string, n int, seed uint64, tests []string) error {
	a := attempt{Source: name, Attempt: n, description: describe(seed), Tests: fmt.Sprint(tests)}
	began := time.Now()
	for i, test := range tests {
		stream := &counted{stream: streamOf(seed)}
		if name == raw {
			stream.stream = rawStream()
		}
		stream.progress = func(bytes int64) {
			if test == everything {
				k.r.Progress.At(min(1, float64(bytes)/batteryBytes))
			} else {
				k.r.Progress.At(float64(i) / float64(len(tests)))
			}
		}
		found, err := dieharder(ctx, test, stream)
		if err != nil {
			return err
		}
		for _, f := range found {
			k.tested = append(k.tested, tested{name, n, seed, f})
		}
		a.Bytes += stream.bytes
	}
	a.Seconds = time.Since(began).Seconds()
	k.attempts = append(k.attempts, a)
	if err := k.r.CSV("dieharder", k.tested); err != nil {
		return err
	}
	return k.r.CSV("attempts", k.attempts)
}

// findings returns those of one attempt on a source.
func findings(all []tested, source string, attempt int) (found []finding) {
	for _, t := range all {
		if t.Source == source && t.Attempt == attempt {
			found = append(found, t.finding)
		}
	}
	return found
}
