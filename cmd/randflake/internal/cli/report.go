package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// report prints what the IDs tell. If an ID comes twice, or is rounded, it returns errNo.
func (a *analysis) report() error {
	t := a.tally()
	w := &strings.Builder{}
	fmt.Fprintf(w, "IDs      %d, and %d lines of others\n", a.entries.len(), a.notIDs)
	if note := a.in.assumedNote(); note != "" {
		fmt.Fprintf(w, "format   %s\n", note)
	}
	none := "none that tells its time"
	if !a.isWide() && a.in.mayBeRandflake() {
		none += "; Randflake IDs need their secret: --secret-file"
	}
	fmt.Fprintf(w, "kind     %s\n", cmp.Or(a.chosen.name, none))
	isOld := a.chosen.newest.Before(a.in.now().AddDate(0, -1, 0)) // so that the kind may be wrong
	if isOld && a.runnerUp.name != "" {
		fmt.Fprintf(w, "or       %s, by which the newest are of %s\n",
			a.runnerUp.name, a.runnerUp.newest.Format(time.DateOnly))
	}
	verdict := a.entries.judge()
	a.writeVerdict(w, verdict, t.repeats)
	if verdict != surelyRounded {
		a.writeRepeats(w, t)
	}
	if a.chosen.name != "" {
		t.writeBars(w)
	}
	isGood := t.repeats == 0 && verdict != surelyRounded && a.floats == 0
	if err := a.in.print("%s", w.String()); err != nil || isGood {
		return err
	}
	return errNo
}

// writeVerdict writes which IDs a program has rounded. Of exact ones without repeats it says nothing.
func (a *analysis) writeVerdict(w io.Writer, v verdict, repeats int) {
	const cause = "a program took them for floating-point numbers, as JavaScript, pandas and Excel do: " +
		"export them as texts"
	switch {
	case v == surelyRounded:
		fmt.Fprintf(w, "rounded  all: %s\n", cause)
	case v == perhapsRounded && repeats >= a.entries.len()/10:
		fmt.Fprintf(w, "rounded  perhaps, if %s\n", cause)
	}
	if a.floats > 0 {
		fmt.Fprintf(w, "rounded  %d lines as %s: %s\n", a.floats, a.firstFloat, cause)
	}
}

// writeRepeats writes what the last digits of IDs tell.
func (a *analysis) writeRepeats(w io.Writer, t tally) {
	for _, pair := range t.examples {
		fmt.Fprintf(w, "repeat   %s in lines %d and %d\n", a.entries.text(pair[1]), pair[0].at.line(), pair[1].at.line())
	}
	fmt.Fprintf(w, "repeats  %d\n", t.repeats)
	if a.chosen.name != "" && !a.isWide() {
		t.writeWorkers(w)
	}
	if strings.HasPrefix(a.chosen.name, kindSnowflake) {
		fmt.Fprintf(w, "made     %d or more, by their sequence numbers\n", t.made)
	}
}

// writeWorkers writes how many workers made IDs, and which of them made more than one ID twice.
func (t tally) writeWorkers(w io.Writer) {
	workers := slices.Sorted(maps.Keys(t.workers))
	fmt.Fprintf(w, "workers  %d, from %d to %d\n", len(workers), workers[0], workers[len(workers)-1])
	for _, worker := range workers {
		if n := t.workers[worker]; n > 1 {
			fmt.Fprintf(w, "doubled  worker %d: two processes at once, or rows that came twice: "+
				"%d IDs have one time and sequence number\n", worker, n)
		}
	}
}

// writeBars writes how many IDs were made an hour, with a bar for each step of hours, at most 24.
func (t tally) writeBars(w io.Writer) {
	hours := slices.Sorted(maps.Keys(t.hours))
	first, last := hours[0], hours[len(hours)-1]
	step := (last-first)/24 + 1
	bars := make([]int, (last-first)/step+1)
	for h, n := range t.hours {
		bars[(h-first)/step] += n
	}
	for i, n := range bars {
		start := time.Unix((first+int64(i)*step)*3600, 0).UTC()
		bar := strings.Repeat("#", 40*n/slices.Max(bars))
		rate := fmt.Sprint(n / int(step))
		if rate == "0" && n > 0 {
			rate = "under 1"
		}
		fmt.Fprintf(w, "%s %-40s %s an hour\n", start.Format("2006-01-02T15Z"), bar, rate)
	}
}
