package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) auditCommand() *cobra.Command {
	a := audit{inspector: inspector{tool: t, now: time.Now, parser: parser{from: formAuto}}}
	var h home
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "say what the IDs of a table tell, and which come twice",
		Long: `Say what IDs tell, which are lines of standard input or the first column of CSV:
which come twice, when and by which workers they were made, how many there are
at least, and the rate. Without --layout it is the one with the newest times that
are not in the future, of those that have not ended; if these are old, another
layout is named too. The exit status is 1 if an ID comes twice.`,
		Example: "  psql -Atc 'SELECT id FROM orders' | randflake audit",
		Args:    noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.settle(h); err != nil {
				return wrong(cmd, "%v", err)
			}
			t.sayWhatIsRead(nil)
			if err := a.findSecret(h); err != nil {
				return err
			}
			if err := a.readLines(); err != nil {
				return err
			}
			a.choose()
			return a.print(a.tally())
		},
	}
	kindFlags(cmd, &a.choiceOfKind)
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// An entry is an ID, of 64 bits in the last 8 bytes.
type entry struct {
	id   ulid.ID
	text string
	line int
}

// A decoder returns what an ID tells: Unix milliseconds, the number of its worker, and which ID of both it is.
type decoder func(id ulid.ID) (ms int64, worker, sequence uint64)

// A decoding is a way to read all IDs.
type decoding struct {
	name   string // what they are; empty if they tell no time
	newest int64  // of the samples, in milliseconds
	decode decoder
}

type audit struct {
	inspector
	decoding          // the best
	runnerUp decoding // the newest of those with other times
	entries  []entry  // sorted
	odd      int      // lines that are no IDs
	wide     bool     // IDs of 128 bits
}

// longestRow bounds a row of CSV, in bytes. Columns after the first can be long.
const longestRow = 1 << 30

// readLines reads all lines. Those that later ones explain are parsed again at the end.
func (a *audit) readLines() error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, longestRow)
	var unclear []entry
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), ",")
		text = trimmed(text)
		if text == "" || n == 1 && isTitle(text) || strings.EqualFold(text, "null") {
			continue
		}
		if e := (entry{text: text, line: n}); !a.add(e) {
			unclear = append(unclear, e)
		}
	}
	if !a.sawText {
		a.sawDecimal = true // digits alone are numbers, as of an auto-increment
	}
	for _, e := range unclear {
		if !a.add(e) {
			a.odd++
		}
	}
	slices.SortFunc(a.entries, func(x, y entry) int { return cmp.Or(bytes.Compare(x.id[:], y.id[:]), x.line-y.line) })
	if len(a.entries) == 0 && lines.Err() == nil {
		return fmt.Errorf("%w: no line is an ID", randflake.ErrInvalidID)
	}
	return lines.Err()
}

// isTitle reports whether text is the title of a column. IDs without digits are longer than words, and rare.
func isTitle(text string) bool {
	word := text[len(prefixOf(text)):]
	return !strings.ContainsAny(text, "0123456789") && (!isText(word) || len(word) < 12)
}

// add adds an ID, if its text is one.
func (a *audit) add(e entry) bool {
	p := a.parse(e.text)
	if p.err != nil {
		return false
	}
	if p.isWide() {
		e.id = p.wide
		a.wide = true
	} else {
		binary.BigEndian.PutUint64(e.id[8:], uint64(p.id))
	}
	if p.layout != "" && a.layout == nil && a.kind != kindRandflake {
		a.layout, _ = snowflake.ParseLayout(p.layout)
	}
	a.entries = append(a.entries, e)
	return true
}

// choose sets how IDs are read: as Randflakes where their secret is known, or in the layout with the newest times.
func (a *audit) choose() {
	a.decode = func(ulid.ID) (ms int64, worker, sequence uint64) { return 0, 0, 0 }
	ofULID := func(id ulid.ID) (int64, uint64, uint64) { return ulid.Inspect(id).Time.UnixMilli(), 0, 0 }
	ofRandflake := func(id ulid.ID) (int64, uint64, uint64) {
		f := a.cipher.Inspect(randflake.ID(binary.BigEndian.Uint64(id[8:])))
		return f.Time.UnixMilli(), uint64(f.Node), uint64(f.Sequence)
	}
	switch {
	case a.wide:
		a.try("ULIDs, or UUIDs of version 7", time.UnixMilli(0), ofULID)
	case a.layout != nil:
		a.try(kindSnowflake+" "+a.layout.Name(), a.layout.Epoch(), decoderOf(a.layout))
	case a.cipher != nil && a.try(kindRandflake, time.Unix(randflake.Epoch, 0), ofRandflake), a.kind == kindRandflake:
	default:
		for _, l := range snowflake.Presets() {
			if l.Expires().Before(a.now()) {
				continue // all positive numbers are of its past, random ones too
			}
			a.try(kindSnowflake+" "+l.Name(), l.Epoch(), decoderOf(l))
		}
	}
}

const samples = 9 // how many IDs are read to choose the layout of all

