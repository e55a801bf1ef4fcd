package cli

import (
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A format is a way to write IDs of one type. Its name is a word of --format.
type format[ID any] struct {
	name   string
	append func(b []byte, id ID) []byte
}

var randflakeFormats = []format[randflake.ID]{
	{"text", line(inText[randflake.ID])},
	{"json", line(inJSON[randflake.ID])},
	{"binary", func(b []byte, id randflake.ID) []byte {
		return binary.LittleEndian.AppendUint64(b, uint64(id))
	}},
	{"int", line(func(b []byte, id randflake.ID) []byte { return strconv.AppendInt(b, int64(id), 10) })},
	{"hex", line(inHex[randflake.ID])},
}

var snowflakeFormats = []format[snowflake.ID]{
	{"text", line(inText[snowflake.ID])},
	{"json", line(inJSON[snowflake.ID])},
	{"binary", func(b []byte, id snowflake.ID) []byte {
		return binary.BigEndian.AppendUint64(b, uint64(id))
	}},
	{"int", line(inText[snowflake.ID])},
	{"hex", line(inHex[snowflake.ID])},
	{formBase32, line(base32.append)},
	{formBase58, line(base58.append)},
	{formBase62, line(base62.append)},
}

var ulidFormats = []format[ulid.ID]{
	{"text", line(inText[ulid.ID])},
	{"json", line(inJSON[ulid.ID])},
	{"binary", func(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }},
	{"uuid", line(func(b []byte, id ulid.ID) []byte { return append(b, ulid.FormatUUID(id)...) })},
}

// formatOf returns the format that the user chose. The error lists all formats.
func formatOf[ID any](formats []format[ID], name string) (format[ID], error) {
	var names []string
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	return format[ID]{}, fmt.Errorf("--format %q: want %s", name, oneOf(names))
}

// line returns a function that writes an ID as write does, and then ends the line.
func line[ID any](write func(b []byte, id ID) []byte) func(b []byte, id ID) []byte {
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
