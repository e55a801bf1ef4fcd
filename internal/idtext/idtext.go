// Package idtext has what reading and printing IDs takes, of whichever kind.
package idtext

import (
	"bytes"
	"encoding/json"
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

// Values returns the value of each character: of a digit, its place in digits, and of others None.
func Values(digits string) (values [256]byte) {
	for c := range values {
		values[c] = byte(strings.IndexByte(digits, byte(c))) // -1 becomes None
	}
	return values
}

// Format prints an ID: its text for the verbs s, q and v, and its value for %#v and all others. (With
// a String method alone, %x would print the text's bytes.)
func Format(f fmt.State, verb rune, text string, value any) {
	sharpV := verb == 'v' && f.Flag('#')
	if strings.ContainsRune("sqv", verb) && !sharpV {
		value = text
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), value)
}

// FromRedis has read take a text of redigo. A missing value, which is nil, changes nothing.
func FromRedis(src any, read func(text []byte) error, invalid error) error {
	switch v := src.(type) {
	case nil:
		return nil
	case []byte:
		return read(v)
	case string:
		return read([]byte(v))
	}
	return fmt.Errorf("%w: a %T of Redis: want a text", invalid, src)
}

// IsPrefix reports whether text can be the prefix of typed IDs.
func IsPrefix(text string) bool {
	if text == "" || len(text) > 63 {
		return false
	}
	startsWell := 'a' <= text[0] && text[0] <= 'z'
	endsWell := text[len(text)-1] != '_'
	if !startsWell || !endsWell {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && c != '_' {
			return false
		}
	}
	return true
}

// Must returns what was read, or panics with the error.
func Must[ID any](id ID, err error) ID {
	if err != nil {
		panic(err)
	}
	return id
}

// JSON returns the text of a JSON string, or nil for null.
func JSON(data []byte) ([]byte, error) {
	last := len(data) - 1
	quoted := last > 0 && data[0] == '"' && data[last] == '"'
	if quoted && bytes.IndexByte(data, '\\') < 0 {
		return data[1:last], nil // as nearly always: IDs need no escapes
	}
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil {
		return nil, err
	}
	return []byte(*text), nil
}
