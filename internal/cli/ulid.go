package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/randflake/randflake"
)

const (
	ulidLength = 26
	ulidDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's base32
)

// isULID reports whether text is written like a ULID, in digits of either case.
func isULID(text string) bool {
	_, err := readULID(text)
	return err == nil
}

// readULID opens a ULID: 48 bits of Unix milliseconds and 80 random ones, in 26 digits of 5 bits
// (https://github.com/ulid/spec).
func readULID(text string) (reading, error) {
	if len(text) != ulidLength {
		return reading{}, fmt.Errorf("%w: %.40q: want the 26 digits of a ULID", randflake.ErrInvalidID, text)
	}
	upper := []byte(text)
	var hi, lo uint64
	for i, c := range upper {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
		digit := strings.IndexByte(ulidDigits, c)
		if digit < 0 {
			return reading{}, fmt.Errorf("%w: %.40q: %q is no digit of a ULID", randflake.ErrInvalidID, text, text[i:i+1])
		}
		hi, lo = hi<<5|lo>>59, lo<<5|uint64(digit)
	}
	if upper[0] > '7' {
		return reading{}, fmt.Errorf("%w: %.40q: more than 128 bits", randflake.ErrInvalidID, text)
	}
	return reading{
		kind:     kindULID,
		id:       string(upper),
		time:     time.UnixMilli(int64(hi >> 16)).UTC(),
		timeForm: milliseconds,
		fields:   []field{{"entropy", fmt.Sprintf("%04x%016x", hi&0xffff, lo)}},
	}, nil
}
