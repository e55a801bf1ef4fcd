package randflake

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/randflake/randflake/internal/idtext"
)

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

// UnmarshalJSON is UnmarshalText of a string. Numbers are refused, as they show no kind. By convention, null changes nothing.
func (id *Typed[K]) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%w: %.40s: want a string, as %q", ErrInvalidID, data, Typed[K](0))
	}
	if text == nil {
		return nil
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

// Value returns the ID as an int64, for a BIGINT column.
func (id Typed[K]) Value() (driver.Value, error) { return ID(id).Value() }

// Scan reads an integer column, as Scan of ID does.
func (id *Typed[K]) Scan(src any) error { return (*ID)(id).Scan(src) }

// A TextID is an ID for a text column: its Value is the text form. Otherwise it behaves as an ID. An ID converts to it
// and back, and so do pointers:
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

// UnmarshalJSON is that of ID.
func (id *TextID) UnmarshalJSON(data []byte) error { return (*ID)(id).UnmarshalJSON(data) }

// Value returns the text form, for a text column of at least 13 characters.
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the text form from a text column, as Parse does. Anything else is an error that wraps ErrInvalidID,
// integers included. For a column that may be NULL use a pointer.
func (id *TextID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return set((*ID)(id), v)
	case []byte:
		return set((*ID)(id), v)
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
