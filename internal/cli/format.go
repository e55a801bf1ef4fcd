package cli

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/randflake/randflake"
)

// A format writes IDs one way.
type format struct {
	longest int // bytes of the longest ID
	append  func(b []byte, id randflake.ID) []byte
}

var formatNames = []string{"text", "int", "hex", "json", "binary"}

func formatOf(name string) format {
	switch name {
	case "text":
		return format{len("fvvvvvvvvvvvv\n"), appendText}
	case "int":
		return format{len("-9223372036854775808\n"), appendInt}
	case "hex":
		return format{len("0x0123456789abcdef\n"), appendHex}
	case "json":
		return format{len("\"fvvvvvvvvvvvv\"\n"), appendJSON}
	default:
		return format{8, appendBinary}
	}
}

// appendAll appends each of ids to b.
func (f format) appendAll(b []byte, ids []randflake.ID) []byte {
	for _, id := range ids {
		b = f.append(b, id)
	}
	return b
}

func appendText(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendText(b)
	return append(b, '\n')
}

func appendInt(b []byte, id randflake.ID) []byte {
	return append(strconv.AppendInt(b, int64(id), 10), '\n')
}

func appendHex(b []byte, id randflake.ID) []byte {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], uint64(id))
	return append(hex.AppendEncode(append(b, "0x"...), bytes[:]), '\n')
}

func appendJSON(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendText(append(b, '"'))
	return append(b, '"', '\n')
}

func appendBinary(b []byte, id randflake.ID) []byte {
	b, _ = id.AppendBinary(b)
	return b
}
