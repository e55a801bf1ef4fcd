package service

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
)

func render(r *report.Results) error {
	samples, samplesErr := report.Load[sample](r, "samples")
	servers, serversErr := report.Load[server](r, "servers")
	memory, memoryErr := report.Load[memory](r, "memory")
	if err := errors.Join(samplesErr, serversErr, memoryErr); err != nil {
		return err
	}
	found := summarize(samples)
	return errors.Join(r.Table("service-calls", callTable(found, servers)), r.Table("service-bulk", bulkTable(found)),
		r.Table("service-renewals", renewalTable(found, servers)), r.Table("service-memory", memoryTable(memory)), picture(r, found))
}

// A line is what remains of a source's rounds.
type line struct {
	sample                  // medians, where they are told
	rates         []float64 // numbers a second, by round
	median        float64
	halves, tails []float64 // percentiles 50 and 99.9, by round
}

// summarize returns the sources in the order in which they are kept.
func summarize(samples []sample) (found []line) {
	for _, s := range samples {
		if s.Round == 1 {
			found = append(found, line{sample: s})
		}
		l := &found[len(found)-1]
		l.rates, l.halves, l.tails = append(l.rates, float64(s.Calls)*float64(s.Each)/s.Seconds), append(l.halves, s.P50), append(l.tails, s.P999)
		l.median, l.P50, l.P999 = report.Median(l.rates), report.Median(l.halves), report.Median(l.tails)
	}
	return found
}

// find returns the line of a source, or nil.
func find(found []line, is func(line) bool) *line {
	if at := slices.IndexFunc(found, is); at >= 0 {
		return &found[at]
	}
	return nil
}

// part tells how much of what other gave l gave in the same round: the median.
func (l *line) part(other *line) string {
	parts := make([]float64, len(l.rates))
	for i, rate := range l.rates {
		parts[i] = rate / other.rates[i]
	}
	return report.Number(report.Median(parts))
}

func callTable(found []line, servers []server) *report.Table {
	t := &report.Table{Columns: []string{"source", "numbers a second", "beside net/http", "p50", "p99.9"}, Notes: "64 connections, each of which asks for one ID or number " +
		"and then for the next; medians of rounds in which all take turns. All callers, and each server in a process of its own, are on one machine, and share its processors. *net/http, a counter* is a handler " +
		"that answers with a number and does nothing else, and *connect, a counter* the same by the protocol's library. *15000 a second*: a call is timed from when it is due." + skips(servers)}
	beside := find(found, func(l line) bool { return l.Source == yardstickName })
	for _, l := range found {
		if l.Kind == single || l.Kind == paced {
			t.Add(l.Source, report.Number(l.median), l.part(beside), report.Duration(l.P50), report.Duration(l.P999))
		}
	}
	return t
}

// skips says which servers are not there.
func skips(servers []server) (said string) {
	for _, s := range servers {
		if s.Skipped != "" {
			said += fmt.Sprintf(" %s was not measured: %s.", s.Name, s.Skipped)
		}
	}
	return said
}

func bulkTable(found []line) *report.Table {
	t := &report.Table{Columns: []string{"call", "IDs a call", "IDs a second", "p50", "p99.9"}, Notes: "8 connections; medians of rounds. As protobuf IDs are integers, and as JSON text. Times are those of calls."}
	for _, l := range found {
		if l.Kind == bulk {
			t.Add(l.Source, report.Count(l.Each), report.Number(l.median), report.Duration(l.P50), report.Duration(l.P999))
		}
	}
	return t
}

func renewalTable(found []line, servers []server) *report.Table {
	t := &report.Table{Columns: []string{"engine", "holders at once", "by itself", "through randflaked", "part", "p50 by itself", "p50 through randflaked"},
		Notes: "Renewals a second, each holder's next one as soon as the last one is acknowledged; medians of rounds, and of the ratio in the same round. By itself: a process with all holders and one store." + skips(servers)}
	for _, l := range found {
		if l.Kind != own {
			continue
		}
		if through := find(found, func(m line) bool { return m.Kind == remote && m.On == l.On && m.Callers == l.Callers }); through != nil {
			t.Add(l.On, report.Count(l.Callers), report.Number(l.median), report.Number(through.median), through.part(&l), report.Duration(l.P50), report.Duration(through.P50))
		}
	}
	return t
}

func memoryTable(all []memory) *report.Table {
	t := &report.Table{Columns: []string{"spaces", "when", "MiB"}, Notes: "Resident memory of randflaked. Each space has a secret and a directory of its own; all of them have leases, and have made IDs."}
	for _, m := range all {
		t.Add(report.Count(m.Spaces), m.When, report.Number(float64(m.Resident)/(1<<20)))
	}
	return t
}

// picture draws how many calls a second there are, the most on top, from zero.
func picture(r *report.Results, found []line) error {
	p := figure.New("One number a call, 64 connections", figure.Axis{Label: "calls a second"}, figure.Axis{})
	var rows []figure.Row
	for _, l := range found {
		if l.Kind == single {
			row := figure.Row{Name: l.Source, Label: report.Number(l.median), Value: l.median, Color: figure.Colors[7]}
			if row.Own = strings.HasPrefix(l.Source, ours); row.Own {
				row.Color = figure.Colors[0]
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b figure.Row) int { return cmp.Compare(b.Value, a.Value) })
	figure.Rows(p, rows)
	return figure.Keep(r, "service", 640, 260, p)
}
