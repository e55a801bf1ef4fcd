package mask

import (
	"fmt"
	"strings"

	"github.com/randflake/randflake"
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
