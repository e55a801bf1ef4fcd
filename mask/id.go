package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
)

// A Kind is a kind of thing, as for [randflake.Typed], that also returns the Masker of its IDs. Its
// methods are called on a zero value, from any goroutine, so a struct without fields is enough.
// While Masker returns nil, masking and opening fail with errors that wrap ErrNoCipher.
type Kind[T Inner] interface {
	randflake.Kind
	Masker() *Masker[T]
}

// Inner is what an ID can hold: an integer that fits a BIGINT, such as snowflake.ID, or
// randflake.Raw. A signed value must not be negative.
type Inner interface{ ~int64 | ~uint64 }

// An ID holds the inner ID of a thing of the kind K, and shows the masked one. It is an integer to
// every library that goes by Go's kinds, as an int64 is; a text of it is masked. The zero ID holds
// zero. An inner value from 2^63 on, of an unsigned type, is a negative integer.
type ID[K Kind[T], T Inner] int64

// Of returns the ID with the given inner value. A negative value can't be masked: what prints or sends
// it gets an error that wraps randflake.ErrInvalidID.
func Of[K Kind[T], T Inner](inner T) ID[K, T] { return ID[K, T](inner) }

// Inner returns the inner value, which is not encrypted.
func (id ID[K, T]) Inner() T { return T(id) }

// mask returns the masked form.
func (id ID[K, T]) mask() (randflake.Typed[K], error) {
	masked, err := maskerOf[K]().Mask(id.Inner())
	return randflake.Typed[K](masked), err
}

// open sets id to the ID whose masked form is given, or leaves id unchanged and returns an error.
func (id *ID[K, T]) open(masked randflake.Typed[K]) error {
	inner, err := maskerOf[K]().Unmask(randflake.ID(masked))
	if err == nil {
		*id = Of[K](inner)
	}
	return err
}

// Parse opens the text form of a masked ID, exactly as String gives it. For any other text the
// error wraps randflake.ErrInvalidID. Further errors are those of the Unmask method of the kind's Masker.
func Parse[K Kind[T], T Inner](text string) (id ID[K, T], err error) {
	err = id.UnmarshalText([]byte(text))
	return id, err
}

// String returns the masked form, which is the text of a [randflake.Typed]. If the kind has no
// cipher or the inner value is negative, it returns the error's text in brackets.
func (id ID[K, T]) String() string { return shown(id.MarshalText()) }

// shown returns a text, or the error's text in brackets.
func shown(text []byte, err error) string {
	if err != nil {
		return "[" + err.Error() + "]"
	}
	return string(text)
}

// Format prints what String returns, in quotes for %q, with the flags and the width of a string. It
// does so for every verb that package fmt passes to it.
func (id ID[K, T]) Format(f fmt.State, verb rune) { format(f, verb, id.String()) }

func format(f fmt.State, verb rune, text string) {
	if verb != 'q' {
		verb = 's'
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// AppendText appends the masked form to b. The error wraps ErrNoCipher if the kind has no cipher,
// and randflake.ErrInvalidID if the inner value is negative.
func (id ID[K, T]) AppendText(b []byte) ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return b, err
	}
	return masked.AppendText(b)
}

// MarshalText returns the masked form, which is also what JSON and package slog have. Its errors
// are those of AppendText.
func (id ID[K, T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText is Parse.
func (id *ID[K, T]) UnmarshalText(text []byte) error {
	var masked randflake.Typed[K]
	if err := masked.UnmarshalText(text); err != nil {
		if looksInner(string(text)) {
			return errNumber
		}
		return err
	}
	return id.open(masked)
}

// looksInner reports whether a text looks like a decimal number, with or without a prefix: it has only
// digits and minus signs. An inner value from 2^63 on has a minus sign in the database.
func looksInner(text string) bool {
	number := text[strings.LastIndexByte(text, '_')+1:]
	return number != "" && strings.Trim(number, "-0123456789") == ""
}

// UnmarshalJSON is UnmarshalText of a JSON string: a number could be an inner value. By convention,
// null changes nothing.
//
// It also reads a text without quotes, which package json passes for a field whose tag says ",string".
// If that field is a pointer, and the text begins with n, Go 1.26 returns an error of its own.
func (id *ID[K, T]) UnmarshalJSON(data []byte) error {
	text, err := idtext.JSON(data)
	switch {
	case err != nil: // a text without quotes, perhaps
		return id.UnmarshalText(data)
	case text == nil:
		return nil
	}
	return id.UnmarshalText(text)
}

// UnmarshalCBOR reads a byte string, as fxamacker/cbor writes what MarshalBinary returns, or a text
// string. That library would take an integer for an inner value. By convention, null changes nothing.
func (id *ID[K, T]) UnmarshalCBOR(data []byte) error {
	return unmarshalCBOR(data, id.UnmarshalBinary, id.UnmarshalText)
}

// UnmarshalParam is UnmarshalText, for gin, which would read the inner value otherwise.
func (id *ID[K, T]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen, which would read the inner value
// otherwise.
func (id *ID[K, T]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which would read the inner value otherwise.
func (id *ID[K, T]) RedisScan(src any) error {
	return idtext.FromRedis(src, id.UnmarshalText, randflake.ErrInvalidID)
}

// MarshalBinary returns the 8 bytes of the masked form, in little-endian order, which is also what
// package gob writes. Its errors are those of MarshalText.
func (id ID[K, T]) MarshalBinary() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(masked)), nil
}

// UnmarshalBinary opens what MarshalBinary wrote. Its errors are those of Parse.
func (id *ID[K, T]) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: want 8 bytes, got %d", randflake.ErrInvalidID, len(data))
	}
	return id.open(randflake.Typed[K](binary.LittleEndian.Uint64(data)))
}

// Value returns the inner value for the database: a signed integer with the same 64 bits, for a
// BIGINT column. It needs no cipher. Values of a randflake.Raw made from 2041 on sort differently
// in the database: see [randflake.Raw.Value]. The error is always nil, as GORM takes a value with
// an error for NULL.
func (id ID[K, T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads the inner value from an integer column, in the forms that [randflake.Raw.Scan]
// accepts. It needs no cipher. For anything else the error wraps randflake.ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID[K, T]) Scan(src any) error {
	var value randflake.Raw
	if err := value.Scan(src); err != nil {
		return err
	}
	*id = ID[K, T](value)
	return nil
}
