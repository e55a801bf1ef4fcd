package throughput

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
)

func render(r *report.Results) error {
	samples, err := report.Load[sample](r, "throughput")
	if err != nil {
		return err
	}
	s := summarize(samples)
	for name, table := range map[string]*report.Table{
		"peers": s.table(), "peers-short": s.short(), "properties": properties(),
	} {
		if err := r.Table(name, table); err != nil {
			return err
		}
	}
	return s.picture(r)
}

// A summary is what remains of all rounds.
type summary struct {
	processors []int
	medians    map[at]medians
}

type at struct {
	source     string
	processors int
}

type medians struct{ nanoseconds, ratio, bytes, allocations float64 }

// summarize takes medians. Ratios are to the yardstick in the same round with as many processors.
func summarize(samples []sample) summary {
	type key struct{ processors, round int }
	yardstick := make(map[key]float64)
	for _, s := range samples {
		if s.Source == peers.Yardstick {
			yardstick[key{s.Processors, s.Round}] = s.Nanoseconds
		}
	}
	figures := make(map[at][4][]float64)
	sum := summary{medians: make(map[at]medians)}
	for _, s := range samples {
		k := at{s.Source, s.Processors}
		f := figures[k]
		for i, v := range []float64{s.Nanoseconds, s.Nanoseconds / yardstick[key{s.Processors, s.Round}], s.Bytes, s.Allocations} {
			f[i] = append(f[i], v)
		}
		figures[k] = f
		if !slices.Contains(sum.processors, s.Processors) {
			sum.processors = append(sum.processors, s.Processors)
		}
	}
	slices.Sort(sum.processors)
	for k, f := range figures {
		sum.medians[k] = medians{report.Median(f[0]), report.Median(f[1]), report.Median(f[2]), report.Median(f[3])}
	}
	return sum
}

func (s summary) table() *report.Table {
	t := &report.Table{Columns: []string{"source", "bits", "bytes allocated", "allocations"}, Notes: notes}
	for _, n := range s.processors {
		t.Columns = append(t.Columns, "ns per ID, "+onProcessors(n), "ratio")
	}
	for _, p := range peers.All() {
		first, ok := s.medians[at{p.Name, 1}]
		if !ok {
			continue // it is newer than the data
		}
		row := []string{p.Name, bits(p), fmt.Sprintf("%.0f", first.bytes), fmt.Sprintf("%.0f", first.allocations)}
		for _, n := range s.processors {
			m := s.medians[at{p.Name, n}]
			row = append(row, cost(p, m.nanoseconds), report.Number(m.ratio))
		}
		t.Add(row...)
	}
	return t
}

const notes = "Time passed for each ID, by as many goroutines as processors together; medians of rounds in which all " +
	"sources take turns. The ratio is to `" + peers.Yardstick + "` in the same round. The loop that calls the source " +
	"is in every figure; *the loop* is what it costs by itself. *At its limit*: the format has no more IDs a second, however fast the " +
	"code is. *Beyond its limit*: the IDs have times that are still to come. Sources that wait at their limit are not in the picture."

func (s summary) short() *report.Table {
	most := s.processors[len(s.processors)-1]
	t := &report.Table{Columns: []string{"source", "bits", "ns per ID, " + onProcessors(1), "ratio"}}
	if most > 1 {
		t.Columns = append(t.Columns, "ns per ID, "+onProcessors(most))
	}
	t.Columns = append(t.Columns, "unpredictable", "sortable")
	for _, p := range peers.All() {
		first, ok := s.medians[at{p.Name, 1}]
		if !ok || !p.Featured {
			continue
		}
		row := []string{p.Name, bits(p), cost(p, first.nanoseconds), report.Number(first.ratio)}
		if most > 1 {
			row = append(row, cost(p, s.medians[at{p.Name, most}].nanoseconds))
		}
		t.Add(append(row, p.Unpredictable, p.Sortable)...)
	}
	return t
}

func properties() *report.Table {
	t := &report.Table{
		Columns:    []string{"source", "bits", "limit", "unpredictable", "sortable", "unique by", "measured here"},
		Notes:      "Sources that are missing in the table of costs are newer than its measurement, or than its Go release.",
		Unmeasured: true,
	}
	for _, p := range peers.All() {
		t.Add(p.Name, bits(p), p.Limit, p.Unpredictable, p.Sortable, p.Unique, p.Package)
	}
	return t
}

// cost tells a cost, and when it is the limit that was measured.
func cost(p peers.Peer, nanoseconds float64) string {
	text := report.Number(nanoseconds)
	if p.PerSecond == 0 {
		return text
	}
	switch used := 1e9 / p.PerSecond / nanoseconds; {
	case used > 1.03:
		return text + " (beyond its limit)"
	case used > 0.95 || p.AtLimit:
		return text + " (at its limit)"
	}
	return text
}

func bits(p peers.Peer) string {
	if p.Bits == 0 {
		return ""
	}
	return strconv.Itoa(p.Bits)
}

func onProcessors(n int) string {
	if n == 1 {
		return "one processor"
	}
	return fmt.Sprintf("%d processors", n)
}
