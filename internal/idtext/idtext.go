// Package idtext has what reading texts of IDs takes, of whichever kind.
package idtext

import "strings"

// None is the value of a character that is no digit.
const None = 0xff

// Values returns what each character stands for, when digits are those of the values from 0 on.
func Values(digits string) (values [256]byte) {
	for c := range values {
		values[c] = byte(strings.IndexByte(digits, byte(c))) // None, which is byte(-1), where there is none
	}
	return values
}

// Must returns what was read, or panics with the error.
func Must[ID any](id ID, err error) ID {
	if err != nil {
		panic(err)
	}
	return id
}
