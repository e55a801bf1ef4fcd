package main

import (
	"github.com/randflake/randflake/bench/internal/counters"
	"github.com/randflake/randflake/bench/internal/dieharder"
	"github.com/randflake/randflake/bench/internal/dudect"
	"github.com/randflake/randflake/bench/internal/latency"
	"github.com/randflake/randflake/bench/internal/ranges"
	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/scaling"
	"github.com/randflake/randflake/bench/internal/service"
	"github.com/randflake/randflake/bench/internal/throughput"
)

// chapters returns all parts of the evidence, in the order in which they run. Whoever adds one adds
// it here.
func chapters() []report.Chapter {
	return []report.Chapter{
		throughput.Chapter(),
		latency.Chapter(),
		scaling.Chapter(),
		counters.Chapter(),
		service.Chapter(),
		ranges.Chapter(),
		dudect.Chapter(),
		dieharder.Chapter(),
	}
}
