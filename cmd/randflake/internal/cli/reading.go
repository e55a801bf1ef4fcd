package cli

import (
	"encoding/binary"
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

// What a UUID is to inspect, and a number that can be of several kinds.
const (
	kindUUID = "uuid"
	kindAny  = ""
)

// A reading has the fields of an ID, read as an ID of some kind.
type reading struct {
	kind     string
	layout   string // of a Snowflake ID
	prefix   string // of a typed ID
	typeID   string // the prefix of a TypeID, without its underscore
	id       string // in the text form of the kind
	decimal  string // or nothing
	time     time.Time
	timeForm string // as package time has it
	fields   []field
	used     float64 // which share of the fields' bits is used, counted from the lowest
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
		used:     float64(bits.Len32(fields.Node)+bits.Len32(fields.Sequence)) / 34,
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
	all, some := 0, 0
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
		all += p.Bits
		some += bits.Len64(value)
	}
	r.used = float64(some) / float64(all)
	return r, err
}

func ulidReading(id ulid.ID) reading {
	fields := ulid.Inspect(id)
	return reading{
		kind:     kindULID,
		id:       id.String(),
		time:     fields.Time,
		timeForm: milliseconds,
		fields:   []field{{"entropy", hex.EncodeToString(fields.Entropy[:]), true}},
	}
}

// uuidReadings reads a UUID by its variant and version (RFC 9562). A ULID in this form can look like any.
func uuidReadings(p parsed, now time.Time) []reading {
	id := p.wide
	r := reading{kind: kindUUID, id: ulid.FormatUUID(id), typeID: strings.TrimSuffix(p.prefix, "_")}
	if id == (ulid.ID{}) || id == ulid.ID([]byte(strings.Repeat("\xff", 16))) {
		return []reading{r} // that of no thing, and the last one
	}
	asULID := ulidReading(id)
	version := uint32(id[6] >> 4)
	if id[8]>>6 != 0b10 || version > 8 {
		version = 0 // of an older variant
	}
	if version > 0 {
		r.fields = []field{number("version", version)}
	}
	low, middle, high := uint64(binary.BigEndian.Uint32(id[:])), uint64(binary.BigEndian.Uint16(id[4:])), uint64(binary.BigEndian.Uint16(id[6:])&0xfff)
	switch version {
	case 1:
		r.time, r.timeForm = gregorian(high<<48|middle<<32|low), milliseconds
	case 6:
		r.time, r.timeForm = gregorian(low<<28|middle<<12|high), milliseconds
	case 7:
		r.time, r.timeForm = asULID.time, milliseconds
		return []reading{r}
	}
	if asULID.isFuture(now) {
		return []reading{r}
	}
	asULID.fields = append(asULID.fields, field{"if", "a ULID", true})
	if r.isFuture(now) {
		return []reading{asULID}
	}
	return []reading{r, asULID}
}

// gregorian returns the time of a UUID of version 1 or 6, in 100 nanoseconds since 1582-10-15.
func gregorian(ticks uint64) time.Time {
	const unix = 0x01b21dd213814000 // RFC 9562, appendix A
	since := int64(ticks) - unix
	return time.Unix(since/1e7, since%1e7*100).UTC()
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
	if r.timeForm == "" {
		b = append(b, "no time"...)
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
	all := append([]field{
		{"id", r.prefix + r.id, true},
		{"prefix", r.typeID, true},
		{"int", r.decimal, true},
		{"time", r.time.Format(r.timeForm), true},
	}, r.fields...)
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
