package bases

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/snowflake"
)

// someIDs returns those around powers of two, and random ones of all lengths.
func someIDs() []snowflake.ID {
	ids := []snowflake.ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 {
		ids = append(ids, 1<<shift-1, 1<<shift, snowflake.ID(rand.Uint64N(1<<shift)))
	}
	return ids
}

// A shortForm is one of the text forms of fixed width.
type shortForm struct {
	name   string
	digits string
	width  int
	text   func(snowflake.ID) string
	append func([]byte, snowflake.ID) []byte
	parse  func(string) (snowflake.ID, error)
}

var shortForms = []shortForm{
	{"32", "0123456789abcdefghijklmnopqrstuv", 13, Format32, Append32, Parse32},
	{"58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11, Format58, Append58, Parse58},
	{"62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11, Format62, Append62, Parse62},
}

// reference writes value with arithmetic of any length.
func (f shortForm) reference(value uint64) string { return f.write(new(big.Int).SetUint64(value)) }

// bigger is the lowest number that is no ID.
func (f shortForm) bigger() string { return f.write(new(big.Int).Lsh(big.NewInt(1), 64)) }

func (f shortForm) write(n *big.Int) string {
	text := make([]byte, f.width)
	base, digit := big.NewInt(int64(len(f.digits))), new(big.Int)
	for i := f.width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		text[i] = f.digits[digit.Int64()]
	}
	return string(text)
}

func TestShortForms(t *testing.T) {
	for _, f := range shortForms {
		ids := someIDs()
		for range 1000 {
			ids = append(ids, snowflake.ID(rand.Uint64()))
		}
		slices.Sort(ids)
		before := ""
		for _, id := range slices.Compact(ids) {
			text := f.text(id)
			if want := f.reference(uint64(id)); text != want {
				t.Fatalf("Format%s of %d: %s, want %s", f.name, id, text, want)
			}
			if text <= before {
				t.Fatalf("Format%s of %d: %s does not sort after %s", f.name, id, text, before)
			}
			before = text
			if got := f.append([]byte("id-"), id); string(got) != "id-"+text {
				t.Fatalf("Append%s of %d: %s", f.name, id, got)
			}
			if got, err := f.parse(text); got != id || err != nil {
				t.Fatalf("Parse%s(%s) = %d, %v, want %d", f.name, text, got, err, id)
			}
		}
	}
}

func TestShortFormsOfKnownIDs(t *testing.T) {
	for _, test := range []struct {
		id                     snowflake.ID
		base32, base58, base62 string
	}{
		{0, "0000000000000", "11111111111", "00000000000"},
		{61, "000000000001t", "11111111124", "0000000000z"},
		{math.MaxInt64, "7vvvvvvvvvvvv", "NQm6nKp8qFC", "AzL8n0Y58m7"},
		{math.MaxUint64, "fvvvvvvvvvvvv", "jpXCZedGfVQ", "LygHa16AHYF"},
	} {
		if Format32(test.id) != test.base32 || Format58(test.id) != test.base58 || Format62(test.id) != test.base62 {
			t.Errorf("%d: %s, %s, %s", test.id, Format32(test.id), Format58(test.id), Format62(test.id))
		}
	}
	// RFC 4648 puts the bits at the beginning: 65 bits of digits end with those of the snowflake.ID.
	for _, id := range someIDs() {
		var b [10]byte
		binary.BigEndian.PutUint64(b[2:], uint64(id))
		if want := strings.ToLower(base32.HexEncoding.EncodeToString(b[:]))[3:]; Format32(id) != want {
			t.Fatalf("Format32 of %d: %s, encoding/base32 says %s", id, Format32(id), want)
		}
	}
}

func TestParseShortFormsRefuse(t *testing.T) {
	for _, f := range shortForms {
		zero := f.text(0)
		last := f.digits[len(f.digits)-1:]
		tests := []string{
			"", zero[1:], zero[:1] + zero, " " + zero[1:], zero[1:] + "\n", zero[1:] + "é", zero[2:] + "é", "-" + zero[1:], zero[1:] + "=",
			strings.Repeat(last, f.width), // more than 64 bits
			f.bigger(),
		}
		for _, strange := range "0OIl+/_" {
			if !strings.ContainsRune(f.digits, strange) {
				tests = append(tests, zero[1:]+string(strange))
			}
		}
		if f.name == "32" {
			tests = append(tests, strings.ToUpper(f.text(31)), "000000000000w")
		}
		for _, text := range tests {
			if id, err := f.parse(text); !errors.Is(err, snowflake.ErrInvalidID) {
				t.Errorf("Parse%s(%q) = %d, %v, want ErrInvalidID", f.name, text, id, err)
			}
		}
	}
}

// Whatever parses is the one text of its ID, in each form.
func FuzzParse(f *testing.F) {
	forms := append(slices.Clone(shortForms), shortForm{name: "", text: snowflake.ID.String, parse: snowflake.Parse},
		shortForm{name: "2", text: Format2, parse: Parse2}, shortForm{name: "36", text: Format36, parse: Parse36}, shortForm{name: "64", text: Format64, parse: Parse64})
	for _, id := range []snowflake.ID{0, 1, 1541815603606036480, math.MaxInt64, math.MaxUint64} {
		for _, form := range forms {
			f.Add(form.text(id))
		}
	}
	f.Add("9223372036854775808")
	f.Add("8000000000000")
	f.Add("NQm6nKp8qFD")
	f.Add("AzL8n0Y58m8")
	f.Add("0000000000V")
	f.Add("01")
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range forms {
			id, err := form.parse(text)
			switch {
			case err != nil && !errors.Is(err, snowflake.ErrInvalidID):
				t.Errorf("Parse%s(%q): %v does not wrap ErrInvalidID", form.name, text, err)
			case err == nil && form.text(id) != text:
				t.Errorf("Parse%s(%q) = %d, whose text is %q", form.name, text, id, form.text(id))
			}
		}
	})
}

func TestTextAllocates(t *testing.T) {
	buf := make([]byte, 0, 64)
	id := snowflake.ID(1541815603606036480)
	for _, f := range shortForms {
		text := f.text(id)
		if n := testing.AllocsPerRun(100, func() { f.append(buf, id) }); n != 0 {
			t.Errorf("Append%s allocates %v times", f.name, n)
		}
		if n := testing.AllocsPerRun(100, func() { f.parse(text) }); n != 0 {
			t.Errorf("Parse%s allocates %v times", f.name, n)
		}
	}
}

func BenchmarkText(b *testing.B) {
	buf := make([]byte, 0, 64)
	id := snowflake.ID(1541815603606036480)
	for _, f := range shortForms {
		b.Run("Append"+f.name, func(b *testing.B) {
			for b.Loop() {
				f.append(buf, id)
			}
		})
		text := f.text(id)
		b.Run("Parse"+f.name, func(b *testing.B) {
			for b.Loop() {
				f.parse(text)
			}
		})
	}
}
