package randflake

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/randflake/randflake/internal/idtext"
)

// An ID is a 64-bit identifier. Its decimal form is that of a signed 64-bit integer, which a BIGINT
// column holds. Its text form is 2^64 plus the unsigned value, in base 32: always 13 digits, which
// are those of RFC 4648's base32hex in lower case, 0 to 9 and a to v, and the first one a letter
// from g to v. So no text is also a number or a word such as null.
//
// The order of IDs means nothing: only with the secret can one tell when an ID was made.
type ID int64

// Parse reads the text form of an ID. Each ID has exactly one, which is what String returns. For
// anything else the error wraps ErrInvalidID, and says if the text is a decimal number, has
// capitals, or is one of gosuda/randflake.
func Parse(text string) (ID, error) { return parse(text) }

// MustParse is Parse for constants and tests: it panics with Parse's error.
func MustParse(text string) ID { return idtext.Must(Parse(text)) }

// Format prints the text form for %v, %s and %q, and the number for %#v and all others: %d the
// signed one, %x the unsigned one in hexadecimal.
func (id ID) Format(f fmt.State, verb rune) { printID(f, verb, id.String(), id) }

// printID prints an ID, or a Typed one, that has the given text.
func printID(f fmt.State, verb rune, text string, id ID) {
	var number any = int64(id)
	if verb == 'x' || verb == 'X' {
		number = uint64(id)
	}
	idtext.Format(f, verb, text, number)
}

// String returns the text form.
func (id ID) String() string {
	var buf [textLength]byte
	return string(id.appendText(buf[:0]))
}

// AppendText appends the text form to b. Its error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) { return id.appendText(b), nil }

// MarshalText returns the text form.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, textLength))
}

// UnmarshalText sets id to what Parse returns.
func (id *ID) UnmarshalText(text []byte) error { return setID(id, text) }

// setID sets id to the ID with the given text form. In case of an error it leaves id as it is.
func setID[T string | []byte](id *ID, text T) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// UnmarshalParam is UnmarshalText, for gin, which would read a decimal number otherwise.
func (id *ID) UnmarshalParam(text string) error { return setID(id, text) }

// Bind is UnmarshalText, for the parameters of oapi-codegen, which would read a decimal number
// otherwise.
func (id *ID) Bind(text string) error { return setID(id, text) }

// RedisScan is UnmarshalText, for redigo, which would read a decimal number otherwise.
func (id *ID) RedisScan(src any) error { return idtext.FromRedis(src, id.UnmarshalText, ErrInvalidID) }

// MarshalJSON returns the text form as a JSON string: JavaScript's numbers would round the integer.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, textLength+2), '"')
	return append(id.appendText(b), '"'), nil
}

// UnmarshalJSON is UnmarshalText of a JSON string. Numbers are refused, as JavaScript rounds them.
// By convention, null changes nothing.
//
// Leave ",string" out of a field's tag: with it Go 1.26 can't read the field, and Go 1.27 ignores
// it.
func (id *ID) UnmarshalJSON(data []byte) error {
	text, err := jsonText(data, ID(0))
	if err != nil || text == nil {
		return err
	}
	return setID(id, text)
}

// jsonText returns the text of a JSON string, or nil for null. Its error shows example, an ID of
// the kind that is wanted.
func jsonText(data []byte, example fmt.Stringer) ([]byte, error) {
	text, err := idtext.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %.40s: want a JSON string, as %q, and no \",string\" in the field's tag",
			ErrInvalidID, data, example)
	}
	return text, nil
}

// Value returns the ID as an int64, for a BIGINT column. MySQL's BIGINT UNSIGNED takes uint64(id),
// and a text column TextID(id).
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an ID from an integer column, in whatever form the driver gives: int64, uint64 with
// the same 64 bits, or a decimal number, signed or unsigned, as text. It does not read the text
// form: scan a text column into a TextID. For a column that may be NULL scan into a pointer.
func (id *ID) Scan(src any) error {
	// Besides columns, there is ent's CreateBulk: it hands over the key of a new row as an *ID.
	if own, ok := src.(*ID); ok && own != nil {
		*id = *own
		return nil
	}
	value, err := scanInteger(src, "an integer column, or for a text column a randflake.TextID")
	if err != nil {
		return err
	}
	*id = ID(value)
	return nil
}

