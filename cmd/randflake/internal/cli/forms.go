package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
)

// forms are the forms in which IDs of any kind may be written.
var forms = []string{"auto", "text", "int", "hex"}

const fromUsage = "auto (default), text, int, hex"

// parseID reads a Randflake ID written in the form from.
func parseID(text, from string) (randflake.ID, error) {
	if from == "auto" {
		if isAmbiguous(text) {
			return 0, fmt.Errorf("%.40q can be text or a decimal number: say which with --from text or --from int", text)
		}
		from = formOf(text)
	}
	switch from {
	case "int":
		return parseInt(text)
	case "hex":
		return parseHex(text)
	}
	return randflake.Parse(text)
}

// formOf returns the form of text, which must not be ambiguous.
func formOf(text string) string {
	switch {
	case hasHexPrefix(text):
		return "hex"
	case strings.HasPrefix(text, "-"), len(text) > 13 && isDecimal(text):
		return "int"
	}
	return "text"
}

// isAmbiguous reports whether text can be read as base32hex and as decimal, with different results.
func isAmbiguous(text string) bool {
	return isDecimal(text) && len(text) <= 13 && len(strings.TrimLeft(text, "0")) > 1
}

func hasHexPrefix(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// parseSnowflake reads a Snowflake ID written in the form from.
func parseSnowflake(text, from string) (snowflake.ID, error) {
	switch {
	case from == "base32":
		return bases.Parse32(text)
	case from == "base58":
		return bases.Parse58(text)
	case from == "base62":
		return bases.Parse62(text)
	case from == "hex" || from == "auto" && hasHexPrefix(text):
		id, err := parseHex(text)
		return snowflake.ID(id), err
	}
	return snowflake.Parse(text)
}

// parseInt reads a decimal number of 64 bits, signed or not.
func parseInt(text string) (randflake.ID, error) {
	signed, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return randflake.ID(signed), nil
	}
	unsigned, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil:
		return randflake.ID(unsigned), nil
	case errors.Is(err, strconv.ErrRange) || len(text) > 1 && text[0] == '-' && isDecimal(text[1:]):
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits", randflake.ErrInvalidID, text)
	}
	return 0, fmt.Errorf("%w: %.40q is not a decimal number", randflake.ErrInvalidID, text)
}

func parseHex(text string) (randflake.ID, error) {
	digits := text
	if hasHexPrefix(text) {
		digits = text[2:]
	}
	value, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), len(digits) > 16:
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits: want up to 16 hexadecimal digits", randflake.ErrInvalidID, text)
	case err != nil:
		return 0, fmt.Errorf("%w: %.40q is not a hexadecimal number", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}
