package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/snowflake"
)

// label returns the kind and the layout.
func (r reading) label() string { return strings.TrimSpace(r.kind + " " + r.layout) }

// longestLabel is that of a preset. A layout of the user's own may have a longer one.
var longestLabel = func() (longest int) {
	for _, layout := range snowflake.Presets() {
		preset := reading{kind: kindSnowflake, layout: layout.Name()}
		longest = max(longest, len(preset.label()))
	}
	return longest
}()

// appendTime appends the time in the unit of the kind, or nothing for an ID without a time.
func (r reading) appendTime(b []byte) []byte {
	switch {
	case r.time.IsZero():
		return b
	case r.kind == kindRandflake:
		return r.time.AppendFormat(b, time.RFC3339)
	}
	return r.time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00") // the same with milliseconds
}

// appendLine appends the reading in one line, which has the kind and the layout if it is labelled.
// There can be many millions of lines: it does without fmt.
func (r reading) appendLine(b []byte, labelled bool) []byte {
	const (
		longestNumber = 19 // digits of a Snowflake ID
		mostDigits    = 6  // of a usual field
	)
	if labelled {
		b = appendColumn(b, r.id, longestNumber)
		b = appendColumn(b, r.label(), longestLabel)
	} else {
		b = append(b, r.prefix...)
		b = append(b, r.id...)
		b = append(b, "  "...)
	}
	if r.time.IsZero() {
		b = append(b, "no time"...)
	}
	b = r.appendTime(b)
	for _, f := range append(slices.Clip(r.fields), r.note) {
		if f.value == "" {
			continue
		}
		b = append(b, "  "...)
		b = append(b, f.name...)
		b = append(b, strings.Repeat(" ", max(0, mostDigits-len(f.value))+1)...)
		b = append(b, f.value...)
	}
	return append(b, '\n')
}

// appendColumn appends a column of a table, padded to width, and the gap after it.
func appendColumn(b []byte, text string, width int) []byte {
	b = append(b, text...)
	return append(b, strings.Repeat(" ", max(0, width-len(text))+2)...)
}

// appendJSON appends the reading as a JSON object in one line. Keys without a value are left out. The fields of the ID,
// whose names a layout chooses, have an object of their own.
func (r reading) appendJSON(b []byte, now time.Time) []byte {
	b = append(b, '{')
	b = appendMembers(b, []field{
		textField("kind", r.kind),
		textField("layout", r.layout),
		textField("id", r.prefix+r.id),
		textField("prefix", r.typeID),
		textField("number", r.decimal),
		textField("time", string(r.appendTime(nil))),
		r.note,
	})
	b = append(b, `"fields":{`...)
	b = bytes.TrimSuffix(appendMembers(b, r.fields), []byte(","))
	return fmt.Appendf(b, `},"plausible":%t}`+"\n", !r.isFuture(now))
}

// appendMembers appends members of a JSON object, each with a comma after it. Names and values need no escapes: they are
// letters, digits and signs such as the hyphen.
func appendMembers(b []byte, all []field) []byte {
	for _, f := range all {
		switch {
		case f.value == "":
		case f.isText:
			b = fmt.Appendf(b, `"%s":"%s",`, f.name, f.value)
		default:
			b = fmt.Appendf(b, `"%s":%s,`, f.name, f.value)
		}
	}
	return b
}
