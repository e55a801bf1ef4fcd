package bases

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// Format2 returns the ID as a binary number, of 1 to 64 digits.
func Format2(id snowflake.ID) string { return strconv.FormatUint(uint64(id), 2) }

// Format36 returns the ID as a number to the base of 36, of 1 to 13 digits 0-9 and a-z.
func Format36(id snowflake.ID) string { return strconv.FormatUint(uint64(id), 36) }

// Format64 returns the decimal form in base64 (RFC 4648 section 4, with padding), of 4 to 28 characters.
func Format64(id snowflake.ID) string {
	return base64.StdEncoding.EncodeToString([]byte(id.String()))
}

// Parse2 reads what Format2 wrote.
func Parse2(text string) (snowflake.ID, error) { return parseNumber(text, 2) }

// Parse36 reads what Format36 wrote.
func Parse36(text string) (snowflake.ID, error) { return parseNumber(text, 36) }

// Parse64 reads what Format64 wrote.
func Parse64(text string) (snowflake.ID, error) {
	decimal, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q: want base64: %w", randflake.ErrInvalidID, text, err)
	}
	id, err := snowflake.Parse(string(decimal))
	if err == nil && Format64(id) != text {
		return 0, fmt.Errorf("%w: %.40q: want %s", randflake.ErrInvalidID, text, Format64(id))
	}
	return id, err
}

// parseNumber reads a number without sign and leading zeros, in lower case.
func parseNumber(text string, base int) (snowflake.ID, error) {
	value, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q: want a number to the base of %d and of at most 64 bits", randflake.ErrInvalidID, text, base)
	}
	if one := strconv.FormatUint(value, base); one != text {
		return 0, fmt.Errorf("%w: %.40q: want %s", randflake.ErrInvalidID, text, one)
	}
	return snowflake.ID(value), nil
}
