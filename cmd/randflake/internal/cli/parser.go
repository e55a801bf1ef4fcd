package cli

import "strings"

// A parser reads pasted IDs, and remembers what they were: digits alone, such as 12, are ambiguous.
// They can be the text of an ID or a decimal number, and are what the other IDs are.
type parser struct {
	choiceOfKind
	from       string   // the form of --from
	sawText    bool     // an ID that can only be text
	sawDecimal bool     // an ID that can only be a decimal number
	all        []parsed // the texts of the batch
}

// parseAll parses a batch into p.all. It returns false if a text is ambiguous and later ones may
// still tell its form.
func (p *parser) parseAll(texts []string) bool {
	p.all = p.all[:0]
	for _, text := range texts {
		p.all = append(p.all, p.parse(text))
	}
	settled := true
	for i, text := range texts {
		if p.all[i].form == "" {
			p.all[i] = p.parse(text) // which has a form now, if a later text told it
			settled = settled && p.all[i].form != ""
		}
	}
	sawBoth := p.sawText && p.sawDecimal // so that no later text tells
	return settled || sawBoth
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
