package cli

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
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
			if err := a.readRows(); err != nil {
				return err
			}
			a.choose()
			return a.report()
		},
	}
	a.flags(cmd)
	return cmd
}

// An audit is what is known of the IDs of a table: readRows reads them, choose decides what they
// are, and report says what they tell.
type audit struct {
	*inspector
	entries  []entry  // sorted by ID, then by line
	odd      int      // how many rows have no ID
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

// readRows reads the ID in the first column of each row. A text that is ambiguous is parsed later,
// when it is known what the others are, and so is one that is wrong.
func (a *audit) readRows() error {
	end := rand.Text() // behind the last row, and a row of its own unless a quote before it has no end
	rows := csv.NewReader(io.MultiReader(a.stdin, strings.NewReader("\n"+end+"\n")))
	rows.FieldsPerRecord = -1 // any number
	rows.LazyQuotes = true    // a quote within a column is text
	rows.ReuseRecord = true
	var later []entry
	for line := 0; ; {
		row, err := rows.Read()
		switch {
		case err == io.EOF:
			return fmt.Errorf("the quote in line %d has no end, so nothing behind it was read: "+
				"mend that line, or give the column of IDs alone", line)
		case err != nil:
			return err
		}
		line, _ = rows.FieldPos(0)
		if row[0] == end {
			break
		}
		text := trimmed(strings.TrimPrefix(row[0], "\ufeff"))
		isEmpty := text == "" || strings.EqualFold(text, "null")
		isFirst := len(a.entries)+len(later) == 0
		if isEmpty || isFirst && isTitle(text) {
			continue
		}
		e := entry{text: strings.Clone(text), line: line} // the rest of the row is not kept
		if !a.add(e) {
			later = append(later, e)
		}
	}
	if !a.sawText {
		a.sawDecimal = true // digits alone are numbers, as of an auto-increment
	}
	for _, e := range later {
		if !a.add(e) {
			a.odd++
		}
	}
	if len(a.entries) == 0 {
		return fmt.Errorf("%w: no line is an ID: want one a line, or in the first column of CSV, "+
			"before a comma", randflake.ErrInvalidID)
	}
	slices.SortFunc(a.entries, func(x, y entry) int {
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), x.line-y.line)
	})
	return nil
}

// isTitle reports whether text is the title of a column. IDs without digits are longer than words,
// and rare.
func isTitle(text string) bool {
	word := text[len(prefixOf(text)):]
	return !strings.ContainsAny(text, "0123456789") && (!isText(word) || len(word) < 12)
}

// add adds an ID. It returns false if the text is no ID, or could be one of two kinds.
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
