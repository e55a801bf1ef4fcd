package cli

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A reading is what an ID says when it is read as one of some kind.
type reading struct {
	kind     string
	layout   string    // of a Snowflake ID
	prefix   string    // of a typed ID
	typeID   string    // the prefix of a TypeID, without its underscore
	id       string    // in the text form of the kind
	decimal  string    // or "" for an ID that is no number
	time     time.Time // zero for an ID without one
	fields   []field
	evidence evidence
}

// Evidence is what guesses and audits make of the fields of an ID.
type evidence struct {
	used     float64 // the share of the fields' bits that their numbers need
	worker   uint64  // the number of the generator
	sequence uint64  // that of the ID among those of one worker and time
}

// A field is a part of an ID, which is a number or text.
type field struct {
	name   string
	value  string
	isText bool // JSON has quotes around the value
}

func numberField[T uint32 | uint64](name string, value T) field {
	return field{name: name, value: strconv.FormatUint(uint64(value), 10)}
}

func textField(name, value string) field { return field{name: name, value: value, isText: true} }

func readRandflake(cipher *randflake.Cipher, id randflake.ID) reading {
	fields := cipher.Inspect(id)
	used := bits.Len32(fields.Node) + bits.Len32(fields.Sequence)
	all := bits.Len32(randflake.MaxNode) + bits.Len32(randflake.MaxSequence)
	return reading{
		kind:    kindRandflake,
		id:      id.String(),
		decimal: strconv.FormatInt(int64(id), 10),
		time:    fields.Time,
		fields:  []field{numberField("node", fields.Node), numberField("sequence", fields.Sequence)},
		evidence: evidence{
			used:     float64(used) / float64(all),
			worker:   uint64(fields.Node),
			sequence: uint64(fields.Sequence),
		},
	}
}

// readSnowflake reads a Snowflake ID. An error says that the ID is longer than the layout: then it has
// neither time nor fields.
func readSnowflake(layout *snowflake.Layout, id snowflake.ID) (reading, error) {
	opened, err := layout.Inspect(id)
	text := id.String()
	r := reading{
		kind:     kindSnowflake,
		layout:   layout.Name(),
		id:       text,
		decimal:  text,
		time:     opened.Time,
		evidence: evidence{sequence: opened.Sequence},
	}
	if err != nil {
		return r, err
	}
	parts := layout.Parts()[1:] // the time is the first
	r.fields = make([]field, 0, len(parts))
	all, used := 0, 0
	for _, p := range parts {
		value, isStatic := opened.Static[p.Name]
		switch {
		case isStatic:
			r.evidence.worker = r.evidence.worker<<p.Bits | value
		case p.Name == "sequence":
			value = opened.Sequence
		case p.Name == "rollback":
			value = opened.Rollback
		default:
			panic("cli: reading.go does not know the part " + p.Name)
		}
		r.fields = append(r.fields, numberField(p.Name, value))
		all += p.Bits
		used += bits.Len64(value)
	}
	r.evidence.used = float64(used) / float64(all)
	return r, nil
}

func readULID(id ulid.ID) reading {
	fields := ulid.Inspect(id)
	return reading{
		kind:   kindULID,
		id:     id.String(),
		time:   fields.Time,
		fields: []field{textField("entropy", hex.EncodeToString(fields.Entropy[:]))},
	}
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

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
	for _, f := range r.fields {
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

// appendJSON appends the reading as a JSON object in one line. Fields without a value are left out.
// Names and values need no escapes: they are letters, digits and signs such as the hyphen.
func (r reading) appendJSON(b []byte, now time.Time) []byte {
	all := append([]field{
		textField("kind", r.kind),
		textField("layout", r.layout),
		textField("id", r.prefix+r.id),
		textField("prefix", r.typeID),
		textField("int", r.decimal),
		textField("time", string(r.appendTime(nil))),
	}, r.fields...)
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
	// The last one has no comma, and is always there.
	return fmt.Appendf(b, `"plausible":%t}`+"\n", !r.isFuture(now))
}
