package counters

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot/vg"
)

func render(r *report.Results) error {
	costs, costsErr := report.Load[cost](r, "memory")
	single, singleErr := report.Load[calls](r, "calls")
	servers, serversErr := report.Load[server](r, "servers")
	samples, samplesErr := report.Load[sample](r, "numbers")
	if err := errors.Join(costsErr, singleErr, serversErr, samplesErr); err != nil {
		return err
	}
	found := summarize(samples)
	return errors.Join(r.Table("counters-memory", memoryTable(costs, single)), r.Table("counters-engines", engineTable(found, servers)),
		r.Table("counters-peers", peerTable(found)), picture(r, found))
}

// memoryTable tells medians over rounds. Ratios are to the yardstick in the same round, on as many processors.
func memoryTable(costs []cost, single []calls) *report.Table {
	type at struct {
		source     string
		processors int
	}
	rounds := make(map[at][]cost) // in sequence
	for _, c := range costs {
		rounds[at{c.Source, c.Processors}] = append(rounds[at{c.Source, c.Processors}], c)
	}
	t := &report.Table{Columns: []string{"source"}, Notes: "Time passed for each number, by as many goroutines as processors together, all on one counter; medians of rounds in " +
		"which all take turns. The ratio is to the " + yardstick + ", `atomic.Uint64.Add` on one word for all, in the same round. The loop that calls the source is in every figure. Percentiles are of " +
		"single calls, one after another, a reading of the clock included; those of `Fill` are for 64 numbers. `Next` and `Fill` stay within one block, and `Wait` begins with the first block, of ten."}
	for n := 1; rounds[at{yardstick, n}] != nil; n *= 2 {
		t.Columns = append(t.Columns, fmt.Sprintf("ns, GOMAXPROCS %d", n), "ratio")
	}
	t.Columns = append(t.Columns, "allocations", "p50", "p99", "p99.9", "p99.99")
	for _, s := range single {
		row := []string{s.Source}
		for n := 1; rounds[at{yardstick, n}] != nil; n *= 2 {
			var ns, ratio []float64
			for i, c := range rounds[at{s.Source, n}] {
				ns = append(ns, c.Nanoseconds)
				ratio = append(ratio, c.Nanoseconds/rounds[at{yardstick, n}][i].Nanoseconds)
			}
			row = append(row, report.Number(report.Median(ns)), report.Number(report.Median(ratio)))
		}
		row = append(row, fmt.Sprintf("%.0f", rounds[at{s.Source, 1}][0].Allocations))
		for _, ns := range []float64{s.P50, s.P99, s.P999, s.P9999} {
			row = append(row, report.Duration(ns))
		}
		t.Add(row...)
	}
	return t
}

// A line is what remains of a source's rounds.
type line struct {
	sample
	rates  []float64 // numbers a second, by round
	median float64
}

// summarize returns the sources in the order in which they are kept.
func summarize(samples []sample) (found []line) {
	for _, s := range samples {
		if s.Round == 1 {
			found = append(found, line{sample: s})
		}
		last := &found[len(found)-1]
		last.rates = append(last.rates, float64(s.Calls*s.Each)/s.Seconds)
		last.median = report.Median(last.rates)
	}
	return found
}

// find returns the line of a kind of our counters, or nil.
func find(found []line, server, kind string) *line {
	at := slices.IndexFunc(found, func(l line) bool { return l.Server == server && l.Kind == kind })
	if at < 0 {
		return nil
	}
	return &found[at]
}

// times tells how many times as many numbers l gave as other in the same round: the median.
func (l *line) times(other *line) float64 {
	ratios := make([]float64, len(l.rates))
	for i, rate := range l.rates {
		ratios[i] = rate / other.rates[i]
	}
	return report.Median(ratios)
}

func engineTable(found []line, servers []server) *report.Table {
	t := &report.Table{
		Columns: []string{"engine", "blocks, one caller", "strict numbers, 64 callers", "relaxed numbers, 64 callers"},
		Notes: "A second, by one handle; medians of rounds. Each block, whatever its size, is a durable compare-and-set, and each strict number waits for one. Servers, their data " +
			"and all callers are on one machine, without replicas.",
	}
	for _, s := range servers {
		if one := find(found, s.Name, blocks); one != nil {
			t.Add(strings.TrimSpace(s.Name+" "+s.Version), report.Number(one.median),
				report.Number(find(found, s.Name, strict).median), report.Number(find(found, s.Name, relaxed).median))
		}
		if s.Skipped != "" {
			t.Notes += fmt.Sprintf(" %s was not measured: %s.", s.Name, s.Skipped)
		}
	}
	return t
}

// peerTable compares peers with our counters on the same server.
func peerTable(found []line) *report.Table {
	t := &report.Table{Columns: []string{"server", "peer", "numbers a call", "numbers a second", "strict is", "relaxed is"}, Notes: "64 callers, each with a connection; medians of rounds. " +
		"Strict and relaxed are those of the table above, from the same server in the same round. What takes 1,000 numbers a call still has to hand them out, which is not in its figure. " +
		"*As it comes*, Redis forgets what it gave when it or its machine crashes, and gives it again; our counters refuse to begin there."}
	var best *line // of those that take a number a call, where our counters are
	for i := range found {
		l, inOrder, fromBlocks := &found[i], "", ""
		if l.Kind != peer {
			continue
		}
		if own := find(found, l.Server, relaxed); own != nil {
			fromBlocks = report.Number(own.times(l)) + " x"
			if l.Each == 1 {
				inOrder = report.Number(find(found, l.Server, strict).times(l)) + " x"
			}
			if l.Each == 1 && (best == nil || l.median > best.median) {
				best = l
			}
		}
		t.Add(l.Server, l.Source, report.Count(l.Each), report.Number(l.median), inOrder, fromBlocks)
	}
	if best != nil {
		t.Notes += fmt.Sprintf(" Of the peers that take one number a call and survive that, %s of %s is the fastest. Beside it, on any engine:", best.Source, best.Server)
		for _, kind := range []string{strict, relaxed} {
			var all []float64
			for _, l := range found {
				if l.Kind == kind {
					all = append(all, l.times(best))
				}
			}
			t.Notes += fmt.Sprintf(" %s numbers %s to %s x.", kind, report.Number(slices.Min(all)), report.Number(slices.Max(all)))
		}
	}
	return t
}

// picture draws how many numbers a second all sources give, the most on top.
func picture(r *report.Results, found []line) error {
	p := figure.New("Numbers a second, 64 callers", figure.Axis{Label: "numbers a second (log scale)", Log: true}, figure.Axis{})
	kinds := []struct {
		kind, name string
		color      int
	}{{relaxed, "package counter, relaxed", 0}, {strict, "package counter, strict", 5}, {peer, "what people use instead", 4}}
	var rows []figure.Row
	for _, k := range kinds {
		for _, l := range found {
			if l.Kind == k.kind {
				rows = append(rows, figure.Row{Name: l.Server + ": " + l.Source, Label: report.Number(l.median), Value: l.median,
					Color: figure.Colors[k.color], Own: k.kind != peer})
			}
		}
		p.Legend.Add(k.name, figure.Mark{GlyphStyle: figure.DotGlyph(figure.Colors[k.color], k.kind != peer)})
	}
	slices.SortStableFunc(rows, func(a, b figure.Row) int { return cmp.Compare(b.Value, a.Value) })
	figure.Rows(p, rows)
	p.Legend.YOffs = vg.Points(6)
	return figure.Keep(r, "counters", 640, 420, p)
}
