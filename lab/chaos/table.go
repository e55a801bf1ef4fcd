package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
)

// writeTable writes a line for each fault, and returns how many runs failed or could not be done.
func writeTable(out io.Writer, outcomes []outcome) (failed int) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\truns\tIDs\tnumbers\trefusals expected\tduplicates\tengines")
	all := row{name: "all"}
	for i := range faults {
		r := row{name: faults[i].name}
		for _, name := range engine.Names {
			before := r
			for _, o := range outcomes {
				if o.fault == &faults[i] && o.engine == name {
					r.add(o)
					all.add(o)
				}
			}
			if r.failed > before.failed {
				name += "(FAIL)"
			}
			if r.runs > before.runs {
				r.engines += name + " "
			}
		}
		if r.runs > 0 {
			r.write(t)
		}
	}
	all.write(t)
	t.Flush()
	return all.failed
}

// A row is what came of one fault, or of all.
type row struct {
	name    string
	engines string
	runs    int
	failed  int

	ids        uint64
	numbers    uint64
	refused    uint64
	duplicates uint64
}

func (r *row) add(o outcome) {
	r.runs++
	r.ids += o.result.IDs
	r.numbers += o.result.Numbers
	r.refused += o.refused
	if o.err != nil {
		r.failed++
	}
	if o.err != nil || !o.fault.repeats {
		r.duplicates += o.result.Duplicates
	}
}

func (r row) write(out io.Writer) {
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.name, r.runs, r.ids, r.numbers, r.refused, r.duplicates, r.engines)
}
