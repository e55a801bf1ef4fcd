package cli

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A format writes IDs of one type one way.
type format[ID any] struct {
	name   string
	append func(b []byte, id ID) []byte
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

var randflakeFormats = append(formatsOf(randflakeBytes),
	format[randflake.ID]{"int", line(signed)},
	format[randflake.ID]{"hex", line(inHex[randflake.ID])},
)

var snowflakeFormats = append(formatsOf(snowflakeBytes),
	format[snowflake.ID]{"int", line(unsigned)},
	format[snowflake.ID]{"hex", line(inHex[snowflake.ID])},
	format[snowflake.ID]{"base32", line(append32)},
	format[snowflake.ID]{"base58", line(append58)},
	format[snowflake.ID]{"base62", line(append62)},
)

var ulidFormats = append(formatsOf(ulidBytes),
	format[ulid.ID]{"uuid", line(asUUID)},
)

// formatsOf returns the formats that all kinds of IDs have.
func formatsOf[ID interface {
	AppendText([]byte) ([]byte, error)
}](binary func(b []byte, id ID) []byte) []format[ID] {
	text := func(b []byte, id ID) []byte {
		b, _ = id.AppendText(b) // their errors are always nil
		return b
	}
	inJSON := func(b []byte, id ID) []byte {
		b = append(b, '"')
		b = text(b, id)
		return append(b, '"')
	}
	return []format[ID]{
		{"text", line(text)},
		{"json", line(inJSON)},
		{"binary", binary},
	}
}

// line returns a function that ends the line, too.
func line[ID any](write func(b []byte, id ID) []byte) func(b []byte, id ID) []byte {
	return func(b []byte, id ID) []byte { return append(write(b, id), '\n') }
}

func randflakeBytes(b []byte, id randflake.ID) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(id))
}

func snowflakeBytes(b []byte, id snowflake.ID) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(id))
}

func ulidBytes(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }

func signed(b []byte, id randflake.ID) []byte { return strconv.AppendInt(b, int64(id), 10) }

func unsigned(b []byte, id snowflake.ID) []byte { return strconv.AppendUint(b, uint64(id), 10) }

func asUUID(b []byte, id ulid.ID) []byte { return append(b, ulid.FormatUUID(id)...) }

func inHex[ID randflake.ID | snowflake.ID](b []byte, id ID) []byte {
	digits := binary.BigEndian.AppendUint64(nil, uint64(id))
	return hex.AppendEncode(append(b, "0x"...), digits)
}
