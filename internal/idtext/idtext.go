// Package idtext has what reading and printing IDs takes, of whichever kind.
package idtext

import (
	"fmt"
	"strings"
)

// The digits of IDs, from the value 0 on.
const (
	Base32hex = "0123456789abcdefghijklmnopqrstuv" // RFC 4648 section 7, in lower case
	Crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // without I, L, O and U
)

// None is the value of a character that is no digit.
const None = 0xff

// Values returns what each character stands for, when digits are those of the values from 0 on.
func Values(digits string) (values [256]byte) {
	for c := range values {
		values[c] = byte(strings.IndexByte(digits, byte(c))) // None, which is byte(-1), where there is none
	}
	return values
}

// Format prints an ID: its text for the verbs s, q and v, and its value for %#v and all others,
// which would be the digits of the text's bytes with a String method alone.
func Format(f fmt.State, verb rune, text string, value any) {
	if verb == 's' || verb == 'q' || verb == 'v' && !f.Flag('#') {
		value = text
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), value)
}

// Must returns what was read, or panics with the error.
func Must[ID any](id ID, err error) ID {
	if err != nil {
		panic(err)
	}
	return id
}
