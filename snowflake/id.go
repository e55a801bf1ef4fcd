package snowflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// An ID is an identifier of up to 64 bits that sorts by time, as it begins with the bits of the
// time. In layouts of 63 bits or fewer, as most presets are, it fits an int64 and is never negative.
// Its text form is decimal, with 1 to 20 digits.
//
// To read the fields of an ID, you need its [Layout].
type ID uint64

// maxDigits is the length of the longest decimal form.
const maxDigits = 20

// Parse reads the decimal form of an ID. Each ID has exactly one decimal form: for leading zeros,
// signs, white space and values of more than 64 bits the error wraps randflake.ErrInvalidID.
func Parse(text string) (ID, error) { return parse(text) }

func parse[T string | []byte](text T) (ID, error) {
	if len(text) == 0 || len(text) > 1 && text[0] == '0' {
		return 0, fmt.Errorf("%w: %.40q: want digits, and no leading zeros", errInvalidID, text)
	}
	var value uint64
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, fmt.Errorf("%w: %.40q: character %d: want decimal digits", errInvalidID, text, i+1)
		}
		digit := uint64(text[i] - '0')
		next := value*10 + digit
		overflows := value > math.MaxUint64/10 || next < digit // of the product, or of the sum
		if overflows {
			return 0, fmt.Errorf("%w: %.40q: want at most 64 bits", errInvalidID, text)
		}
		value = next
	}
	return ID(value), nil
}

// set assigns the ID that text stands for, or leaves id unchanged and returns an error.
func set[T string | []byte](id *ID, text T) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Format prints the decimal form for %v, %s and %q, and the number for %#v and all others: %x in hexadecimal.
func (id ID) Format(f fmt.State, verb rune) { idtext.Format(f, verb, id.String(), uint64(id)) }

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// AppendText appends the decimal form to b. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) { return strconv.AppendUint(b, uint64(id), 10), nil }

// MarshalText returns the decimal form. The error is always nil.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, maxDigits))
}

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error { return set(id, text) }

// UnmarshalParam is UnmarshalText, for gin, which would read an empty text as 0 otherwise.
func (id *ID) UnmarshalParam(text string) error { return set(id, text) }

// MarshalJSON returns the decimal form as a JSON string, because JavaScript would round numbers of
// more than 53 bits. The error is always nil.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, maxDigits+2), '"')
	b, _ = id.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON reads the decimal form from a JSON string or a JSON integer, exactly. Don't have JavaScript
// write integers beyond 2^53: it has rounded them. By convention, null changes nothing.
func (id *ID) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		return nil
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("%w: %w", errInvalidID, err)
		}
		return set(id, text)
	}
	return set(id, data)
}

// Value returns the ID as an int64, for a BIGINT column. An ID that does not fit an int64 is returned in its
// decimal form: it needs a BIGINT UNSIGNED, a NUMERIC(20) or a text column. The error is always nil.
func (id ID) Value() (driver.Value, error) {
	if id > math.MaxInt64 {
		return id.String(), nil
	}
	return int64(id), nil
}

// Scan reads an ID from an integer column, signed or unsigned, or the decimal form from a text column.
// It drops trailing blanks, as a CHAR has them. For a negative number the error wraps
// randflake.ErrInvalidID. For a column that may be NULL use a pointer.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return fmt.Errorf("%w: %d: want 0 or more", errInvalidID, v)
		}
		*id = ID(v)
		return nil
	case uint64:
		*id = ID(v)
		return nil
	case string:
		return set(id, strings.TrimRight(v, " "))
	case []byte:
		return set(id, bytes.TrimRight(v, " "))
	case nil:
		return fmt.Errorf("%w: NULL: scan into a pointer", errInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want an integer or a text column", errInvalidID, src)
}
