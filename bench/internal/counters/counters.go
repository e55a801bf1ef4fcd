// Package counters is the chapter that measures counters of package counter: in memory, beside a plain atomic add, and
// on each engine, beside what people take numbers from today, on the same server.
package counters

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "counters",
		About:  "what a number of a counter costs, beside what people count with instead",
		Quick:  formOf(true).takes(),
		Full:   formOf(false).takes(),
		Run:    run,
		Render: render,
	}
}

// A form says how much is measured.
type form struct {
	memoryRounds, rounds int           // in memory, and on servers
	memory               time.Duration // a slice of throughput
	calls                time.Duration // a slice of single calls
	served               time.Duration // a slice on a server
}

func formOf(quick bool) form {
	if quick {
		return form{3, 1, 50 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond}
	}
	return form{8, 4, 300 * time.Millisecond, 500 * time.Millisecond, time.Second}
}

// takes reckons with the start of servers, and with as many sources on them as there are when all are installed.
func (f form) takes() time.Duration {
	inMemory, processors := time.Duration(f.memoryRounds*len(memory())), len(measure.Doubling(runtime.GOMAXPROCS(0)))
	const starting, sources = 5 * time.Second, 25
	return inMemory*(f.memory*time.Duration(processors)+f.calls) + starting + time.Duration(f.rounds*sources)*f.served*(warmUp+1)/warmUp
}

func run(ctx context.Context, r *report.Results) error {
	f := formOf(r.Meta.Quick())
	random := rand.New(rand.NewPCG(r.Meta.Seed, 2))
	if err := runMemory(ctx, r, f, random); err != nil {
		return err
	}
	return runServed(ctx, r, f, random)
}
