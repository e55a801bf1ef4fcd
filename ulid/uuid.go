package ulid

import (
	"encoding/hex"
	"fmt"
)

// uuidSize is the length of a UUID's text.
const uuidSize = 36

// FormatUUID returns the ID in the text form of UUIDs: 8-4-4-4-12 lower-case hexadecimal digits (RFC 9562, section 4).
// Texts sort in the order of the IDs. The text contains no UUID version: read as UUIDs, most IDs have an unknown
// version.
//
// For columns and libraries that take the 16 bytes of a UUID, convert an ID by [16]byte(id), and back by ID(u). From Go
// 1.27 on, uuid.UUID(id) converts it to the standard library's type.
func FormatUUID(id ID) string {
	text := hex.AppendEncode(make([]byte, 0, uuidSize), id[:4])
	for _, part := range [][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		text = hex.AppendEncode(append(text, '-'), part)
	}
	return string(text)
}

// ParseUUID reads what FormatUUID wrote, also in upper case. Every UUID is a valid ULID. For UUIDs of version 7 the
// time is right too, as both begin with 48 bits of Unix milliseconds (RFC 9562, section 5.7). The error wraps
// ErrInvalidUUID.
func ParseUUID(text string) (ID, error) {
	invalid := func(why string) (ID, error) {
		return ID{}, fmt.Errorf("%w: %.64q: %s", ErrInvalidUUID, text, why)
	}
	if len(text) != uuidSize {
		return invalid(fmt.Sprintf("%d bytes, want %d", len(text), uuidSize))
	}
	if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return invalid("want hyphens between 8, 4, 4, 4 and 12 digits")
	}
	var id ID
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return invalid("want hexadecimal digits")
	}
	return id, nil
}
