package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) auditCommand() *cobra.Command {
	a := audit{inspector: newInspector(t)}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "say what the IDs of a table tell, and which come twice",
		Args:  noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.settle(); err != nil {
				return wrong(cmd, "%v", err)
			}
			t.sayWhatIsRead(nil)
			if err := a.findSecret(); err != nil {
				return err
			}
			if err := a.readLines(); err != nil {
				return err
			}
			a.choose()
			return a.report()
		},
	}
	a.flags(cmd)
	fromFlag(cmd, &a.from)
	return cmd
}

// An audit is what is known of the IDs of a table: readLines reads them, choose decides what they
// are, and report says what they tell.
type audit struct {
	*inspector
	entries  []entry  // sorted by ID, then by line
	odd      int      // how many lines are no IDs
	wide     bool     // the IDs have 128 bits
	chosen   decoding // the way to read the IDs
	runnerUp decoding // the next best, which gives other times
}

// An entry is an ID and the line that it is from.
type entry struct {
	id   ulid.ID // one of 64 bits is in the last 8 bytes
	text string
	line int
}

func (e entry) bits64() uint64 { return binary.BigEndian.Uint64(e.id[8:]) }

// longestRow bounds a row of CSV, in bytes. Columns after the first can be long.
const longestRow = 1 << 30

// readLines reads the ID at the beginning of each line.
func (a *audit) readLines() error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, longestRow)
	quoted := 0 // the line with the opening quote of a column that is still open, or 0
	for n := 1; lines.Scan(); n++ {
		before := quoted
		switch {
		case !endsInQuotes(lines.Bytes(), before > 0):
			quoted = 0
		case before == 0:
			quoted = n
		}
		if before > 0 {
			a.odd++
			continue
		}
		column, _, _ := bytes.Cut(lines.Bytes(), []byte(","))
		text := strings.TrimPrefix(string(column), "\ufeff") // a copy: the rest of the row is not kept
		text = trimmed(text)
		isEmpty := text == "" || strings.EqualFold(text, "null")
		isFirst := len(a.entries)+a.odd == 0
		if isEmpty || isFirst && isTitle(text) {
			continue
		}
		a.add(entry{text: text, line: n})
	}
	slices.SortFunc(a.entries, func(x, y entry) int {
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), x.line-y.line)
	})
	switch {
	case lines.Err() != nil:
		return lines.Err()
	case quoted > 0:
		return fmt.Errorf("the quote in line %d has no end, so nothing behind it was read: "+
			"mend that line, or give the column of IDs alone", quoted)
	case len(a.entries) == 0:
		return fmt.Errorf("%w: no line is an ID: want one a line, or in the first column of CSV, "+
			"before a comma", randflake.ErrInvalidID)
	}
	return nil
}

// endsInQuotes reports whether a line of CSV ends within a column in quotes, so that the next line
// is still of that column. inQuotes says that it begins so. Within quotes two quotes are one; a
// quote in a column without them is text.
func endsInQuotes(line []byte, inQuotes bool) bool {
	closed := -1
	for i, c := range line {
		switch {
		case c != '"':
		case inQuotes:
			inQuotes = false
			closed = i
		case i == 0 || line[i-1] == ',' || closed == i-1:
			inQuotes = true
		}
	}
	return inQuotes
}

// isTitle reports whether text is the title of a column. IDs without digits are longer than words,
// and rare.
func isTitle(text string) bool {
	word := text[len(prefixOf(text)):]
	isID := len(word) >= 12 && (isText(word) || isGosuda(word))
	return !strings.ContainsAny(text, "0123456789") && !isID
}

// add adds an ID, or counts a text that is none.
func (a *audit) add(e entry) {
	p := a.parse(e.text)
	if p.err != nil {
		a.odd++
		return
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
}
