package randflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// An ID is a 64-bit identifier. Its decimal form is that of a signed 64-bit integer, which a BIGINT column holds; its
// text form is the unsigned value in base32hex (RFC 4648 section 7), in lower case, without padding and without leading
// zeros: 1 to 13 digits, and "0" for zero.
//
// The order of IDs means nothing: only the secret tells which one was made first.
type ID int64

// maxDigits is the length of the longest text form: 13 digits of 5 bits hold 64 bits, and the first of 13 is at most
// 'f'.
const maxDigits = 13

const base32hex = "0123456789abcdefghijklmnopqrstuv"

var digitValues = idtext.Values(base32hex)

// Parse reads the text form of an ID. Each ID has exactly one, which is what String returns: upper case, leading zeros,
// padding, white space, signs and values of more than 64 bits are errors that wrap ErrInvalidID.
func Parse(text string) (ID, error) { return parse(text) }

// MustParse is Parse for constants and tests: it panics with Parse's error.
func MustParse(text string) ID { return idtext.Must(Parse(text)) }

func parse[T string | []byte](text T) (ID, error) {
	if len(text) == 0 || len(text) > maxDigits {
		return 0, fmt.Errorf("%w: %.40q: want 1 to %d base32hex digits, got %d characters", ErrInvalidID, text, maxDigits, len(text))
	}
	var value uint64
	for i := 0; i < len(text); i++ {
		digit := digitValues[text[i]]
		if digit == idtext.None {
			return 0, fmt.Errorf("%w: %q: character %d is not a base32hex digit in lower case (0-9, a-v)", ErrInvalidID, text, i+1)
		}
		value = value<<5 | uint64(digit)
	}
	switch {
	case text[0] == '0' && len(text) > 1:
		return 0, fmt.Errorf("%w: %q: want no leading zeros", ErrInvalidID, text)
	case len(text) == maxDigits && text[0] > 'f':
		return 0, fmt.Errorf("%w: %q is more than 64 bits: the first of 13 digits is at most f", ErrInvalidID, text)
	}
	return ID(value), nil
}

// Format prints the text form for the verbs v, s and q, and the number for the others: %d the decimal form, %x that
// without a sign in hexadecimal.
func (id ID) Format(f fmt.State, verb rune) { format(f, verb, id.String(), id) }

// String returns the text form.
func (id ID) String() string {
	var buf [maxDigits]byte
	text, _ := id.AppendText(buf[:0])
	return string(text)
}

// AppendText appends the text form to b. Its error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	var text [maxDigits]byte
	at, value := maxDigits-1, uint64(id)
	for ; value >= 32; at-- {
		text[at] = base32hex[value%32]
		value /= 32
	}
	text[at] = base32hex[value]
	return append(b, text[at:]...), nil
}

// MarshalText returns the text form.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, maxDigits))
}

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error { return set(id, text) }

// UnmarshalParam is UnmarshalText, for gin and echo, which would read a decimal number otherwise.
func (id *ID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *ID) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// set assigns the ID that text stands for, or leaves id as it is.
func set[T string | []byte](id *ID, text T) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalJSON returns the text form as a JSON string: JavaScript's numbers would round the integer.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, maxDigits+2), '"')
	b, _ = id.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON is UnmarshalText of a JSON string. Numbers are refused: they can be meant as the text or as the decimal form, and
// JavaScript rounds them. By convention, null changes nothing. Fields need no ",string" in their tags: Go 1.26 reads nothing that
// has it, and Go 1.27 ignores it.
func (id *ID) UnmarshalJSON(data []byte) error {
	text, err := jsonText(data, ID(0))
	if err != nil || text == nil {
		return err
	}
	return set(id, *text)
}

// jsonText returns what a JSON string has, or nil for null. The example is an ID of the kind that is wanted.
func jsonText(data []byte, example fmt.Stringer) (*string, error) {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, fmt.Errorf("%w: %.40s: want a JSON string, as %q, and no \",string\" in the field's tag", ErrInvalidID, data, example)
	}
	return text, nil
}

