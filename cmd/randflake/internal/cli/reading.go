package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// A reading has the fields of an ID, read as an ID of some kind.
type reading struct {
	kind     string
	layout   string // of a Snowflake ID
	id       string // in the text form of the kind
	decimal  string // or nothing
	time     time.Time
	timeForm string // as package time has it
	fields   []field
}

// A field is a number, or text that needs no quoting.
type field struct {
	name  string
	value any
}

// milliseconds is time.RFC3339 with milliseconds.
const milliseconds = "2006-01-02T15:04:05.000Z07:00"

func readRandflake(cipher *randflake.Cipher, id randflake.ID) reading {
	fields := cipher.Inspect(id)
	return reading{
		kind:     kindRandflake,
		id:       id.String(),
		decimal:  strconv.FormatInt(int64(id), 10),
		time:     fields.Time,
		timeForm: time.RFC3339,
		fields:   []field{{"node", fields.Node}, {"sequence", fields.Sequence}},
	}
}

func readSnowflake(layout *snowflake.Layout, id snowflake.ID) (reading, error) {
	opened, err := layout.Inspect(id)
	r := reading{
		kind:     kindSnowflake,
		layout:   layout.Name(),
		id:       id.String(),
		decimal:  id.String(),
		time:     opened.Time,
		timeForm: milliseconds,
	}
	for _, p := range layout.Parts()[1:] { // the time is the first
		value, static := opened.Static[p.Name]
		switch {
		case static:
		case p.Name == "sequence":
			value = opened.Sequence
		default:
			value = opened.Rollback
		}
		r.fields = append(r.fields, field{p.Name, value})
	}
	return r, err
}

// suspicions are the likely causes of a time in the future.
var suspicions = map[string]string{
	kindRandflake: "it was made with another secret, or forged",
	kindSnowflake: "it was made in another layout, or forged",
	kindULID:      "it was made by a clock that was ahead, or forged",
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

// snowflakeReadings returns the readings of an ID in all preset layouts in which its time is after the epoch.
func snowflakeReadings(id snowflake.ID) (all []reading) {
	for _, layout := range snowflake.Presets() {
		if r, err := readSnowflake(layout, id); err == nil && r.time.After(layout.Epoch()) {
			all = append(all, r)
		}
	}
	return all
}

// appendLine appends the reading in one line, with the kind and the layout.
func (r reading) appendLine(b []byte) []byte {
	b = fmt.Appendf(b, "%-19s  %-22s", r.id, strings.TrimSpace(r.kind+" "+r.layout))
	b = r.time.AppendFormat(append(b, "  "...), r.timeForm)
	for _, f := range r.fields {
		b = fmt.Appendf(b, "  %s %6v", f.name, f.value)
	}
	return append(b, '\n')
}

// appendRandflake appends a Randflake ID, in one line without its kind. There can be many millions of them.
func appendRandflake(b []byte, id randflake.ID, fields randflake.Fields) []byte {
	begin := len(b)
	b, _ = id.AppendText(b) // its error is always nil
	b = append(append(b, "             "[len(b)-begin:]...), "  "...)
	b = append(fields.Time.AppendFormat(b, time.RFC3339), "  node "...)
	b = append(appendPadded(b, fields.Node), "  sequence "...)
	return append(appendPadded(b, fields.Sequence), '\n')
}

// appendPadded appends a number in at least six characters.
func appendPadded(b []byte, n uint32) []byte {
	for limit := uint32(100000); limit > max(n, 1); limit /= 10 {
		b = append(b, ' ')
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

// appendJSON appends the reading as a JSON object in one line, with the kind and the layout or without.
func (r reading) appendJSON(b []byte, labelled bool, now time.Time) []byte {
	b = append(b, '{')
	if labelled {
		b = fmt.Appendf(b, `"kind":"%s",`, r.kind)
	}
	if r.layout != "" {
		b = fmt.Appendf(b, `"layout":"%s",`, r.layout)
	}
	b = fmt.Appendf(b, `"id":"%s"`, r.id)
	if r.decimal != "" {
		b = fmt.Appendf(b, `,"int":"%s"`, r.decimal)
	}
	b = fmt.Appendf(b, `,"time":"%s"`, r.time.Format(r.timeForm))
	for _, f := range r.fields {
		if text, ok := f.value.(string); ok {
			b = fmt.Appendf(b, `,"%s":"%s"`, f.name, text)
		} else {
			b = fmt.Appendf(b, `,"%s":%d`, f.name, f.value)
		}
	}
	return fmt.Appendf(b, `,"plausible":%t}`+"\n", !r.isFuture(now))
}
