package library

import (
	"bytes"
	"slices"

	"github.com/randflake/randflake/bench/internal/report"
	"golang.org/x/perf/benchfmt"
)

// yardstick is the library's benchmark of a random number.
const yardstick = "RandInt64"

// A figure is a result of one benchmark in one round.
type figure struct {
	Benchmark string
	Round     int
	Value     float64
	Unit      string
}

// parse reads the output of all rounds.
func parse(text []byte) (figures []figure, err error) {
	round := make(map[[2]string]int)
	for results := benchfmt.NewReader(bytes.NewReader(text), "benchmarks"); results.Scan(); {
		switch result := results.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, result
		case *benchfmt.Result:
			name := nameOf(result.Name)
			for _, v := range wanted(result.Values) {
				value, unit := told(v)
				k := [2]string{name, unit}
				round[k]++
				figures = append(figures, figure{name, round[k], value, unit})
			}
		}
	}
	return figures, nil
}

// nameOf returns a benchmark's name without the number of processors.
func nameOf(name benchfmt.Name) string {
	base, parts := name.Parts()
	text := string(base)
	for _, part := range parts {
		if part[0] == '/' {
			text += string(part)
		}
	}
	return text
}

// wanted returns the figures for which a benchmark is there: those in units of its own, or else its
// time. Not the same told otherwise, and not memory.
func wanted(values []benchfmt.Value) (list []benchfmt.Value) {
	var time []benchfmt.Value
	for _, v := range values {
		switch _, unit := told(v); unit {
		case "MB/s", "B/op", "allocs/op":
		case "ns/op":
			time = append(time, v)
		default:
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return time
	}
	return list
}

// told returns a value as the benchmark told it, before units were made uniform.
func told(v benchfmt.Value) (float64, string) {
	if v.OrigUnit != "" {
		return v.OrigValue, v.OrigUnit
	}
	return v.Value, v.Unit
}

func render(r *report.Results) error {
	text, err := r.File("library.txt")
	if err != nil {
		return err
	}
	figures, err := parse(text)
	if err != nil {
		return err
	}
	return r.Table("library", table(figures))
}

func table(figures []figure) *report.Table {
	t := &report.Table{
		Columns: []string{"benchmark", "figure", "unit", "ratio"},
		Notes:   "Medians of rounds of all benchmarks, each round in a process of its own. The ratio is to a random number, `" + yardstick + "`, in the same round. An operation is one ID or one block, in bulk too.",
	}
	random := make(map[int]float64)
	type key struct{ benchmark, unit string }
	var order []key
	values, ratios := make(map[key][]float64), make(map[key][]float64)
	for _, f := range figures {
		if f.Benchmark == yardstick {
			random[f.Round] = f.Value
		}
	}
	for _, f := range figures {
		k := key{f.Benchmark, f.Unit}
		if !slices.Contains(order, k) {
			order = append(order, k)
		}
		values[k] = append(values[k], f.Value)
		ratios[k] = append(ratios[k], f.Value/random[f.Round])
	}
	for _, k := range order {
		ratio := ""
		if k.unit == "ns/op" {
			ratio = report.Number(report.Median(ratios[k]))
		}
		t.Add("`"+k.benchmark+"`", report.Number(report.Median(values[k])), k.unit, ratio)
	}
	return t
}
