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
	return cmd
}

// An audit reads the IDs of a table, decides what they are, and reports what they tell together.
type audit struct {
	*inspector
	entries  []entry  // sorted by ID, then by line
	odd      int      // lines that are no IDs
	wide     bool     // IDs of 128 bits
	decoding          // the best
	runnerUp decoding // the newest of those with other times
}

// An entry is an ID, of 64 bits in the last 8 bytes.
type entry struct {
	id   ulid.ID
	text string
	line int
}

// bits64 returns an ID of 64 bits.
func (e entry) bits64() uint64 { return binary.BigEndian.Uint64(e.id[8:]) }

// longestRow bounds a row of CSV, in bytes. Columns after the first can be long.
const longestRow = 1 << 30

// readLines reads all lines. Those that later ones explain are parsed again at the end.
func (a *audit) readLines() error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, longestRow)
	var unclear []entry
	for n := 1; lines.Scan(); n++ {
		column, _, _ := bytes.Cut(lines.Bytes(), []byte(","))
		text := trimmed(strings.TrimPrefix(string(column), "\ufeff")) // which doesn't keep the rest of the row
		if text == "" || n == 1 && isTitle(text) || strings.EqualFold(text, "null") {
			continue
		}
		e := entry{text: text, line: n}
		if !a.add(e) {
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