// Value returns the ID as an int64, for a BIGINT column. MySQL's BIGINT UNSIGNED takes uint64(id), and a text column
// TextID(id).
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an ID from an integer column, in whatever form the driver gives it: int64, uint64 with the same 64 bits,
// or a decimal number, signed or unsigned, as text. It does not read the text form, which may look like a decimal
// number: scan a text column into a TextID. For a column that may be NULL scan into a pointer.
func (id *ID) Scan(src any) error {
	if own, ok := src.(*ID); ok && own != nil { // from ent's CreateBulk
		*id = *own
		return nil
	}
	value, err := scanInteger(src)
	if err != nil {
		return err
	}
	*id = ID(value)
	return nil
}

// scanInteger returns the 64 bits of an integer column's value. Errors do not quote the value, which may be a Raw.
func scanInteger(src any) (uint64, error) {
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
		return 0, scanError(src, "an integer column")
	}
	if err != nil {
		return 0, fmt.Errorf("%w: text that is no decimal number of 64 bits: in a text column an ID is a randflake.TextID", ErrInvalidID)
	}
	return value, nil
}

func scanError(src any, want string) error {
	if src == nil {
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer to this type, or an sql.Null of it", ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want %s", ErrInvalidID, src, want)
}

// parseDecimal reads a decimal number in the range of int64 or of uint64.
func parseDecimal[T ~string | ~[]byte](text T) (uint64, error) {
	if signed, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return uint64(signed), nil
	}
	return strconv.ParseUint(string(text), 10, 64)
}

// A Kind is a type that stands for one kind of thing that has IDs: orders, customers. It can be the struct of such a
// thing, or one without fields.
type Kind interface {
	// IDPrefix returns what the texts of these IDs begin with, before an underscore: 1 to 63 of a-z, 0-9 and _, the
	// first one a letter and the last one no underscore. If it returns "", the texts have neither prefix nor underscore.
	// It is called on a zero value, from any goroutine, and always returns the same.
	IDPrefix() string
}

// A Typed is an ID of one kind of thing. To the compiler IDs of two kinds are different types, and a text of one kind
// does not parse as another. One line declares it:
//
//	type OrderID = randflake.Typed[Order]
//
//	func (Order) IDPrefix() string { return "ord" }
//
// A program, JSON, XML and URLs have the text: the prefix, an underscore and the digits of the ID, as in
// "ord_3vgoe12ccb8gh". A database has the 64 bits. OrderID(id) and ID(orderID) convert, and lose nothing.
//
// Over a key that sorts, package mask has the same texts, for the same kinds.
type Typed[K Kind] ID

// ParseTyped reads the text of an ID of the kind K, exactly as String returns it. For anything else, also the text of
// another kind, the error wraps ErrInvalidID.
func ParseTyped[K Kind](text string) (Typed[K], error) { return parseTyped[K](text) }

func parseTyped[K Kind, T string | []byte](text T) (Typed[K], error) {
	prefix := prefixOf[K]()
	n := len(prefix)
	if n == 0 {
		id, err := parse(text)
		return Typed[K](id), err
	}
	if len(text) <= n || string(text[:n]) != prefix || text[n] != '_' {
		return 0, fmt.Errorf("%w: %.80q: want %s_ and then the digits", ErrInvalidID, text, prefix)
	}
	id, err := parse(text[n+1:])
	return Typed[K](id), err
}

// prefixOf returns the prefix of a kind. It panics if the program has one that is invalid.
func prefixOf[K Kind]() string {
	var kind K
	if any(kind) == nil { // K is an interface
		return ""
	}
	prefix := kind.IDPrefix()
	for i := range len(prefix) {
		c := prefix[i]
		letter, inner := 'a' <= c && c <= 'z', '0' <= c && c <= '9' || c == '_' && i < len(prefix)-1
		if !letter && (i == 0 || !inner) || i == 63 {
			panic(fmt.Errorf("randflake: prefix %.80q of %T: want up to 63 of a-z, 0-9 and _, a letter first and no underscore last", prefix, kind))
		}
	}
	return prefix
}

