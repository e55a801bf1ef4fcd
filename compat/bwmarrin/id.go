package snowflake

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/randflake/randflake/internal/idtext"
)

// An ID is what a Node makes: time, node and step, from the highest bit to the lowest.
type ID int64

// The errors of ParseBase32 and ParseBase58, which return -1 with them.
var (
	ErrInvalidBase32 = errors.New("snowflake: invalid base32: want digits of z-base-32, of at most 64 bits")
	ErrInvalidBase58 = errors.New("snowflake: invalid base58: want digits and letters but for 0, I, O and l, " +
		"of at most 64 bits")
)

// A JSONSyntaxError says that JSON is not a string.
type JSONSyntaxError struct{ original []byte }

// Error returns a text with the JSON in it.
func (j JSONSyntaxError) Error() string {
	return fmt.Sprintf("snowflake: invalid JSON of an ID: %q: want a string of digits", j.original)
}

// Time returns the Unix milliseconds at which the ID was made.
func (id ID) Time() int64 { return int64(id)>>(NodeBits+StepBits) + Epoch }

// Node returns the number of the Node that made the ID.
func (id ID) Node() int64 { return int64(id) >> StepBits & (1<<NodeBits - 1) }

// Step returns how many IDs that Node had made before in the same millisecond.
func (id ID) Step() int64 { return int64(id) & (1<<StepBits - 1) }

// Each form of an ID has a function beside it that reads it. Errors are those of package strconv,
// if nothing else is said.

// Int64 is the number.
func (id ID) Int64() int64   { return int64(id) }
func ParseInt64(id int64) ID { return ID(id) }

// IntBytes are the number as 8 bytes, the highest first.
func (id ID) IntBytes() [8]byte   { return [8]byte(binary.BigEndian.AppendUint64(nil, uint64(id))) }
func ParseIntBytes(id [8]byte) ID { return ID(binary.BigEndian.Uint64(id[:])) }

// String is the decimal form.
func (id ID) String() string            { return strconv.FormatInt(int64(id), 10) }
func ParseString(id string) (ID, error) { return parseText(id, 10) }

// Bytes are the decimal form.
func (id ID) Bytes() []byte            { return []byte(id.String()) }
func ParseBytes(id []byte) (ID, error) { return ParseString(string(id)) }

// Base2 is the binary form.
func (id ID) Base2() string            { return strconv.FormatInt(int64(id), 2) }
func ParseBase2(id string) (ID, error) { return parseText(id, 2) }

// Base36 has the digits 0-9 and a-z, which are read in either case.
func (id ID) Base36() string            { return strconv.FormatInt(int64(id), 36) }
func ParseBase36(id string) (ID, error) { return parseText(id, 36) }

// Base32 is a number with the digits of z-base-32, which is not what encoders of z-base-32 make of its bytes.
func (id ID) Base32() string           { return inDigits(id, base32) }
func ParseBase32(b []byte) (ID, error) { return parseDigits(b, base32, ErrInvalidBase32) }

// Base58 is a number with the digits of Bitcoin's base58, of which those in lower case come first.
func (id ID) Base58() string           { return inDigits(id, base58) }
func ParseBase58(b []byte) (ID, error) { return parseDigits(b, base58, ErrInvalidBase58) }

var (
	base32 = idtext.NewAlphabet("ybndrfg8ejkmcpqxot1uwisza345h769")
	base58 = idtext.NewAlphabet("123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
)

func inDigits(id ID, alphabet *idtext.Alphabet) string {
	return string(alphabet.Append(nil, uint64(id), 1))
}

func parseDigits(text []byte, alphabet *idtext.Alphabet, invalid error) (ID, error) {
	id, rest := alphabet.Parse(string(text), math.MaxUint64)
	if rest != "" {
		return -1, invalid
	}
	return ID(id), nil
}

// Base64 is the decimal form in base64, with padding.
func (id ID) Base64() string { return base64.StdEncoding.EncodeToString(id.Bytes()) }

// ParseBase64 returns -1 and an error of package base64 for a text that is not base64.
func ParseBase64(id string) (ID, error) {
	decimal, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return -1, err
	}
	return ParseBytes(decimal)
}

func parseText(text string, base int) (ID, error) {
	id, err := strconv.ParseInt(text, base, 64)
	return ID(id), err
}

// MarshalJSON returns the decimal form as a JSON string. The error is always nil.
func (id ID) MarshalJSON() ([]byte, error) { return []byte(`"` + id.String() + `"`), nil }

// UnmarshalJSON reads the decimal form from a JSON string. For JSON of another type it returns a
// JSONSyntaxError.
func (id *ID) UnmarshalJSON(b []byte) error {
	if len(b) < 3 || b[0] != '"' || b[len(b)-1] != '"' {
		return JSONSyntaxError{bytes.Clone(b)} // the decoder uses b again
	}
	parsed, err := ParseBytes(b[1 : len(b)-1])
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