// scanInteger returns the 64 bits of an integer column's value. Errors say what is wanted, and do not
// quote the value, which may be a Raw.
func scanInteger(src any, want string) (uint64, error) {
	var value uint64
	var err error
	switch v := src.(type) {
	case int64:
		return uint64(v), nil
	case uint64:
		return v, nil
	case string:
		value, err = parseDecimal(v)
	case []byte:
		value, err = parseDecimal(v)
	default:
		return 0, scanError(src, want)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: not a 64-bit decimal number: want %s", ErrInvalidID, want)
	}
	return value, nil
}

// parseDecimal reads a decimal number in the range of int64 or of uint64.
func parseDecimal[T ~string | ~[]byte](text T) (uint64, error) {
	if signed, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return uint64(signed), nil
	}
	return strconv.ParseUint(string(text), 10, 64)
}

// scanError is the error for src, which is of no type that Scan reads.
func scanError(src any, want string) error {
	if src == nil {
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer to this type, or an sql.Null of it",
			ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want %s", ErrInvalidID, src, want)
}

// textLength is the length of every text: 13 digits of 5 bits, of which the first bit is always 1.
const textLength = 13

// appendText appends the text form to b.
func (id ID) appendText(b []byte) []byte {
	const digits = idtext.Base32hex
	n := uint64(id)
	return append(b,
		digits[16|n>>60],
		digits[n>>55&31],
		digits[n>>50&31],
		digits[n>>45&31],
		digits[n>>40&31],
		digits[n>>35&31],
		digits[n>>30&31],
		digits[n>>25&31],
		digits[n>>20&31],
		digits[n>>15&31],
		digits[n>>10&31],
		digits[n>>5&31],
		digits[n&31],
	)
}

var digitValues = idtext.Values(idtext.Base32hex)

// parse is Parse of a string or of bytes. A loop would take half as long again.
func parse[T string | []byte](text T) (ID, error) {
	if len(text) != textLength {
		return 0, malformed(string(text))
	}
	v := &digitValues
	n := uint64(v[text[0]])<<60 | // without the first bit, which is shifted out
		uint64(v[text[1]])<<55 |
		uint64(v[text[2]])<<50 |
		uint64(v[text[3]])<<45 |
		uint64(v[text[4]])<<40 |
		uint64(v[text[5]])<<35 |
		uint64(v[text[6]])<<30 |
		uint64(v[text[7]])<<25 |
		uint64(v[text[8]])<<20 |
		uint64(v[text[9]])<<15 |
		uint64(v[text[10]])<<10 |
		uint64(v[text[11]])<<5 |
		uint64(v[text[12]])
	all := v[text[0]] | v[text[1]] | v[text[2]] | v[text[3]] | v[text[4]] | v[text[5]] | v[text[6]] |
		v[text[7]] | v[text[8]] | v[text[9]] | v[text[10]] | v[text[11]] | v[text[12]]
	noDigit := all > 31
	firstBit := v[text[0]] & 16
	if noDigit || firstBit == 0 {
		return 0, malformed(string(text))
	}
	return ID(n), nil
}

// malformed is the error for what is no text of an ID. It says what the text looks like.
func malformed(text string) error {
	return fmt.Errorf("%w: %.40q: %s", ErrInvalidID, text, lookOf(text))
}

func lookOf(text string) string {
	switch {
	case isDecimal(text):
		return "a decimal number: convert it to randflake.ID"
	case isGosuda(text):
		return "as gosuda/randflake prints it: compat.DecodeString reads it"
	case len(text) == textLength && strings.ContainsFunc(text, unicode.IsUpper):
		return "has capitals: want lower case"
	}
	return fmt.Sprintf("want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v, got %d bytes",
		len(text))
}

// isDecimal reports whether text is a decimal number, of any length.
func isDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isGosuda reports whether text looks as gosuda/randflake prints IDs. Those from g on may also be the
// rest of a text that lost its last digits.
func isGosuda(text string) bool {
	if text == "" || len(text) > textLength || text[0] >= 'g' {
		return false
	}
	return strings.Trim(text, idtext.Base32hex) == ""
}
