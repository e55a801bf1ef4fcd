package randflake

import (
	"database/sql/driver"
	"fmt"

	"github.com/randflake/randflake/internal/idtext"
)

// A Kind is a type that stands for one kind of thing that has IDs, such as orders or customers. It
// can be the struct of such a thing, or one without fields.
type Kind interface {
	// IDPrefix returns what stands before an underscore in the texts of these IDs: 1 to 63 of a-z,
	// 0-9 and _, the first one a letter and the last one no underscore. If it returns "", the texts
	// have neither prefix nor underscore. It is called on a zero value, from any goroutine, and
	// must always return the same.
	IDPrefix() string
}

// A Typed is an ID of one kind of thing. To the compiler IDs of two kinds are different types, and
// the text of an ID of one kind does not parse as that of another. One line declares such a type:
//
//	type OrderID = randflake.Typed[Order]
//
//	func (Order) IDPrefix() string { return "ord" }
//
// A program, JSON, XML and URLs have the text: the prefix, an underscore and the digits of the ID,
// as in "ord_jvgoe12ccb8gh". A database has the 64 bits. OrderID(id) and ID(orderID) convert, and
// lose nothing.
//
// Package mask has the same texts, for the same kinds, over keys that sort.
type Typed[K Kind] ID

// ParseTyped reads the text of an ID of the kind K, exactly as String returns it. For any other
// text, such as that of another kind, the error wraps ErrInvalidID.
func ParseTyped[K Kind](text string) (Typed[K], error) { return parseTyped[K](text) }

func parseTyped[K Kind, T string | []byte](text T) (Typed[K], error) {
	prefix := prefixOf[K]()
	n := len(prefix)
	if n == 0 {
		id, err := parse(text)
		return Typed[K](id), err
	}
	ofKind := len(text) > n && string(text[:n]) == prefix && text[n] == '_'
	if !ofKind {
		return 0, fmt.Errorf("%w: %.80q: want %s_ and then the digits", ErrInvalidID, text, prefix)
	}
	id, err := parse(text[n+1:])
	return Typed[K](id), err
}

// prefixOf returns the prefix of a kind. It panics if the prefix is invalid.
func prefixOf[K Kind]() string {
	var kind K
	if any(kind) == nil { // K is an interface type, as Kind itself: it has no prefix
		return ""
	}
	prefix := kind.IDPrefix()
	if prefix != "" && !idtext.IsPrefix(prefix) {
		panic(fmt.Errorf("randflake: prefix %.80q of %T: "+
			"want up to 63 of a-z, 0-9 and _, a letter first and no underscore last",
			prefix, kind))
	}
	return prefix
}

// Format prints the text for %v, %s and %q, and the number for %#v and all others, as Format of ID
// does.
func (id Typed[K]) Format(f fmt.State, verb rune) { printID(f, verb, id.String(), ID(id)) }

// String returns the text.
func (id Typed[K]) String() string {
	var buf [32]byte // a text with a longer prefix allocates
	text, _ := id.AppendText(buf[:0])
	return string(text)
}

// AppendText appends the text to b. Its error is always nil.
func (id Typed[K]) AppendText(b []byte) ([]byte, error) {
	if prefix := prefixOf[K](); prefix != "" {
		b = append(b, prefix...)
		b = append(b, '_')
	}
	return ID(id).AppendText(b)
}

// MarshalText returns the text, also for JSON.
func (id Typed[K]) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, 32)) }

// UnmarshalJSON is UnmarshalText of a JSON string. Numbers are refused, as they show no kind. By
// convention, null changes nothing.
func (id *Typed[K]) UnmarshalJSON(data []byte) error {
	text, err := jsonText(data, Typed[K](0))
	if err != nil || text == nil {
		return err
	}
	return id.UnmarshalText(text)
}

// UnmarshalText is ParseTyped.
func (id *Typed[K]) UnmarshalText(text []byte) error {
	parsed, err := parseTyped[K](text)
	if err == nil {
		*id = parsed
	}
	return err
}

// UnmarshalParam is UnmarshalText, for gin, which would read a decimal number otherwise.
func (id *Typed[K]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen, which would read a decimal number
// otherwise.
func (id *Typed[K]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which would read a decimal number otherwise.
func (id *Typed[K]) RedisScan(src any) error {
	return idtext.FromRedis(src, id.UnmarshalText, ErrInvalidID)
}

// Value returns the ID as an int64, for a BIGINT column.
func (id Typed[K]) Value() (driver.Value, error) { return ID(id).Value() }

// Scan reads an integer column, as Scan of ID does.
func (id *Typed[K]) Scan(src any) error { return (*ID)(id).Scan(src) }
