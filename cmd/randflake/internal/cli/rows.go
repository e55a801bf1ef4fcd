package cli

import (
	"bytes"
	"strings"
)

// separators end the columns of a table: the first one that it has.
const separators = ",;\t|"

// rows finds the first column of each line of CSV, or of a table with another separator.
type rows struct {
	separator byte // or 0 before the first one
	quoted    int  // the line with the opening quote of a column that is still open, or 0
}

// first returns the first column of line n without its quotes, or false if the line is within a column in quotes.
func (r *rows) first(line []byte, n int) (column string, ok bool) {
	within := r.quoted > 0
	if !within {
		column = r.cut(line)
	}
	switch {
	case !r.endsInQuotes(line, within):
		r.quoted = 0
	case !within:
		r.quoted = n
	}
	return column, !within
}

// cut returns the first column as a copy, so that the rest of the row is not kept.
func (r *rows) cut(line []byte) string {
	if r.separator != '\t' { // where it is a tab, the first column may be empty
		line = bytes.TrimLeft(line, " \t")
	}
	framed, isFramed := bytes.CutPrefix(line, []byte("|"))
	if isFramed && bytes.HasSuffix(framed, []byte("|")) { // as mysql draws tables
		line = bytes.TrimLeft(framed, " ")
	}
	if number, ok := withCommas(line); ok {
		return string(number)
	}
	column, rest, isQuoted := cutQuoted(line)
	if !isQuoted {
		rest = line
	}
	if at := bytes.IndexAny(rest, separators); r.separator == 0 && at >= 0 {
		r.separator = rest[at]
	}
	if !isQuoted {
		column = line
		if at := bytes.IndexByte(line, r.separator); r.separator != 0 && at >= 0 {
			column = line[:at]
		}
	}
	return string(column)
}

// withCommas returns the first column of a line if it is one number with commas in it, as 1,541,815,603,606,036,480 or
// 1,54E+18, and not columns of small ones.
func withCommas(line []byte) (number []byte, ok bool) {
	if at := bytes.IndexAny(line, ";\t|"); at >= 0 {
		line = line[:at]
	}
	number = bytes.TrimSpace(line)
	if len(number) > len("-18,446,744,073,709,551,615") || bytes.IndexByte(number, ',') < 0 {
		return nil, false
	}
	isGrouped := len(number) >= len("1,000,000,000,000,000") && writtenNumber.Match(number)
	return number, isGrouped || isFloat(string(number))
}

// cutQuoted returns the column in quotes with which a line begins, and what comes after it.
func cutQuoted(line []byte) (column, rest []byte, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(`"`))
	for end := 0; ok && end < len(line); end++ {
		if line[end] != '"' {
			continue
		}
		if end+1 == len(line) || line[end+1] != '"' {
			return line[:end], line[end+1:], true
		}
		end++ // two quotes are one
	}
	return nil, nil, false
}

// endsInQuotes reports whether a line ends within a column in quotes, so that the next line is still of that column.
// inQuotes says that it begins so. Within quotes two quotes are one; a quote in a column without them is text.
func (r *rows) endsInQuotes(line []byte, inQuotes bool) bool {
	closed := -1
	for i, c := range line {
		switch {
		case c != '"':
		case inQuotes:
			inQuotes = false
			closed = i
		case i == 0 || line[i-1] == r.separator || closed == i-1:
			inQuotes = true
		}
	}
	return inQuotes
}

// isTitle reports whether text is the title of a column. IDs without digits are longer than words, and rare.
func isTitle(text string) bool {
	word := text[len(prefixOf(text)):]
	isID := len(word) >= 12 && (isText(word) || isGosuda(word))
	return !strings.ContainsAny(text, "0123456789") && !isID
}
