package snowflake

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
)

// Base2 returns the ID as a binary number, of 1 to 64 digits, as github.com/bwmarrin/snowflake writes it.
func (id ID) Base2() string { return strconv.FormatUint(uint64(id), 2) }

// Base36 returns the ID as a number to the base of 36, of 1 to 13 digits 0-9 and a-z, as github.com/bwmarrin/snowflake
// writes it.
func (id ID) Base36() string { return strconv.FormatUint(uint64(id), 36) }

// Base64 returns the decimal form in base64 (RFC 4648 section 4, with padding), of 4 to 28 characters, as
// github.com/bwmarrin/snowflake writes it.
func (id ID) Base64() string { return base64.StdEncoding.EncodeToString([]byte(id.String())) }

// ParseBase2 reads what Base2 wrote. Anything else is an error that wraps ErrInvalidID.
func ParseBase2(text string) (ID, error) { return parseDigits(text, 2) }

// ParseBase36 reads what Base36 wrote. Anything else, such as upper case, is an error that wraps ErrInvalidID.
func ParseBase36(text string) (ID, error) { return parseDigits(text, 36) }

// ParseBase64 reads what Base64 wrote. Anything else is an error that wraps ErrInvalidID.
func ParseBase64(text string) (ID, error) {
	decimal, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q: expected base64: %w", ErrInvalidID, text, err)
	}
	id, err := parse(decimal)
	if err == nil && id.Base64() != text {
		return 0, fmt.Errorf("%w: %.40q: expected %s", ErrInvalidID, text, id.Base64())
	}
	return id, err
}

// parseDigits reads a number to a base up to 36 without leading zeros, in lower case.
func parseDigits[T string | []byte](text T, base uint64) (ID, error) {
	if len(text) == 0 || len(text) > 1 && text[0] == '0' {
		return 0, fmt.Errorf("%w: %.40q: expected digits, and no leading zeros", ErrInvalidID, text)
	}
	var value uint64
	highest := math.MaxUint64 / base // what another digit can follow
	for i := 0; i < len(text); i++ {
		digit := digitOf(text[i])
		if digit >= base {
			return 0, fmt.Errorf("%w: %.40q: character %d: expected %s", ErrInvalidID, text, i+1, digitsOf(base))
		}
		next := value*base + digit
		if value > highest || next < digit {
			return 0, fmt.Errorf("%w: %.40q: expected at most 64 bits", ErrInvalidID, text)
		}
		value = next
	}
	return ID(value), nil
}

// digitsOf names the digits of a base.
func digitsOf(base uint64) string {
	if base == 10 {
		return "decimal digits"
	}
	return fmt.Sprintf("digits of base %d", base)
}

// digitOf returns the value of a digit to the base of 36, or more than that.
func digitOf(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'z':
		return uint64(c-'a') + 10
	}
	return 36
}
