package cli

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
	"github.com/randflake/randflake/ulid"
)

// A format writes IDs of one type one way.
type format[ID any] struct {
	name   string
	append func(b []byte, id ID) []byte
}

// formatOf returns the format that the user chose. The error lists all formats.
func formatOf[ID any](formats []format[ID], name string) (format[ID], error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if names[i] = f.name; name == f.name {
			return f, nil
		}
	}
	return format[ID]{}, fmt.Errorf("--format %q: want %s", name, oneOf(names))
}

var randflakeFormats = append(standard(func(b []byte, id randflake.ID) []byte { return binary.LittleEndian.AppendUint64(b, uint64(id)) }),
	format[randflake.ID]{"int", onLine(func(b []byte, id randflake.ID) []byte { return strconv.AppendInt(b, int64(id), 10) })},
	format[randflake.ID]{"hex", appendHex[randflake.ID]})

var snowflakeFormats = append(standard(func(b []byte, id snowflake.ID) []byte { return binary.BigEndian.AppendUint64(b, uint64(id)) }),
	format[snowflake.ID]{"int", onLine(func(b []byte, id snowflake.ID) []byte { return strconv.AppendUint(b, uint64(id), 10) })},
	format[snowflake.ID]{"hex", appendHex[snowflake.ID]},
	format[snowflake.ID]{"base32", onLine(bases.Append32)},
	format[snowflake.ID]{"base58", onLine(bases.Append58)},
	format[snowflake.ID]{"base62", onLine(bases.Append62)})

var ulidFormats = append(standard(func(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }),
	format[ulid.ID]{"uuid", onLine(func(b []byte, id ulid.ID) []byte { return append(b, ulid.FormatUUID(id)...) })})

// standard returns the formats of all kinds of IDs.
func standard[ID interface {
	AppendText([]byte) ([]byte, error)
}](binary func(b []byte, id ID) []byte) []format[ID] {
	// Their errors are always nil.
	text := func(b []byte, id ID) []byte { b, _ = id.AppendText(b); return b }
	return []format[ID]{
		{"text", onLine(text)},
		{"json", onLine(func(b []byte, id ID) []byte { return append(text(append(b, '"'), id), '"') })},
		{"binary", binary},
	}
}

// onLine returns a function that appends what the given one does, and ends the line.
func onLine[ID any](appendTo func(b []byte, id ID) []byte) func([]byte, ID) []byte {
	return func(b []byte, id ID) []byte { return append(appendTo(b, id), '\n') }
}

func appendHex[ID ~int64 | ~uint64](b []byte, id ID) []byte {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], uint64(id))
	return append(hex.AppendEncode(append(b, "0x"...), bytes[:]), '\n')
}