// try chooses a way to read IDs if it dates all samples in the past, and the newest of them later than the ways before.
func (a *audit) try(name string, epoch time.Time, decode decoder) (ok bool) {
	first, last := epoch.AddDate(0, 1, 0).UnixMilli(), a.now().Add(clockSkew).UnixMilli() // small numbers are times soon after the epoch
	newest := int64(0)
	for i := range samples {
		middle := (len(a.entries) - 1) * (2*i + 1) / (2 * samples) // of one of as many parts
		ms, _, _ := decode(a.entries[middle].id)
		if ms < first || ms > last {
			return false
		}
		newest = max(newest, ms)
	}
	d := decoding{name, newest, decode}
	switch {
	case d.newest > a.newest:
		a.runnerUp = a.decoding
		a.decoding = d
	case d.newest < a.newest && d.newest > a.runnerUp.newest:
		a.runnerUp = d
	}
	return true
}

// decoderOf reads a layout. What differs between generators is the number of a worker.
func decoderOf(l *snowflake.Layout) decoder {
	parts := l.Parts()
	return func(id ulid.ID) (ms int64, worker, sequence uint64) {
		f, err := l.Inspect(snowflake.ID(binary.BigEndian.Uint64(id[8:])))
		if err != nil {
			return 0, 0, 0
		}
		for _, p := range parts {
			if value, static := f.Static[p.Name]; static {
				worker = worker<<p.Bits | value
			}
		}
		return f.Time.UnixMilli(), worker, f.Sequence
	}
}

// A tally is what all IDs tell together.
type tally struct {
	repeats  int
	examples [][2]entry     // the first repeats
	doubled  map[uint64]int // how many repeats each worker has; 0 for most
	made     uint64         // at least, by the sequence numbers
	hours    map[int64]int  // how many IDs are of each
}

func (a *audit) tally() tally {
	const hour = 3_600_000
	t := tally{doubled: map[uint64]int{}, hours: map[int64]int{}}
	made := map[[2]uint64]uint64{} // in a millisecond, by a worker
	for i, e := range a.entries {
		ms, worker, sequence := a.decode(e.id)
		t.hours[ms/hour]++
		at := [2]uint64{uint64(ms), worker}
		if n := made[at]; n <= sequence {
			t.made += sequence + 1 - n
			made[at] = sequence + 1
		}
		t.doubled[worker] += 0 // so that it has all workers
		if i == 0 || a.entries[i-1].id != e.id {
			continue
		}
		t.doubled[worker]++
		t.repeats++
		if t.repeats <= 5 {
			t.examples = append(t.examples, [2]entry{a.entries[i-1], e})
		}
	}
	return t
}

// print prints the report. An ID that comes twice is an error, which the report shows.
func (a *audit) print(t tally) error {
	w := bufio.NewWriter(a.stdout)
	fmt.Fprintf(w, "IDs      %d, and %d lines of others\nkind     %s\n", len(a.entries), a.odd, cmp.Or(a.name, "none that tells its time"))
	if isOld := time.UnixMilli(a.newest).Before(a.now().AddDate(0, -1, 0)); isOld && a.runnerUp.name != "" {
		fmt.Fprintf(w, "or       %s, by which the newest are of %s\n", a.runnerUp.name, time.UnixMilli(a.runnerUp.newest).UTC().Format(time.DateOnly))
	}
	for _, pair := range t.examples {
		fmt.Fprintf(w, "repeat   %s in lines %d and %d\n", pair[1].text, pair[0].line, pair[1].line)
	}
	fmt.Fprintf(w, "repeats  %d\n", t.repeats)
	if a.name != "" && !a.wide {
		t.printWorkers(w)
	}
	if strings.HasPrefix(a.name, kindSnowflake) {
		fmt.Fprintf(w, "made     %d or more, by their sequence numbers\n", t.made)
	}
	if a.name != "" {
		writeBars(w, t.hours)
	}
	if err := outputError(w.Flush()); err != nil || t.repeats == 0 {
		return err
	}
	return errReported
}

// printWorkers prints which workers made IDs, and which of them made some twice.
func (t tally) printWorkers(w io.Writer) {
	workers := slices.Sorted(maps.Keys(t.doubled))
	fmt.Fprintf(w, "workers  %d, from %d to %d\n", len(workers), workers[0], workers[len(workers)-1])
	for _, worker := range workers {
		if n := t.doubled[worker]; n > 1 {
			fmt.Fprintf(w, "doubled  worker %d: two processes at once, or rows that came twice: %d IDs have one time and sequence number\n", worker, n)
		}
	}
}

// writeBars writes how many IDs were made an hour, in at most 24 lines.
func writeBars(w io.Writer, hours map[int64]int) {
	all := slices.Sorted(maps.Keys(hours))
	first, last := all[0], all[len(all)-1]
	step := (last-first)/24 + 1
	bars := make([]int, (last-first)/step+1)
	for h, n := range hours {
		bars[(h-first)/step] += n
	}
	for i, n := range bars {
		start := time.Unix((first+int64(i)*step)*3600, 0).UTC()
		fmt.Fprintf(w, "%s %-40s %d an hour\n", start.Format("2006-01-02T15Z"), strings.Repeat("#", 40*n/slices.Max(bars)), n/int(step))
	}
}
