package ulid

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
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

// ToDB returns the bytes that Value returns, for xorm, which would store the JSON form. It is a method of pointers as
// that of mask.UUID is.
func (id *ID) ToDB() ([]byte, error) { return id[:], nil }

// FromDB is Scan, for xorm.
func (id *ID) FromDB(data []byte) error { return id.Scan(data) }

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

// A TextID is an ID for a text column: its Value is the text form. Otherwise it behaves as an ID.
// An ID converts to it and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES (?)", ulid.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*ulid.TextID)(&id))
type TextID ID

// Format is that of the ID.
func (id TextID) Format(f fmt.State, verb rune) { ID(id).Format(f, verb) }

// String returns the text form.
func (id TextID) String() string { return ID(id).String() }

// MarshalText returns the text form.
func (id TextID) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// AppendText appends the text form to b. Its error is always nil.
func (id TextID) AppendText(b []byte) ([]byte, error) { return ID(id).AppendText(b) }

// UnmarshalText is Parse.
func (id *TextID) UnmarshalText(text []byte) error { return (*ID)(id).UnmarshalText(text) }

// UnmarshalParam is UnmarshalText, for gin, which refuses arrays otherwise.
func (id *TextID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which refuses arrays otherwise.
func (id *TextID) RedisScan(src any) error { return (*ID)(id).RedisScan(src) }

// EncodeValues is that of ID.
func (id TextID) EncodeValues(key string, query *url.Values) error {
	return ID(id).EncodeValues(key, query)
}

// Value returns the text form, for a text column of at least 26 characters.
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan is that of ID.
func (id *TextID) Scan(src any) error { return (*ID)(id).Scan(src) }

// ToDB returns the text form, for xorm.
func (id *TextID) ToDB() ([]byte, error) { return id.MarshalText() }

// FromDB is Scan, for xorm.
func (id *TextID) FromDB(data []byte) error { return id.Scan(data) }

// The text form is a number in base 32 with Crockford's digits: 26 digits of 5 bits. The first
// digit is at most 7.
const textSize = 26

var values = func() [256]byte {
	values := idtext.Values(idtext.Crockford)
	for c := 'A'; c <= 'Z'; c++ {
		values[c+'a'-'A'] = values[c]
	}
	return values
}()

// Parse reads the text form of an ID, in upper or lower case, as the specification has it; String
// returns upper case. For hyphens, the letters I, L, O and U, and values of more than 128 bits the
// error wraps randflake.ErrInvalidID.
func Parse(text string) (ID, error) {
	if len(text) != textSize {
		return ID{}, refusal(text)
	}
	const half = textSize / 2 // digits, of 65 bits: the first of them is always 0 in the first half
	var high, low uint64
	var all byte
	for i := range half {
		first, second := values[text[i]], values[text[half+i]]
		all |= first | second
		high = high<<5 | uint64(first)
		low = low<<5 | uint64(second)
	}
	if all == idtext.None || text[0] > '7' {
		return ID{}, refusal(text)
	}
	high = high<<1 | uint64(values[text[half]]>>4) // the bit that low had no room for
	var id ID
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, nil
}

// refusal returns what is wrong with a text that Parse refuses.
func refusal(text string) error {
	if len(text) != textSize {
		return fmt.Errorf("%w: %.64q: want %d digits, got %d bytes", errInvalidID, text, textSize, len(text))
	}
	for i := range len(text) {
		if values[text[i]] == idtext.None {
			return fmt.Errorf("%w: %q: character %d is not a digit of Crockford's base32 (0-9, A-Z without I, L, O, U)",
				errInvalidID, text, i+1)
		}
	}
	return fmt.Errorf("%w: %q is more than 128 bits: the first digit is at most 7", errInvalidID, text)
}

// MustParse is Parse for constants and tests: it panics with Parse's error.
func MustParse(text string) ID { return idtext.Must(Parse(text)) }

func (id ID) text() (text [textSize]byte) {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	for i := textSize - 1; i >= 0; i-- {
		text[i] = idtext.Crockford[low&31]
		high, low = high>>5, high<<59|low>>5
	}
	return text
}

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
	if err != nil {
		return err
	}
	*id = parsed
	return nil
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

// uuidPairs are where the two digits of each byte begin in a UUID's text.
var uuidPairs = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// hexValues are those of hexadecimal digits in either case.
var hexValues = func() [256]byte {
	values := idtext.Values("0123456789abcdef")
	for c := 'a'; c <= 'f'; c++ {
		values[c+'A'-'a'] = values[c]
	}
	return values
}()

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
