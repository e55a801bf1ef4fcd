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
	layout   string // of a Snowflake ID
	prefix   string // of a typed ID
	typeID   string // the prefix of a TypeID, without its underscore
	id       string // in the text form of the kind
	decimal  string // or "" for an ID that is no number
	time     time.Time
	timeForm string // how to write the time, for package time; "" without a time
	fields   []field
	used     float64 // the share of the fields' bits that their numbers need, for a guess

	// For an audit the number of the generator, and that of the ID among those of one worker and
	// time.
	worker, sequence uint64
}

// A field is a part of an ID, which is a number or text.
type field struct {
	name   string
	value  string
	isText bool // JSON has quotes around the value
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
		worker:   uint64(fields.Node),
		sequence: uint64(fields.Sequence),
		used:     float64(bits.Len32(fields.Node)+bits.Len32(fields.Sequence)) / (17 + 17),
	}
}

// readSnowflake reads a Snowflake ID. An error says that the ID is longer than the layout.
func readSnowflake(layout *snowflake.Layout, id snowflake.ID) (reading, error) {
	opened, err := layout.Inspect(id)
	text := id.String()
	r := reading{
		kind:     kindSnowflake,
		layout:   layout.Name(),
		id:       text,
		decimal:  text,
		time:     opened.Time,
		timeForm: milliseconds,
		sequence: opened.Sequence,
	}
	parts := layout.Parts()[1:] // the time is the first
	r.fields = make([]field, 0, len(parts))
	all, used := 0, 0
	for _, p := range parts {
		value, static := opened.Static[p.Name]
		switch {
		case static:
			r.worker = r.worker<<p.Bits | value
		case p.Name == "sequence":
			value = opened.Sequence
		default:
			value = opened.Rollback
		}
		r.fields = append(r.fields, number(p.Name, value))
		all += p.Bits
		used += bits.Len64(value)
	}
	r.used = float64(used) / float64(all)
	return r, err
}

func readULID(id ulid.ID) reading {
	fields := ulid.Inspect(id)
	return reading{
		kind:     kindULID,
		id:       id.String(),
		time:     fields.Time,
		timeForm: milliseconds,
		fields:   []field{{"entropy", hex.EncodeToString(fields.Entropy[:]), true}},
	}
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

// appendLine appends the reading in one line, which has the kind and the layout if it is labelled.
// There can be many millions of lines: it does without fmt.
func (r reading) appendLine(b []byte, labelled bool) []byte {
	const (
		longestNumber = 19 // digits of a Snowflake ID
		longestLabel  = 22 // snowflake javascript53
		mostDigits    = 6  // of a usual field
	)
	if labelled {
		b = appendColumn(b, r.id, longestNumber)
		b = appendColumn(b, strings.TrimSpace(r.kind+" "+r.layout), longestLabel)
	} else {
		b = append(b, r.prefix...)
		b = append(b, r.id...)
		b = append(b, "  "...)
	}
	if r.timeForm == "" {
		b = append(b, "no time"...)
	}
	b = r.time.AppendFormat(b, r.timeForm)
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
func (r reading) appendJSON(b []byte, now time.Time) []byte {
	all := append([]field{
		{"kind", r.kind, true},
		{"layout", r.layout, true},
		{"id", r.prefix + r.id, true},
		{"prefix", r.typeID, true},
		{"int", r.decimal, true},
		{"time", r.time.Format(r.timeForm), true},
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
	return fmt.Appendf(b, `"plausible":%t}`+"\n", !r.isFuture(now))
}
