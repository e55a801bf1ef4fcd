package cli

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// A Format writes IDs of one type one way.
type Format[ID any] struct {
	Name    string
	Longest int // bytes that Append appends at most
	Append  func(b []byte, id ID) []byte
}

// appendAll appends each of ids to b.
func (f Format[ID]) appendAll(b []byte, ids []ID) []byte {
	for _, id := range ids {
		b = f.Append(b, id)
	}
	return b
}

// formatOf returns the format that the user chose. The error lists those that there are.
func formatOf[ID any](formats []Format[ID], name string) (Format[ID], error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if names[i] = f.Name; name == f.Name {
			return f, nil
		}
	}
	return Format[ID]{}, fmt.Errorf("-format %q: want %s", name, oneOf(names))
}

var randflakeFormats = []Format[randflake.ID]{
	{"text", len("fvvvvvvvvvvvv\n"), appendText},
	{"int", len("-9223372036854775808\n"), appendInt},
	{"hex", len("0x0123456789abcdef\n"), appendHex[randflake.ID]},
	{"json", len("\"fvvvvvvvvvvvv\"\n"), appendJSON},
	{"binary", 8, appendBinary},
}

var snowflakeFormats = []Format[snowflake.ID]{
	{"text", len("18446744073709551615\n"), appendDecimal},
	{"int", len("18446744073709551615\n"), appendDecimal},
	{"hex", len("0x0123456789abcdef\n"), appendHex[snowflake.ID]},
	{"json", len("\"18446744073709551615\"\n"), appendSnowflakeJSON},
	{"binary", 8, appendBigEndian},
	{"base32", len("fvvvvvvvvvvvv\n"), onLine(snowflake.ID.AppendBase32)},
	{"base58", len("jpXCZedGfVQ\n"), onLine(snowflake.ID.AppendBase58)},
	{"base62", len("LygHa16AHYF\n"), onLine(snowflake.ID.AppendBase62)},
}

// onLine returns a function that appends what the given one does, and ends the line.
func onLine(appendTo func(snowflake.ID, []byte) []byte) func([]byte, snowflake.ID) []byte {
	return func(b []byte, id snowflake.ID) []byte { return append(appendTo(id, b), '\n') }
}

func appendText(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendText(b)
	return append(b, '\n')
}

func appendInt(b []byte, id randflake.ID) []byte {
	return append(strconv.AppendInt(b, int64(id), 10), '\n')
}

func appendDecimal(b []byte, id snowflake.ID) []byte {
	return append(strconv.AppendUint(b, uint64(id), 10), '\n')
}

func appendHex[ID ~int64 | ~uint64](b []byte, id ID) []byte {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], uint64(id))
	return append(hex.AppendEncode(append(b, "0x"...), bytes[:]), '\n')
}

func appendJSON(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendText(append(b, '"'))
	return append(b, '"', '\n')
}

func appendSnowflakeJSON(b []byte, id snowflake.ID) []byte {
	b = strconv.AppendUint(append(b, '"'), uint64(id), 10)
	return append(b, '"', '\n')
}

func appendBinary(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendBinary(b)
	return b
}

func appendBigEndian(b []byte, id snowflake.ID) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(id))
}
