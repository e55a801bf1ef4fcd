package mask

import (
	"fmt"
	"log/slog"

	"github.com/randflake/randflake"
)

// maxDigits is the length of the longest text form.
const maxDigits = 13

// Parse opens the text form of a masked ID, exactly as String gives it: 1 to 13 base32hex digits in lower case, without
// leading zeros. For any other text the error wraps ErrInvalidID. Further errors are those of the Open method of the
// space's Masker.
func Parse[S Space[T], T Inner](text string) (ID[S, T], error) {
	var id ID[S, T]
	err := id.parse(text)
	return id, err
}

func (id *ID[S, T]) parse(text string) error {
	masked, err := randflake.Parse(text)
	if err != nil {
		return err
	}
	return id.open(masked)
}

// String returns the masked form: 1 to 13 base32hex digits, like those of a randflake.ID. If the space has no cipher or
// the inner value is negative, it returns the error's text in brackets.
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

// MarshalText returns the masked form. Its errors are those of AppendText.
func (id ID[S, T]) MarshalText() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return masked.AppendText(make([]byte, 0, maxDigits))
}

// UnmarshalText is Parse.
func (id *ID[S, T]) UnmarshalText(text []byte) error { return id.parse(string(text)) }
