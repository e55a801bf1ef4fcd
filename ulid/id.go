package ulid

import (
	"bytes"
	"database/sql/driver"
	"fmt"
)

// An ID is a ULID: 6 bytes of Unix milliseconds and 10 of entropy, both big-endian, so that bytes sort as IDs do. Its
// text form is 26 digits of Crockford's base32 in upper case, which sorts the same. To and from the type of
// github.com/oklog/ulid/v2 it is a conversion.
type ID [16]byte

// IsZero reports whether all bytes of id are 0, as of a variable that was never set.
func (id ID) IsZero() bool { return id == ID{} }

// Compare returns -1 where id sorts before other, 0 where they are equal, and +1 otherwise.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// AppendBinary appends the ID's 16 bytes to b. Its error is always nil.
func (id ID) AppendBinary(b []byte) ([]byte, error) { return append(b, id[:]...), nil }

// MarshalBinary returns the ID's 16 bytes.
func (id ID) MarshalBinary() ([]byte, error) { return id[:], nil }

// UnmarshalBinary reads what MarshalBinary wrote.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != len(id) {
		return fmt.Errorf("%w: want 16 bytes, got %d", ErrInvalidID, len(data))
	}
	*id = ID(data)
	return nil
}

// Value returns the ID's 16 bytes, for a column such as BINARY(16) or BYTEA. For a text column pass String(), and for
// one of UUIDs FormatUUID(id).
func (id ID) Value() (driver.Value, error) { return id[:], nil }

// Scan reads an ID from a column of 16 bytes, the text form from a text column, or the text of a UUID, as drivers give a
// column of UUIDs; their lengths tell them apart. Anything else is an error that wraps ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			return id.UnmarshalBinary(v)
		}
		return id.scanText(string(v))
	case string:
		return id.scanText(v)
	case nil:
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer", ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want 16 bytes, 26 characters or a UUID's 36", ErrInvalidID, src)
}

func (id *ID) scanText(text string) error {
	if len(text) != uuidSize {
		return id.UnmarshalText([]byte(text))
	}
	parsed, err := ParseUUID(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidID, err)
	}
	*id = parsed
	return nil
}