// Format prints the text for the verbs v, s and q, and the number for the others, as Format of ID does.
func (id Typed[K]) Format(f fmt.State, verb rune) { format(f, verb, id.String(), ID(id)) }

// String returns the text.
func (id Typed[K]) String() string {
	var buf [32]byte
	text, _ := id.AppendText(buf[:0])
	return string(text)
}

// AppendText appends the text to b. Its error is always nil.
func (id Typed[K]) AppendText(b []byte) ([]byte, error) {
	if prefix := prefixOf[K](); prefix != "" {
		b = append(append(b, prefix...), '_')
	}
	return ID(id).AppendText(b)
}

// MarshalText returns the text, which is also what JSON has.
func (id Typed[K]) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, 32)) }

// UnmarshalJSON is UnmarshalText of a JSON string. Numbers are refused, as they show no kind. By convention, null changes nothing.
func (id *Typed[K]) UnmarshalJSON(data []byte) error {
	text, err := jsonText(data, Typed[K](0))
	if err != nil || text == nil {
		return err
	}
	return id.UnmarshalText([]byte(*text))
}

// UnmarshalText is ParseTyped.
func (id *Typed[K]) UnmarshalText(text []byte) error {
	parsed, err := parseTyped[K](text)
	if err == nil {
		*id = parsed
	}
	return err
}

// UnmarshalParam is UnmarshalText, for gin and echo, which would read a decimal number otherwise.
func (id *Typed[K]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *Typed[K]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// Value returns the ID as an int64, for a BIGINT column.
func (id Typed[K]) Value() (driver.Value, error) { return ID(id).Value() }

// Scan reads an integer column, as Scan of ID does.
func (id *Typed[K]) Scan(src any) error { return (*ID)(id).Scan(src) }

// A TextID is an ID for a text column: its Value is the text form. Otherwise it behaves as an ID. Never compare it with an integer
// column: MariaDB and MySQL take the number that the text begins with, and "3vgoe12ccb8gh" is row 3 there, without an error. An ID
// converts to it and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES ($1)", randflake.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*randflake.TextID)(&id))
type TextID ID

// Format is that of the ID.
func (id TextID) Format(f fmt.State, verb rune) { ID(id).Format(f, verb) }

// String returns the text form.
func (id TextID) String() string { return ID(id).String() }

// MarshalText returns the text form.
func (id TextID) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText is Parse.
func (id *TextID) UnmarshalText(text []byte) error { return (*ID)(id).UnmarshalText(text) }

// UnmarshalParam is UnmarshalText, for gin and echo, which would read a decimal number otherwise.
func (id *TextID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *TextID) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// UnmarshalJSON is that of ID.
func (id *TextID) UnmarshalJSON(data []byte) error { return (*ID)(id).UnmarshalJSON(data) }

// Value returns the text form, for a text column of at least 13 characters, such as a VARCHAR(13).
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the text form from a text column, as Parse does, without the blanks that a CHAR(13) appends to shorter texts. Anything
// else is an error that wraps ErrInvalidID, integers included. For a column that may be NULL use a pointer.
func (id *TextID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return set((*ID)(id), strings.TrimRight(v, " "))
	case []byte:
		return set((*ID)(id), bytes.TrimRight(v, " "))
	}
	return scanError(src, "a text column; an ID reads integers")
}

// format prints an ID that has the given text.
func format(f fmt.State, verb rune, text string, id ID) {
	var number any = int64(id)
	if verb == 'x' || verb == 'X' {
		number = uint64(id)
	}
	idtext.Format(f, verb, text, number)
}
