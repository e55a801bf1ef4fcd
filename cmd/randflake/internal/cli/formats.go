package cli

import (
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A format appends an ID to b, with the end of the line if there are lines.
type format[ID any] func(b []byte, id ID) []byte

// The formats of each type of IDs, by the words of --format.
var (
	randflakeFormats = map[string]format[randflake.ID]{
		"text":   line(inText[randflake.ID]),
		"json":   line(inJSON[randflake.ID]),
		"number": line(func(b []byte, id randflake.ID) []byte { return strconv.AppendInt(b, int64(id), 10) }),
		"hex":    line(inHex[randflake.ID]),
		"binary": func(b []byte, id randflake.ID) []byte {
			return binary.LittleEndian.AppendUint64(b, uint64(id))
		},
	}
	snowflakeFormats = map[string]format[snowflake.ID]{
		"text":     line(inText[snowflake.ID]),
		"json":     line(inJSON[snowflake.ID]),
		"number":   line(inText[snowflake.ID]),
		"hex":      line(inHex[snowflake.ID]),
		formBase32: line(base32.append),
		formBase58: line(base58.append),
		formBase62: line(base62.append),
		"binary": func(b []byte, id snowflake.ID) []byte {
			return binary.BigEndian.AppendUint64(b, uint64(id))
		},
	}
	ulidFormats = map[string]format[ulid.ID]{
		"text":   line(inText[ulid.ID]),
		"json":   line(inJSON[ulid.ID]),
		"uuid":   line(func(b []byte, id ulid.ID) []byte { return append(b, ulid.FormatUUID(id)...) }),
		"binary": func(b []byte, id ulid.ID) []byte { return append(b, id[:]...) },
	}
)

// words returns the words of --format that some IDs have.
func words[ID any](formats map[string]format[ID]) []string { return slices.Sorted(maps.Keys(formats)) }

// allFormats returns all words of --format.
func allFormats() []string {
	all := slices.Concat(words(randflakeFormats), words(snowflakeFormats), words(ulidFormats))
	slices.Sort(all)
	return slices.Compact(all)
}

// line returns a format that appends an ID as write does, and then ends the line.
func line[ID any](write func(b []byte, id ID) []byte) format[ID] {
	return func(b []byte, id ID) []byte { return append(write(b, id), '\n') }
}

func inText[ID encoding.TextAppender](b []byte, id ID) []byte {
	b, _ = id.AppendText(b) // the errors of IDs are always nil
	return b
}

func inJSON[ID encoding.TextAppender](b []byte, id ID) []byte {
	return append(inText(append(b, '"'), id), '"')
}

func inHex[ID randflake.ID | snowflake.ID](b []byte, id ID) []byte {
	digits := binary.BigEndian.AppendUint64(nil, uint64(id))
	return hex.AppendEncode(append(b, "0x"...), digits)
}
