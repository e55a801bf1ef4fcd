package costs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// least is the smallest difference worth telling: what a subject costs depends that much on where its data happen to lie.
const least = 0.08

// Write writes a table.
func (r *Report) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d processors, %s on %s/%s\n%s\n\n", r.CPU, r.Processors, r.Go, r.OS, r.Arch, "Nanoseconds for each ID, block or call; single calls with a reading of the clock.")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "backend\tsubject\tns\tof rand.Int64\tp50\tp99\tp99.9\t\n")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t", row.Backend, row.Name, Median(row.Nanoseconds), Median(row.Ratios))
		if row.Calls == (Percentiles{}) {
			fmt.Fprint(t, "\t\t\t\n")
		} else {
			fmt.Fprintf(t, "%d\t%d\t%d\t\n", row.Calls.P50, row.Calls.P99, row.Calls.P999)
		}
	}
	return t.Flush()
}

// Check returns an error for a report that was read from elsewhere and that [Compare] can't use.
func (r *Report) Check() error {
	if len(r.Rows) == 0 {
		return errors.New("no rows")
	}
	for _, row := range r.Rows {
		if len(row.Nanoseconds) == 0 || len(row.Ratios) == 0 || slices.Min(row.Ratios) <= 0 {
			return fmt.Errorf("row %s %s has no rounds", row.Backend, row.Name)
		}
	}
	return nil
}

// A Difference is how one subject's cost differs between two reports.
type Difference struct {
	Backend, Name string
	From, To      float64 // nanoseconds, medians
	Ratio         float64 // of the costs in units of rand.Int64
	Real          bool    // more than noise
}

// Compare returns what both reports have. Costs are compared in units of rand.Int64 in the same round, since a machine's speed
// drifts. A difference is called real if each round of one report is on one side of all rounds of the other, and
// the medians are 8 % apart; all else is noise.
func Compare(from, to *Report) []Difference {
	var list []Difference
	for _, a := range from.Rows {
		i := slices.IndexFunc(to.Rows, func(b Row) bool { return b.Backend == a.Backend && b.Name == a.Name })
		if i < 0 {
			continue
		}
		b := to.Rows[i]
		d := Difference{Backend: a.Backend, Name: a.Name, From: Median(a.Nanoseconds), To: Median(b.Nanoseconds), Ratio: Median(b.Ratios) / Median(a.Ratios)}
		apart := slices.Max(a.Ratios) < slices.Min(b.Ratios) || slices.Max(b.Ratios) < slices.Min(a.Ratios)
		d.Real = apart && max(d.Ratio, 1/d.Ratio) >= 1+least
		list = append(list, d)
	}
	return list
}
