package cli

import "strings"

// A parser reads pasted IDs, and remembers what they were: digits alone, such as 12, are ambiguous.
// They can be the text of an ID or a decimal number, and are what the IDs before them were.
type parser struct {
	choiceOfKind
	from       string // the form of --from
	sawText    bool   // an ID that can only be text
	sawDecimal bool   // an ID that can only be a decimal number
}

// parse parses a text, and notes what it was, if only that was possible.
func (p *parser) parse(text string) parsed {
	r := p.read(text)
	switch {
	case r.err != nil:
	case r.form == formText && !isDecimal(r.text):
		p.sawText = true
	case r.form == formInt && !isAmbiguous(r.text):
		p.sawDecimal = true
	}
	return r
}

// isAmbiguous reports whether text is digits alone that mean one ID as text and another one as a
// decimal number. A single digit means the same.
func isAmbiguous(text string) bool {
	short := len(text) <= longestText
	return short && isDecimal(text) && len(strings.TrimLeft(text, "0")) > 1
}
