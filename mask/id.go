package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake"
)

// A Space is a kind of thing, as for [randflake.Typed], that also returns the Masker of its IDs. Its methods are called
// on a zero value, from any goroutine, so a struct without fields is enough. While Masker returns nil, masking and
// opening fail with errors that wrap ErrNoCipher.
type Space[T Inner] interface {
	randflake.Kind
	Masker() *Masker[T]
}

// Inner is what an ID can hold: an integer that fits a BIGINT, such as snowflake.ID, or randflake.Raw. A signed value
// must not be negative.
type Inner interface{ ~int64 | ~uint64 }

// An ID holds the inner ID of something in the space S, and shows the masked one. IDs are equal if their inner IDs are
// equal; the zero ID holds zero. IDs have no order; to order them, compare what Inner returns. IDs of two spaces can't
// be converted into each other.
type ID[S Space[T], T Inner] struct {
	_      [0]*S
	_      [0]*T
	hidden randflake.ID
}

// Of returns the ID with the given inner value. A negative value can't be masked or written to a database: both fail
// with an error that wraps ErrInvalidID.
func Of[S Space[T], T Inner](inner T) ID[S, T] { return ID[S, T]{hidden: hide(randflake.Raw(inner))} }

// Inner returns the inner value, which is not encrypted.
func (id ID[S, T]) Inner() T { return T(reveal(id.hidden)) }

// IsZero reports whether the inner value is zero, for omitempty in YAML and msgpack: they take a struct without exported fields for empty.
func (id ID[S, T]) IsZero() bool { return id.hidden == 0 }

// mask returns the masked form.
func (id ID[S, T]) mask() (randflake.Typed[S], error) {
	masked, err := maskerOf[S]().Mask(id.Inner())
	return randflake.Typed[S](masked), err
}

// open sets id to the ID whose masked form is given, or leaves id unchanged and returns an error.
func (id *ID[S, T]) open(masked randflake.Typed[S]) error {
	inner, err := maskerOf[S]().Open(randflake.ID(masked))
	if err == nil {
		*id = Of[S](inner)
	}
	return err
}

func maskerOf[S Space[T], T Inner]() *Masker[T] {
	var space S
	if any(space) == nil { // S is an interface
		return nil
	}
	return space.Masker()
}

// Parse opens the text form of a masked ID, exactly as String gives it. For any other text the error wraps ErrInvalidID.
// Further errors are those of the Open method of the space's Masker.
func Parse[S Space[T], T Inner](text string) (ID[S, T], error) {
	var id ID[S, T]
	err := id.UnmarshalText([]byte(text))
	return id, err
}

// String returns the masked form, which is the text of a [randflake.Typed]. If the space has no cipher or the inner
// value is negative, it returns the error's text in brackets.
func (id ID[S, T]) String() string {
	masked, err := id.mask()
	if err != nil {
		return "[" + err.Error() + "]"
	}
	return masked.String()
}

// Format prints what String returns, in quotes for %q, with the flags and the width of a string. It does so for every
// verb that package fmt passes to it.
func (id ID[S, T]) Format(f fmt.State, verb rune) { format(f, verb, id.String()) }

func format(f fmt.State, verb rune, text string) {
	if verb != 'q' {
		verb = 's'
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// AppendText appends the masked form to b. The error wraps ErrNoCipher if the space has no cipher, and ErrInvalidID if
// the inner value is negative.
func (id ID[S, T]) AppendText(b []byte) ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return b, err
	}
	return masked.AppendText(b)
}

// MarshalText returns the masked form, which is also what JSON and package slog have. Its errors are those of AppendText.
func (id ID[S, T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText is Parse. JSON is read by it, from strings only: inner IDs don't come from outside.
func (id *ID[S, T]) UnmarshalText(text []byte) error {
	var masked randflake.Typed[S]
	if err := masked.UnmarshalText(text); err != nil {
		return err
	}
	return id.open(masked)
}

// UnmarshalParam is UnmarshalText, for gin and echo.
func (id *ID[S, T]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *ID[S, T]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// MarshalBinary returns the 8 bytes of the masked form, in little-endian order, which is also what package gob writes. Its errors
// are those of MarshalText.
func (id ID[S, T]) MarshalBinary() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(masked)), nil
}

// UnmarshalBinary opens what MarshalBinary wrote. Its errors are those of Parse.
func (id *ID[S, T]) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: want 8 bytes, got %d", ErrInvalidID, len(data))
	}
	return id.open(randflake.Typed[S](binary.LittleEndian.Uint64(data)))
}

// Value returns the inner value for the database: a signed integer with the same 64 bits, for a BIGINT column. It needs
// no cipher. Values of a randflake.Raw made from 2041 on sort differently in the database: see [randflake.Raw.Value].
// For a negative value of a signed type the error wraps ErrInvalidID.
func (id ID[S, T]) Value() (driver.Value, error) {
	inner := id.Inner()
	if inner < 0 {
		return nil, errNegative
	}
	return int64(inner), nil
}

// Scan reads the inner value from an integer column, in the forms that [randflake.Raw.Scan] accepts. It needs no
// cipher. For anything else, and for a negative value of a signed type, the error wraps ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID[S, T]) Scan(src any) error {
	var value randflake.Raw
	if err := value.Scan(src); err != nil {
		return err
	}
	if T(value) < 0 {
		return errNegative
	}
	*id = Of[S](T(value))
	return nil
}

// An ID in memory is hidden: encrypted under a key that lives as long as the process. Methods alone can't keep package
// fmt from printing what a struct holds, because fmt does not call them for unexported fields or for the verb %p, and
// other code looks into structs by reflection too. The hidden value is useless to both. Zero is hidden as zero, so
// the zero ID is valid. It costs one Encrypt or Decrypt, which is negligible beside a database access.
var (
	hidingKey  = randflake.NewCipher(randflake.NewSecret())
	hiddenZero = hidingKey.Encrypt(0)
)

func hide(inner randflake.Raw) randflake.ID { return hidingKey.Encrypt(inner) ^ hiddenZero }

func reveal(hidden randflake.ID) randflake.Raw { return hidingKey.Decrypt(hidden ^ hiddenZero) }
