package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) analyzeCommand() *cobra.Command {
	a := analysis{in: newInspector(t)}
	cmd := &cobra.Command{
		Use:   "analyze",
		Short: "say what the IDs of a table tell, and which come twice",
		Args:  noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.in.settle(); err != nil {
				return wrong(cmd, "%v", err)
			}
			t.sayWhatIsRead(nil)
			if err := a.in.openCipher(); err != nil {
				return err
			}
			// Collect early, to keep the heap near the size of the entries. They have no pointers, so
			// that a collection costs little.
			defer debug.SetGCPercent(debug.SetGCPercent(10))
			if err := a.readLines(); err != nil {
				return err
			}
			a.choose()
			return a.report()
		},
	}
	a.in.flags(cmd)
	fromFlag(cmd, &a.in.from)
	return cmd
}

// An analysis is what is known of the IDs of a table: readLines reads them, choose decides what they
// are, and report says what they tell.
type analysis struct {
	in         *inspector
	entries    entries
	hasTexts   bool           // of Randflake IDs, which no other kind has
	notIDs     int            // how many lines have no ID
	floats     int            // of these, how many are floating-point numbers
	firstFloat string         // the first of them
	chosen     interpretation // the way to read the IDs
	runnerUp   interpretation // the next best, which gives other times
}

// isWide reports whether an ID has 128 bits. Then all are read as such.
func (a *analysis) isWide() bool { return a.entries.wide.n > 0 }

// longestRow bounds a row of CSV, in bytes. Columns after the first can be long.
const longestRow = 1 << 30

// readLines reads the ID at the beginning of each line, and shows on a terminal how many it has read.
func (a *analysis) readLines() error {
	progress := a.in.newProgress(a.in.stdin)
	defer progress.clear()
	lines := bufio.NewScanner(a.in.stdin)
	lines.Buffer(nil, longestRow)
	var table rows
	for n := 1; lines.Scan(); n++ {
		if n%1024 == 0 {
			progress.update(func(took time.Duration) string {
				return fmt.Sprintf("%d lines, %.0f a second", n, float64(n)/took.Seconds())
			})
		}
		text, ok := table.first(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")), n)
		if !ok {
			a.notIDs++
			continue
		}
		text = trimmed(text)
		isEmpty := text == "" || strings.EqualFold(text, "null")
		isFirst := a.entries.len()+a.notIDs == 0
		if isEmpty || isFirst && isTitle(text) {
			continue
		}
		a.add(text, n)
	}
	a.entries.sort()
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return fmt.Errorf("standard input: a line is longer than %d bytes: want an ID at its beginning", longestRow)
	case lines.Err() != nil:
		return fmt.Errorf("standard input: %w", lines.Err())
	}
	return a.checkTable(table)
}

// checkTable returns what is wrong with the table as a whole, or nil.
func (a *analysis) checkTable(table rows) error {
	switch {
	case table.quoted > 0:
		return fmt.Errorf("the quote in line %d has no end, so nothing behind it was read: "+
			"mend that line, or give the column of IDs alone", table.quoted)
	case a.entries.len() == 0 && a.floats > 0:
		return fmt.Errorf("%w: %d lines are as %s, where the last digits are lost: export the IDs as texts",
			randflake.ErrInvalidID, a.floats, a.firstFloat)
	case a.entries.len() == 0:
		return fmt.Errorf("%w: no line is an ID: want one a line, or in the first column, "+
			"before a comma, a semicolon, a bar or a tab", randflake.ErrInvalidID)
	}
	return nil
}

// add adds the ID of a line, or counts a text that is none.
func (a *analysis) add(text string, line int) {
	p := a.in.parse(text)
	if p.err != nil {
		a.notIDs++
		if isFloat(text) {
			a.floats++
			a.firstFloat = cmp.Or(a.firstFloat, text)
		}
		return
	}
	// A text with a form of one preset, such as Discord's mentions, says that the table has its IDs.
	if p.layout != "" && a.in.layout == nil && a.in.kind != kindRandflake {
		a.in.layout, _ = snowflake.ParseLayout(p.layout) // never fails for a preset
	}
	a.hasTexts = a.hasTexts || p.form == formText
	a.entries.add(p, line, text)
}
