package ulid

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/idtext"
)

// An ID is a ULID: 6 bytes of Unix milliseconds and 10 of entropy, both big-endian, so bytes sort
// in the order of the IDs. Its text form is 26 digits of Crockford's base32 in upper case, which
// sorts in the same order. An ID can be converted to and from the type of github.com/oklog/ulid/v2.
type ID [16]byte

// Compare returns -1 if id sorts before other, 0 if they are equal, and +1 otherwise.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// Fields are the contents of an ID.
type Fields struct {
	Time    time.Time // a whole millisecond, in UTC
	Entropy [10]byte  // with Version7, a UUID's version and variant too
}

// Inspect opens an ID. It works for every ID, without a secret.
func Inspect(id ID) Fields {
	return Fields{Time: time.UnixMilli(id.milliseconds()).UTC(), Entropy: [10]byte(id[6:])}
}

// Compose returns the ID with the given fields; the time is rounded down to a whole millisecond. If
// a ULID can't express the time, the error wraps ErrTime.
func Compose(f Fields) (ID, error) {
	ms, err := millisecondsOf(f.Time)
	if err != nil {
		return ID{}, err
	}
	var id ID
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	copy(id[6:], f.Entropy[:])
	return id, nil
}

// milliseconds returns the Unix milliseconds in the ID.
func (id ID) milliseconds() int64 { return int64(binary.BigEndian.Uint64(id[:]) >> 16) }

// Format prints the text form for %v, %s and %q, and the bytes for %#v and all others: %x in
// hexadecimal.
func (id ID) Format(f fmt.State, verb rune) { idtext.Format(f, verb, id.String(), [16]byte(id)) }

// String returns the text form.
func (id ID) String() string { text := id.text(); return string(text[:]) }

// AppendText appends the text form to b. Its error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	text := id.text()
	return append(b, text[:]...), nil
}

// MarshalText returns the text form; in JSON it is a string.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, textSize)) }

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// UnmarshalParam is UnmarshalText, for gin, which refuses arrays otherwise.
func (id *ID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which refuses arrays otherwise.
func (id *ID) RedisScan(src any) error { return idtext.FromRedis(src, id.UnmarshalText, errInvalidID) }

// EncodeValues adds the text form to a query, for go-querystring, which would add 16 numbers. Of the
// zero ID, which is what it passes for a nil pointer, it adds "".
func (id ID) EncodeValues(key string, query *url.Values) error {
	text := ""
	if id != (ID{}) {
		text = id.String()
	}
	query.Add(key, text)
	return nil
}

// MarshalBinary returns the ID's 16 bytes.
func (id ID) MarshalBinary() ([]byte, error) { return id[:], nil }

// UnmarshalBinary reads what MarshalBinary wrote.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != len(id) {
		return fmt.Errorf("%w: want 16 bytes, got %d", errInvalidID, len(data))
	}
	*id = ID(data)
	return nil
}

// Value returns the ID's 16 bytes, for a column such as BINARY(16) or BYTEA. For a text column take
// a TextID, and for a column of UUIDs FormatUUID(id).
func (id ID) Value() (driver.Value, error) { return id[:], nil }

// Scan reads 16 bytes, the text form of an ID, or the text form of a UUID, which drivers return for
// a column of UUIDs. It distinguishes them by their lengths, without trailing blanks of a CHAR. For
// anything else the error wraps randflake.ErrInvalidID. For a column that may be NULL use a pointer.
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
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer", errInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want 16 bytes, 26 characters or a UUID's 36", errInvalidID, src)
}

func (id *ID) scanText(text string) error {
	text = strings.TrimRight(text, " ") // of a CHAR
	if len(text) != uuidSize {
		return id.UnmarshalText([]byte(text))
	}
	parsed, err := ParseUUID(text)
	if err == nil {
		*id = parsed
	}
	return err
}

// ToDB returns the bytes that Value returns, for xorm, which would store the JSON form. It is a method of pointers as
// that of mask.UUID is.
func (id *ID) ToDB() ([]byte, error) { return id[:], nil }

// FromDB is Scan, for xorm.
func (id *ID) FromDB(data []byte) error { return id.Scan(data) }
