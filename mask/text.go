package mask

import (
	"fmt"
	"log/slog"

	"github.com/randflake/randflake"
)

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
func (id ID[S, T]) Format(f fmt.State, verb rune) {
	if verb != 'q' {
		verb = 's'
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), id.String())
}

// LogValue returns what String returns.
func (id ID[S, T]) LogValue() slog.Value { return slog.StringValue(id.String()) }

// AppendText appends the masked form to b. The error wraps ErrNoCipher if the space has no cipher, and ErrInvalidID if
// the inner value is negative.
func (id ID[S, T]) AppendText(b []byte) ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return b, err
	}
	return masked.AppendText(b)
}

// MarshalText returns the masked form, which is also what JSON has. Its errors are those of AppendText.
func (id ID[S, T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText is Parse. JSON is read by it, from strings only: inner IDs don't come from outside.
func (id *ID[S, T]) UnmarshalText(text []byte) error {
	var masked randflake.Typed[S]
	if err := masked.UnmarshalText(text); err != nil {
		return err
	}
	return id.open(masked)
}
