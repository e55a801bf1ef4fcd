package cli

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A reading has the fields of an ID, read as an ID of some kind.
type reading struct {
	kind     string
	layout   string // of a Snowflake ID
	prefix   string // of a typed ID
	id       string // in the text form of the kind
	decimal  string // or nothing
	time     time.Time
	timeForm string // as package time has it
	fields   []field
}

// A field is a number, or text.
type field struct {
	name, value string
	isText      bool
}

func number[T uint32 | uint64](name string, value T) field {
	return field{name: name, value: strconv.FormatUint(uint64(value), 10)}
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
		fields:   []field{number("node", fields.Node), number("sequence", fields.Sequence)},
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
		r.fields = append(r.fields, number(p.Name, value))
	}
	return r, err
}

// snowflakeReadings returns the readings of an ID in all preset layouts in which its time is after the epoch.
func snowflakeReadings(id snowflake.ID) (all []reading) {
	for _, layout := range snowflake.Presets() {
		if r, err := readSnowflake(layout, id); err == nil && r.time.After(layout.Epoch()) {
			all = append(all, r)
		}
	}
	return all
}

// isULID reports whether text is written like a ULID.
func isULID(text string) bool {
	if len(text) != 26 {
		return false
	}
	_, err := ulid.Parse(text)
	return err == nil
}

// readULID reads a ULID, in digits of either case.
func readULID(text string) (reading, error) {
	read := ulid.Parse
	if len(text) == 36 {
		read = ulid.ParseUUID // whose version 7 has the time in the same place
	}
	id, err := read(text)
	if err != nil {
		return reading{}, fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, 0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID of version 7", randflake.ErrInvalidID, text)
	}
	fields := ulid.Inspect(id)
	return reading{
		kind:     kindULID,
		id:       id.String(),
		time:     fields.Time,
		timeForm: milliseconds,
		fields:   []field{{"entropy", hex.EncodeToString(fields.Entropy[:]), true}},
	}, nil
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

// appendLine appends the reading in one line, with the kind and the layout or without. There can be many millions of them.
func (r reading) appendLine(b []byte, labelled bool) []byte {
	if labelled {
		b = appendPadded(appendPadded(b, r.id, 19), strings.TrimSpace(r.kind+" "+r.layout), 22)
	} else {
		b = appendPadded(append(b, r.prefix...), r.id, 13)
	}
	b = r.time.AppendFormat(b, r.timeForm)
	for _, f := range r.fields {
		b = append(append(append(b, "  "...), f.name...), ' ')
		b = append(append(b, strings.Repeat(" ", max(0, 6-len(f.value)))...), f.value...)
	}
	return append(b, '\n')
}

// appendPadded appends a column of a table.
func appendPadded(b []byte, text string, width int) []byte {
	return append(append(b, text...), strings.Repeat(" ", max(0, width-len(text))+2)...)
}

// appendJSON appends the reading as a JSON object in one line, with the kind and the layout or without.
func (r reading) appendJSON(b []byte, labelled bool, now time.Time) []byte {
	all := append([]field{{"id", r.prefix + r.id, true}, {"int", r.decimal, true}, {"time", r.time.Format(r.timeForm), true}}, r.fields...)
	if labelled {
		all = append([]field{{"kind", r.kind, true}, {"layout", r.layout, true}}, all...)
	}
	b = append(b, '{')
	for _, f := range all {
		switch {
		case f.value == "":
		case f.isText:
			b = fmt.Appendf(b, `"%s":"%s",`, f.name, f.value)
		default:
			b = fmt.Appendf(b, `"%s":%s,`, f.name, f.value)
		}
	}
	return fmt.Appendf(b, `"plausible":%t}`+"\n", !r.isFuture(now))
}
