package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tables returns all tables in Markdown.
func (r result) tables() string {
	var b strings.Builder
	section := func(title, notes string, rows [][]string) {
		fmt.Fprintf(&b, "## %s\n\n%s\n%s%s\n\n", title, markdown(rows), notes, r.machine())
	}
	section("What an ID costs", costNotes, r.all())
	section("What a text costs", textNotes, r.texts())
	section("How long a call takes", callNotes, r.calls())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

const (
	costNotes = "The time that passes for each ID, while each processor has a goroutine that makes them: medians of rounds, " +
		"in each of which all sources take turns. The ratio is to `" + yardstick + "` in the same round. *At its limit*: the format has no more " +
		"IDs a second, however fast the code is. *Beyond its limit*: the IDs have times that are still to come.\n\n"

	textNotes = "Reading, printing and hiding an ID, as above on one processor.\n\n"

	callNotes = "Single calls of one goroutine, with a reading of the clock in each: *the loop* is what that takes, and " +
		"at its worst, the machine. A call of `Fill` makes 1,024 IDs.\n\n"
)

// markdown returns a table whose first row is the head. Columns of numbers, or of nothing, are to the right.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		for column := range row {
			rule := "| ---: "
			for _, other := range rows[1:] {
				if cell := other[column]; cell != "" && (cell[0] < '0' || cell[0] > '9') {
					rule = "| --- "
				}
			}
			b.WriteString(rule)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// on returns the costs of a peer on one processor and on all of them.
func (r result) on(p peer) (one, all cost) {
	return r.costs[load{p.name, 1}], r.costs[load{p.name, r.processors}]
}

func (r result) all() [][]string {
	onAll := fmt.Sprintf("ns per ID, %d processors", r.processors)
	rows := [][]string{{"source", "bits", "allocations", "ns per ID, one processor", "ratio", onAll, "ratio",
		"limit, IDs a second", "what is called"}}
	for _, p := range peers {
		limit := ""
		if p.perSecond > 0 {
			limit = fmt.Sprintf("%.0f", p.perSecond)
		}
		one, all := r.on(p)
		rows = append(rows, []string{
			p.name,
			size(p),
			fmt.Sprintf("%.0f", one.allocs),
			limited(p, one.ns),
			number(one.ratio),
			limited(p, all.ns),
			number(all.ratio),
			limit,
			p.call,
		})
	}
	return rows
}

func (r result) texts() [][]string {
	rows := [][]string{{"what", "allocations", "ns", "ratio", "what is called"}}
	for _, p := range texts {
		one := r.costs[load{p.name, 1}]
		rows = append(rows, []string{p.name, fmt.Sprintf("%.0f", one.allocs), number(one.ns), number(one.ratio), p.call})
	}
	return rows
}

func (r result) calls() [][]string {
	rows := [][]string{{"source", "p50", "p99", "p99.9", "max", "calls"}}
	for _, p := range peers {
		l := r.latencies[p.name]
		row := []string{p.name}
		for _, q := range []float64{50, 99, 99.9, 100} {
			row = append(row, duration(l.ValueAtQuantile(q)))
		}
		rows = append(rows, append(row, strconv.FormatInt(l.TotalCount(), 10)))
	}
	return rows
}

// limited returns a cost, and says if the limit was measured.
func limited(p peer, ns float64) string {
	if p.perSecond > 0 {
		used := 1e9 / p.perSecond / ns
		switch {
		case used > 1.03:
			return number(ns) + " (beyond its limit)"
		case used > 0.95 || p.waits:
			return number(ns) + " (at its limit)"
		}
	}
	return number(ns)
}

func size(p peer) string {
	if p.bits == 0 {
		return ""
	}
	return strconv.Itoa(p.bits)
}

// number returns v with about three digits.
func number(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// duration returns nanoseconds, to three digits, in the unit that suits them.
func duration(ns int64) string {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
