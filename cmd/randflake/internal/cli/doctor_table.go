package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
)

// A table is a column of IDs, in the order of its rows. Each ID takes up to 40 bytes of memory, as the list of them grows.
type table struct {
	*doctor
	inspector
	since, until time.Time // bounds, both included
	epoch        time.Time // which only numbers have that are no IDs, such as 1

	lines       *filter
	ids         []uint64
	first, last time.Time            // within the bounds
	newest      map[uint64]time.Time // of each worker, as far as the rows are read
	back        map[uint64]bool      // workers with rows that are older than an earlier one

	wrong, outside, older examples // lines that are no IDs, times out of bounds, rows that are older than an earlier one
}

// Examples count something, and show some of it.
type examples struct {
	n     int
	shown []string
}

func (e *examples) add(format string, args ...any) {
	if e.n++; len(e.shown) < 3 {
		e.shown = append(e.shown, fmt.Sprintf(format, args...))
	}
}

func (e examples) String() string { return strings.Join(e.shown, ", ") }

// tolerance is how far a generator's clock may step back.
const tolerance = 10 * time.Second

// examine reads the table in a file, and says what it shows.
func (tb *table) examine(t *tool, file string, h home) error {
	tb.epoch = time.Unix(randflake.Epoch, 0)
	if tb.layout != nil {
		tb.epoch = tb.layout.Epoch()
	} else if err := tb.findSecret(h); err != nil || tb.cipher == nil {
		return cmp.Or(err, tb.noSecret)
	}
	if tb.since.Before(tb.epoch) {
		tb.since = tb.epoch
	}
	if tb.until.IsZero() {
		tb.until = time.Now().Add(clockSkew)
	}
	input := t.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		input = f
	}
	tb.newest, tb.back = map[uint64]time.Time{}, map[uint64]bool{}
	tb.lines = &filter{tool: t, prepare: tb.open, answer: tb.note, out: bufio.NewWriter(io.Discard)}
	if err := tb.lines.lines(input); err != nil {
		return err
	}
	tb.report()
	return nil
}

// note takes the ID in text i. It answers nothing.
func (tb *table) note(b []byte, i int, text string) ([]byte, error) {
	id, at, worker, err := tb.fields(i, text)
	line := tb.lines.places[i]
	if err != nil {
		tb.wrong.add("line %d: %v", line, err)
		return b, nil
	}
	tb.ids = append(tb.ids, id)
	if at.Equal(tb.epoch) || at.Before(tb.since) || at.After(tb.until) {
		tb.outside.add("line %d: %s", line, at.Format(time.RFC3339))
		return b, nil
	}
	if tb.first.IsZero() || at.Before(tb.first) {
		tb.first = at
	}
	if at.After(tb.last) {
		tb.last = at
	}
	newest, known := tb.newest[worker]
	if late := newest.Sub(at); known && late > tolerance {
		tb.back[worker] = true
		tb.older.add("worker %d in line %d by %v", worker, line, late)
	}
	if at.After(newest) {
		tb.newest[worker] = at
	}
	return b, nil
}

// fields returns what an ID says. The parts that are the same in all IDs of a worker are the worker's number.
func (tb *table) fields(i int, text string) (id uint64, at time.Time, worker uint64, err error) {
	if tb.layout == nil {
		f := tb.raws[i].Fields()
		return uint64(tb.inspector.ids[i]), f.Time, uint64(f.Node), tb.errs[i]
	}
	parsed, err := parseSnowflake(text, tb.from)
	if err != nil {
		return 0, at, 0, err
	}
	f, err := tb.layout.Inspect(parsed)
	for _, p := range tb.layout.Parts() {
		if n, static := f.Static[p.Name]; static {
			worker = worker<<p.Bits | n
		}
	}
	return uint64(parsed), f.Time, worker, err
}

// report says what the table shows.
func (tb *table) report() {
	if tb.first.IsZero() {
		tb.say(doubtful.unless(tb.outside.n > 0), "table", "%d IDs, and not one with a time within the bounds: is it the right table?", len(tb.ids))
	} else {
		tb.say(healthy, "table", "%d IDs of %d workers, from %s to %s", len(tb.ids), len(tb.newest), tb.first.UTC().Format(time.RFC3339), tb.last.UTC().Format(time.RFC3339))
	}
	if tb.wrong.n > 0 {
		tb.say(doubtful, "table", "%d lines are no such IDs: %v", tb.wrong.n, tb.wrong)
	}
	twice := tb.twice()
	tb.say(failing.unless(twice.n == 0), "repeats", "%d IDs occur more than once%s", twice.n,
		twice.because("unless the rows do, two generators had one worker number"))
	// Under another secret, an ID's time is as likely one second of the format as another.
	outside := "they were made in another layout, counted from 1, or made by a wrong clock"
	if tb.layout == nil {
		within := tb.until.Sub(tb.since).Seconds() / float64(randflake.MaxTimestamp-randflake.Epoch)
		others := min(len(tb.ids), int(float64(tb.outside.n)/(1-within)+0.5))
		outside = fmt.Sprintf("they were made by a wrong clock, or about %d of all IDs with another secret", others)
	}
	tb.say(failing.unless(tb.outside.n == 0), "times", "%d are out of bounds%s", tb.outside.n, tb.outside.because(outside))
	if 10*tb.older.n > len(tb.ids) {
		tb.say(healthy, "workers", "the rows are not in the order in which they were made, so that shows nothing")
		return
	}
	tb.say(doubtful.unless(tb.older.n == 0), "workers", "%d of %d go back in time, in %d rows%s", len(tb.back), len(tb.newest), tb.older.n,
		tb.older.because("two generators may have had one number, and clocks that differ"))
}

// because returns the examples, and what may be the cause, if there are any.
func (e examples) because(cause string) string {
	if e.n == 0 {
		return ""
	}
	return fmt.Sprintf(": %v: %s", e, cause)
}

// twice returns the IDs that occur more than once.
func (tb *table) twice() (found examples) {
	slices.Sort(tb.ids)
	for i, n := 0, 1; i < len(tb.ids); i, n = i+n, 1 {
		for i+n < len(tb.ids) && tb.ids[i+n] == tb.ids[i] {
			n++
		}
		if n == 1 {
			continue
		}
		show := strconv.FormatInt(int64(tb.ids[i]), 10)
		if tb.text {
			show = randflake.ID(tb.ids[i]).String()
		}
		found.add("%s (%d times)", show, n)
	}
	return found
}
