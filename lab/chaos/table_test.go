package chaos

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
)

// A table has a line for each fault that was tried, and one for all.
type table struct {
	mu   sync.Mutex
	rows map[string]row // by the fault's name
}

// A row is what came of one fault, or of all.
type row struct{ runs, ids, numbers, refused, duplicates uint64 }

func (t *table) add(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = make(map[string]row)
	}
	for _, name := range []string{o.fault.name, "all"} {
		r := t.rows[name]
		r.runs++
		r.ids += o.result.IDs
		r.numbers += o.result.Numbers
		r.refused += o.refused
		if o.err != nil || !o.fault.repeats {
			r.duplicates += o.result.Duplicates
		}
		t.rows[name] = r
	}
}

func (t *table) String() string {
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "fault\truns\tIDs\tnumbers\trefusals expected\tduplicates")
	write := func(name string) {
		if r, tried := t.rows[name]; tried {
			fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", name, r.runs, r.ids, r.numbers, r.refused, r.duplicates)
		}
	}
	for _, f := range faults {
		write(f.name)
	}
	write("all")
	out.Flush()
	return text.String()
}
