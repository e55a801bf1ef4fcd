package report

import "strings"

// A Table is text in rows and columns.
type Table struct {
	Columns []string
	Rows    [][]string
	Notes   string // a sentence or two below it, or nothing

	Unmeasured bool // it says nothing that depends on a machine
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Markdown returns the table in Markdown, the first column to the left and columns of numbers to
// the right.
func (t *Table) Markdown() string {
	var b strings.Builder
	line(&b, t.Columns)
	rules := make([]string, len(t.Columns))
	for i := range rules {
		rules[i] = "---"
		if t.numeric(i) {
			rules[i] = "---:"
		}
	}
	line(&b, rules)
	for _, row := range t.Rows {
		line(&b, row)
	}
	if t.Notes != "" {
		b.WriteString("\n" + t.Notes + "\n")
	}
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteString(" " + cell + " |")
	}
	b.WriteByte('\n')
}

// numeric reports whether a column has numbers, or nothing, in all rows.
func (t *Table) numeric(column int) bool {
	for _, row := range t.Rows {
		if cell := row[column]; cell != "" && (cell[0] < '0' || cell[0] > '9') {
			return false
		}
	}
	return len(t.Rows) > 0
}
