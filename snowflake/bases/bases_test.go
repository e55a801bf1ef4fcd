package bases

import (
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// A form is one of the text forms, of a fixed width if it has one.
type form struct {
	name   string
	digits string
	width  int
	text   func(snowflake.ID) string
	append func([]byte, snowflake.ID) []byte
	parse  func(string) (snowflake.ID, error)
}

var forms = []form{
	{"32", "0123456789abcdefghijklmnopqrstuv", 13, Format32, Append32, Parse32},
	{"58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11, Format58, Append58, Parse58},
	{"62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11, Format62, Append62, Parse62},
	{"2", "01", 0, Format2, nil, Parse2},
	{"36", "0123456789abcdefghijklmnopqrstuvwxyz", 0, Format36, nil, Parse36},
	{"64", "", 0, Format64, nil, Parse64},
}

// reference writes n with arithmetic of any length.
func (f form) reference(n *big.Int) string {
	switch f.name {
	case "2", "36":
		return n.Text(len(f.digits))
	case "64":
		return base64.StdEncoding.EncodeToString([]byte(n.String()))
	}
	text := make([]byte, f.width)
	base, digit, n := big.NewInt(int64(len(f.digits))), new(big.Int), new(big.Int).Set(n)
	for i := f.width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		text[i] = f.digits[digit.Int64()]
	}
	return string(text)
}

func TestForms(t *testing.T) {
	ids := []snowflake.ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 {
		ids = append(ids, 1<<shift-1, 1<<shift, snowflake.ID(rand.Uint64N(1<<shift)), snowflake.ID(rand.Uint64()))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, f := range forms {
		before := ""
		for _, id := range ids {
			text := f.text(id)
			if want := f.reference(new(big.Int).SetUint64(uint64(id))); text != want {
				t.Fatalf("Format%s of %d: %s, want %s", f.name, id, text, want)
			}
			if got, err := f.parse(text); got != id || err != nil {
				t.Fatalf("Parse%s(%s) = %d, %v, want %d", f.name, text, got, err, id)
			}
			if f.width > 0 && (text <= before || string(f.append([]byte("id-"), id)) != "id-"+text) {
				t.Fatalf("Format%s of %d: %s, after %s", f.name, id, text, before)
			}
			before = text
		}
	}
}

func TestParseRefuses(t *testing.T) {
	special := map[string][]string{
		"2":  {"2", "1" + strings.Repeat("0", 64), "0b1"},
		"32": {"000000000000V", "000000000000w"},
		"36": {"A", "3w5e11264sgsg", "zzzzzzzzzzzzz", "{", "10000000000000"},
		"64": {"MQ", "MQ=", "MR==", "MDE=", "LTE=", "MQ==\n", "M\nQ==", "AA==", "MTg0NDY3NDQwNzM3MDk1NTE2MTY="},
	}
	for _, f := range forms {
		zero := f.text(0)
		tests := append(special[f.name], "", "-1", "+1", " 1", "1 ", "01", "00", "é", "\x00", zero[1:], zero[:1]+zero, zero[1:]+"\n", zero[1:]+"é", zero[1:]+"=")
		if f.width > 0 { // more than 64 bits
			tests = append(tests, strings.Repeat(f.digits[len(f.digits)-1:], f.width), f.reference(new(big.Int).Lsh(big.NewInt(1), 64)))
		}
		for _, strange := range "0OIl+/_" {
			if f.width > 0 && !strings.ContainsRune(f.digits, strange) {
				tests = append(tests, zero[1:]+string(strange))
			}
		}
		for _, text := range tests {
			if id, err := f.parse(text); !errors.Is(err, randflake.ErrInvalidID) {
				t.Errorf("Parse%s(%q) = %d, %v, want ErrInvalidID", f.name, text, id, err)
			}
		}
	}
}

// Whatever parses is the one text of its ID, in each form.
func FuzzParse(f *testing.F) {
	for _, id := range []snowflake.ID{0, 1, 1541815603606036480, math.MaxInt64, math.MaxUint64} {
		for _, form := range forms {
			f.Add(form.text(id))
		}
	}
	for _, text := range []string{"9223372036854775808", "8000000000000", "NQm6nKp8qFD", "AzL8n0Y58m8", "0000000000V", "01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range forms {
			if id, err := form.parse(text); err != nil && !errors.Is(err, randflake.ErrInvalidID) || err == nil && form.text(id) != text {
				t.Errorf("Parse%s(%q) = %d, %v, whose text is %q", form.name, text, id, err, form.text(id))
			}
		}
	})
}

func TestNoAllocation(t *testing.T) {
	buf, id := make([]byte, 0, 64), snowflake.ID(1541815603606036480)
	for _, f := range forms[:3] {
		text := f.text(id)
		if n := testing.AllocsPerRun(100, func() { f.append(buf, id); f.parse(text) }); n != 0 {
			t.Errorf("base %s: %v allocations", f.name, n)
		}
	}
}
