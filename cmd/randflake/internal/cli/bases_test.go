package cli

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/snowflake"
)

// A baseForm is a base, and what its digits and width are to be.
type baseForm struct {
	base
	name   string
	digits string
	width  int
}

func (f baseForm) text(id snowflake.ID) string { return string(f.append(nil, id)) }

var baseForms = []baseForm{
	{base32, "32", "0123456789abcdefghijklmnopqrstuv", 13},
	{base58, "58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11},
	{base62, "62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11},
}

// reference writes n with arithmetic of any length.
func (f baseForm) reference(n *big.Int) string {
	text := make([]byte, f.width)
	base, digit, n := big.NewInt(int64(len(f.digits))), new(big.Int), new(big.Int).Set(n)
	for i := f.width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		text[i] = f.digits[digit.Int64()]
	}
	return string(text)
}

func TestBases(t *testing.T) {
	ids := []snowflake.ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 {
		ids = append(ids, 1<<shift-1, 1<<shift, snowflake.ID(rand.Uint64N(1<<shift)), snowflake.ID(rand.Uint64()))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, f := range baseForms {
		before := ""
		for _, id := range ids {
			text := f.text(id)
			want := f.reference(new(big.Int).SetUint64(uint64(id)))
			require.Must(t, text == want, "base %s of %d: %s, want %s", f.name, id, text, want)
			got, err := f.parse(text)
			require.Must(t, got == id && err == nil, "base %s, %s: %d, %v, want %d", f.name, text, got, err, id)
			require.Must(t, text > before && string(f.append([]byte("id-"), id)) == "id-"+text,
				"base %s of %d: %s, after %s", f.name, id, text, before)
			before = text
		}
	}
}

func TestBasesRefuse(t *testing.T) {
	special := map[string][]string{"32": {"000000000000V", "000000000000w"}}
	for _, f := range baseForms {
		zero := f.text(0)
		tests := append(special[f.name], "", "-1", "+1", " 1", "1 ", "01", "00", "é", "\x00", zero[1:],
			zero[:1]+zero, zero[1:]+"\n", zero[1:]+"é", zero[1:]+"=")
		// more than 64 bits
		tests = append(tests, strings.Repeat(f.digits[len(f.digits)-1:], f.width), f.reference(new(big.Int).Lsh(big.NewInt(1), 64)))
		for _, strange := range "0OIl+/_" {
			if !strings.ContainsRune(f.digits, strange) {
				tests = append(tests, zero[1:]+string(strange))
			}
		}
		for _, text := range tests {
			if id, err := f.parse(text); !errors.Is(err, randflake.ErrInvalidID) {
				t.Errorf("base %s, %q: = %d, %v, want ErrInvalidID", f.name, text, id, err)
			}
		}
	}
}

// Whatever parses is the one text of its ID, in each form.
func FuzzParseBases(f *testing.F) {
	for _, id := range []snowflake.ID{0, 1, 1541815603606036480, math.MaxInt64, math.MaxUint64} {
		for _, form := range baseForms {
			f.Add(form.text(id))
		}
	}
	for _, text := range []string{"9223372036854775808", "8000000000000", "NQm6nKp8qFD", "AzL8n0Y58m8", "0000000000V", "01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range baseForms {
			if id, err := form.parse(text); err != nil && !errors.Is(err, randflake.ErrInvalidID) || err == nil && form.text(id) != text {
				t.Errorf("base %s, %q: = %d, %v, whose text is %q", form.name, text, id, err, form.text(id))
			}
		}
	})
}
