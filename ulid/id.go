package ulid

import (
	"bytes"
	"database/sql/driver"
	"fmt"
)

// An ID is a ULID: 6 bytes of Unix milliseconds and 10 of entropy, both big-endian, so bytes sort in the order of the
// IDs. Its text form is 26 digits of Crockford's base32 in upper case, which sorts in the same order. An ID can be
// converted to and from the type of github.com/oklog/ulid/v2.
type ID [16]byte

// IsZero reports whether all bytes of id are 0, as in a variable that was never set.
func (id ID) IsZero() bool { return id == ID{} }

// Compare returns -1 if id sorts before other, 0 if they are equal, and +1 otherwise.
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

// Value returns the ID's 16 bytes, for a column such as BINARY(16) or BYTEA. For a text column pass String(), and for a
// column of UUIDs FormatUUID(id).
func (id ID) Value() (driver.Value, error) { return id[:], nil }

// Scan reads 16 bytes, the text form of an ID, or the text form of a UUID, which drivers return for a column of UUIDs.
// It distinguishes them by their lengths. For anything else the error wraps ErrInvalidID. For a column that may be NULL
// use a pointer.
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
