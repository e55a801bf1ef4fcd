package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
)

// writeResults writes the outcomes as a table.
func writeResults(f flags, outcomes []outcome) error {
	var b strings.Builder
	form := "full"
	if f.short {
		form = "short"
	}
	fmt.Fprintf(&b, "# Results\n\nWritten by `go run . -results`, %s: the %s form, seed %d, on %d CPUs.\n\n",
		time.Now().UTC().Format(time.DateOnly), form, f.seed, runtime.NumCPU())
	for _, v := range versions() {
		fmt.Fprintf(&b, "- %s\n", v)
	}
	fmt.Fprintf(&b, "\n%d runs: %s.\n\n", len(outcomes), sum(outcomes))
	b.WriteString("| store | fault | runs | IDs | refusals | calls | duplicates | violations | linearizable | as expected |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---|---|\n")
	rows := rowsOf(outcomes)
	for _, r := range rows {
		if r.fault.Counts {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", r.store, r.fault.Name,
			r.runs, r.ids, r.refusals, r.calls, r.duplicates, r.violations, yesNo(r.linearizable), yesNo(r.expected))
	}
	b.WriteString(legend)
	writeNumbers(&b, rows)
	b.WriteString("\n## Faults\n\n")
	for _, one := range fault.All {
		fmt.Fprintf(&b, "- **%s**: %s. Expected: %s.\n", one.Name, one.Does, one.Expect)
	}
	b.WriteString("\n## Notes\n\n")
	for _, r := range rows {
		for _, note := range r.notes {
			fmt.Fprintf(&b, "- %s on %s: %s\n", r.fault.Name, r.store, note)
		}
	}
	return os.WriteFile(f.results, []byte(b.String()), 0o644)
}

const legend = `
Refusals are attempts to make an ID, to open the store or to get a first lease that failed with a typed error; calls are
those of the store. Violations are IDs outside of the leases of the process that made them, and pairs of leases
that share a second of a node. A run is as expected if its script found what the list below says, if no refusal had
another reason than those that the fault gives, and if the checks found nothing; faults whose names begin with clone may
repeat IDs until the copy is noticed, which their scripts see to.
`

// writeNumbers writes the rows of counters as a table.
func writeNumbers(b *strings.Builder, rows []row) {
	fmt.Fprintf(b, countersLegend, worker.Most)
	b.WriteString("| store | fault | numbers | refusals | kills | lost | by kills | most in a row, in runs | duplicates | linearizable | as expected |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|\n")
	for _, r := range rows {
		if n := r.numbers; r.fault.Counts {
			fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d | %.1f | %d | %s | %s |\n", r.store, r.fault.Name, n.Issued, r.refusals,
				n.Killed, n.Lost, n.ByKills, blocks(n.Longest), n.Duplicates, yesNo(n.Linearizable == check.Linearizable), yesNo(r.expected))
		}
	}
}

// blocks returns how many blocks of the largest size numbers are.
func blocks(numbers uint64) float64 { return float64(numbers) / worker.Most }

const countersLegend = `
## Counters

Workers take numbers in runs of %d at most, or one by one with strict handles; the table says whether the calls of strict handles
are linearizable. A number is lost if it was taken from the store and never issued: its process was killed, or could not give it
back because others had taken later numbers. Lost numbers that lie side by side may be of several processes. After a loss of data
in the store, lost numbers can't be counted.

`

// A row is what came of one fault on one store.
type row struct {
	job
	runs                   int
	ids, refusals, calls   uint64
	duplicates, violations uint64
	linearizable, expected bool
	numbers                check.Numbers
	notes                  []string
}

// rowsOf sums the outcomes up, in the order of stores and faults.
func rowsOf(outcomes []outcome) []row {
	var rows []row
	for _, o := range outcomes {
		if o.skipped != nil {
			o.notes = append(o.notes, o.skipped.Error())
		}
		i := slices.IndexFunc(rows, func(r row) bool { return r.store == o.store && r.fault.Name == o.fault.Name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{job: o.job, linearizable: true, expected: true})
		}
		rows[i].add(o)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.store, b.store), a.rank()-b.rank())
	})
	return rows
}

func (r *row) add(o outcome) {
	r.runs++
	r.ids += o.Made
	for _, n := range o.refused {
		r.refusals += n
	}
	for _, n := range o.Calls {
		r.calls += n
	}
	r.duplicates += o.Duplicates
	r.numbers = o.numbers // counters have one run
	if !o.fault.Repeats {
		r.violations += o.Outside
	}
	if o.Overlap != "" {
		r.violations++
	}
	r.linearizable = r.linearizable && o.Linearizable == check.Linearizable
	r.expected = r.expected && o.err == nil && o.skipped == nil
	r.notes = append(r.notes, o.notes...)
}

// rank is the place of a row's fault among all.
func (r row) rank() int {
	return slices.IndexFunc(fault.All, func(f fault.Fault) bool { return f.Name == r.fault.Name })
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "**no**"
}

// versions says what was tested with what.
func versions() []string {
	versions := []string{runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, kernel()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "go.etcd.io/etcd/server/v3" {
				versions = append(versions, "etcd "+module.Version)
			}
		}
	}
	postgres, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian keeps it off the PATH
	for _, program := range append(postgres, "redis-server", "/usr/sbin/mariadbd", "pgbouncer") {
		if said, err := exec.Command(program, "--version").Output(); err == nil {
			first, _, _ := strings.Cut(string(said), "\n")
			versions = append(versions, first)
		}
	}
	return versions
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err.Error()
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
}
