package snowflake

import (
	"database/sql/driver"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/randflake/randflake/internal/test/idtest"
)

func kind() idtest.Forms[ID] {
	k := idtest.Forms[ID]{
		IDs: map[string]ID{}, Parse: Parse, Invalid: errInvalidID,
		Column: func(id ID) driver.Value {
			if id > math.MaxInt64 {
				return strconv.FormatUint(uint64(id), 10)
			}
			return int64(id)
		},
		Sources: func(id ID) []any {
			text := strconv.FormatUint(uint64(id), 10)
			padded := fmt.Sprintf("%-20s", text)
			return []any{uint64(id), text, []byte(text), padded, []byte(padded)}
		},
		JSON: map[string]ID{
			"0":                    0,
			"7":                    7,
			"9007199254740993":     1<<53 + 1,
			"1541815603606036480":  1541815603606036480,
			"18446744073709551615": math.MaxUint64,
			` "\u0031\u0030" `:     10,
		},
		Quoted: true,
		BadTexts: []string{
			"", " ", "1 ", " 1", "1\n", "-1", "-0", "+1", "00", "01", "0x1", "1_0", "1e3", "1.0", "a", "/", ":", "1:", "é", "١", "\x00",
			"18446744073709551616", "99999999999999999999", "184467440737095516160", "0000000000000000000001",
		},
		BadJSON: []string{"-1", "-0", "1.0", "1e3", "18446744073709551616", `"`, `"\u00"`, "true", "[1]", `{"a":1}`, ""},
		BadColumns: []any{nil, 1.0, true, int64(-1), int64(math.MinInt64), "", " ", " 1", "1\n", "-1", "01", "1.0",
			[]byte("18446744073709551616")},
	}
	ids := []ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 { // around powers of two and ten, and random ones of all lengths
		ids = append(ids, 1<<shift-1, 1<<shift, ID(rand.Uint64N(1<<shift)))
	}
	for power := ID(10); power < math.MaxUint64/10; power *= 10 {
		ids = append(ids, power-1, power)
	}
	for _, id := range ids {
		k.IDs[strconv.FormatUint(uint64(id), 10)] = id
	}
	return k
}

func TestKind(t *testing.T) { kind().Test(t) }

func FuzzKind(f *testing.F) { kind().Fuzz(f) }
