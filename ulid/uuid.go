package ulid

import (
	"encoding/hex"
	"fmt"

	"github.com/randflake/randflake/internal/idtext"
)

// uuidSize is the length of a UUID's text.
const uuidSize = 36

// FormatUUID returns the ID in the text form of UUIDs: 8-4-4-4-12 lower-case hexadecimal digits
// (RFC 9562, section 4). Texts sort in the order of the IDs.
//
// IDs that are made with [Version7] are UUIDs of version 7. Other ULIDs have random bits where a UUID has its
// version and variant: PostgreSQL's type UUID takes them in their order, but MariaDB's refuses one in four and
// sorts others wrongly, and validators refuse most of them.
//
// For columns and libraries that take the 16 bytes of a UUID, convert an ID by [16]byte(id), and
// back by ID(u). From Go 1.27 on, uuid.UUID(id) converts it to the standard library's type.
func FormatUUID(id ID) string {
	var text [uuidSize]byte
	hex.Encode(text[:8], id[:4])
	text[8] = '-'
	hex.Encode(text[9:13], id[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], id[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], id[8:10])
	text[23] = '-'
	hex.Encode(text[24:], id[10:])
	return string(text[:])
}

// ParseUUID reads what FormatUUID wrote, also in upper case: 36 characters, with hyphens, and
// nothing around them. It takes the 128 bits of a UUID of any version, but only those of version 7
// have a ULID's time: both begin with 48 bits of Unix milliseconds (RFC 9562, section 5.7). The
// Time of any other one means nothing. The error wraps randflake.ErrInvalidID.
func ParseUUID(text string) (ID, error) {
	invalid := func(why string) (ID, error) {
		return ID{}, fmt.Errorf("%w: %.64q: %s", errInvalidID, text, why)
	}
	if len(text) != uuidSize {
		return invalid(fmt.Sprintf("%d bytes, want a UUID's %d", len(text), uuidSize))
	}
	if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return invalid("want a UUID's hyphens between 8, 4, 4, 4 and 12 digits")
	}
	var id ID
	for i, at := range uuidPairs {
		high, low := hexValues[text[at]], hexValues[text[at+1]]
		if high == idtext.None || low == idtext.None {
			return invalid("want a UUID's hexadecimal digits")
		}
		id[i] = high<<4 | low
	}
	return id, nil
}

// uuidPairs are where the two digits of each byte begin in a UUID's text.
var uuidPairs = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

var hexValues = inEitherCase("0123456789ABCDEF")
