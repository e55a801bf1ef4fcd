package report

import (
	"bytes"
	"fmt"
	"strings"
)

// A Benchmark is one measurement in the format of the Go benchmarks, which benchstat reads.
type Benchmark struct {
	Name       string // without "Benchmark"
	Processors int
	N          int64 // how many operations were measured
	Values     []Value
}

// A Value is a figure per operation, or whatever its unit says.
type Value struct {
	Figure float64
	Unit   string
}

// Benchmarks writes measurements into the file name.txt, in the order in which they were made.
func (r *Results) Benchmarks(name string, benchmarks []Benchmark) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "goos: %s\ngoarch: %s\npkg: github.com/randflake/randflake/bench\ncpu: %s\n",
		r.Meta.GOOS, r.Meta.GOARCH, r.Meta.CPU)
	for _, b := range benchmarks {
		fmt.Fprintf(&text, "Benchmark%s-%d\t%d", strings.ReplaceAll(b.Name, " ", "_"), b.Processors, b.N)
		for _, v := range b.Values {
			fmt.Fprintf(&text, "\t%.6g %s", v.Figure, v.Unit)
		}
		text.WriteByte('\n')
	}
	return r.Text(name+".txt", text.Bytes())
}
