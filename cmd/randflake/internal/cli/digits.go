package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// parseInt reads an ID of 64 bits in decimal digits, as a signed or an unsigned number. A Snowflake ID is unsigned and
// has exactly one form, but one that uses all bits is negative in a signed column.
func parseInt(text, kind string) (randflake.ID, error) {
	if kind == kindSnowflake && !strings.HasPrefix(text, "-") {
		id, err := snowflake.Parse(text)
		return randflake.ID(id), err
	}
	signed, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return randflake.ID(signed), nil
	}
	unsigned, tooLong := strconv.ParseUint(text, 10, 64)
	if tooLong == nil {
		return randflake.ID(unsigned), nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits", randflake.ErrInvalidID, text)
	}
	return 0, fmt.Errorf("%w: %.40q is not a decimal number", randflake.ErrInvalidID, text)
}

// isDecimal reports whether text is decimal digits and nothing else.
func isDecimal(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// parseHex reads an ID of 64 bits in hexadecimal digits, after 0x or without.
func parseHex(text string) (randflake.ID, error) {
	digits := text
	if hasHexPrefix(text) {
		digits = text[2:]
	}
	value, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case len(digits) > 16:
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits: want up to 16 hexadecimal digits",
			randflake.ErrInvalidID, text)
	case err != nil:
		return 0, fmt.Errorf("%w: %.40q is not a hexadecimal number", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}

// isHex reports whether text is hexadecimal digits after 0x.
func isHex(text string) bool {
	if !hasHexPrefix(text) {
		return false
	}
	_, err := parseHex(text)
	return err == nil
}

func hasHexPrefix(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// tsidOf reads a TSID: 13 digits of Crockford's base32, as 0AXS751X00W7C. It returns 0 for any other text, and for 13
// such digits that mean something else: a decimal number, and a hexadecimal number after 0x.
func tsidOf(text string) randflake.ID {
	switch {
	case len(text) != 13, isDecimal(text), isHex(text):
		return 0
	case text[0] > 'f':
		return 0 // of more than 64 bits, as are most texts: the rest is slow
	}
	id, err := ulid.Parse(strings.Repeat("0", 13) + text) // ULIDs have the same digits
	if err != nil || id[7] != 0 {
		return 0 // not of base32, or of more than 64 bits
	}
	return randflake.ID(binary.BigEndian.Uint64(id[8:]))
}
