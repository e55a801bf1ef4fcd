package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
)

// No sink shows an inner value, and every one of them shows it when the ID is a plain integer.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	plain := leaktest.Output(sortable(inner))
	for name, got := range leaktest.Output(Of[orders](sortable(inner))) {
		if leaks(got, inner) {
			t.Errorf("%s leaks the inner value: %s", name, got)
		}
		if name[0] == '%' && strings.ContainsAny(name, "cqT") {
			continue // characters, of which none has such a number, and types
		}
		if !leaks(plain[name], inner) {
			t.Errorf("%s: the check does not find a plain integer in %q", name, plain[name])
		}
	}
	for name, got := range leaktest.Output(Of[rawOrders](randflake.Raw(inner))) {
		if leaks(got, inner) {
			t.Errorf("%s leaks the inner raw value: %s", name, got)
		}
	}
	for name, got := range leaktest.Output(Of[keyless](sortable(inner))) {
		if leaks(got, inner) {
			t.Errorf("%s leaks the inner value where the space has no cipher: %s", name, got)
		}
	}
}

// What is shown is the masked form.
func TestSinksShowTheMaskedForm(t *testing.T) {
	id := Of[orders](sortable(0x1b69b4be052fab1c))
	masked, _ := id.MarshalBinary()
	for name, got := range leaktest.Output(id) {
		if name[0] == '%' && strings.ContainsAny(name, "Tpw") {
			continue // they don't ask the ID
		}
		if !strings.Contains(got, id.String()) && !strings.Contains(got, string(masked)) {
			t.Errorf("%s does not show %v: %q", name, id, got)
		}
	}
}

// leaks reports whether output holds value in any of its forms, in letters of either case.
func leaks(output string, value uint64) bool {
	lower := strings.ToLower(output)
	return slices.ContainsFunc(forms(value), func(form string) bool {
		return strings.Contains(output, form) || strings.Contains(lower, strings.ToLower(form))
	})
}

// forms returns value as people and encoders write it: in digits of many bases, as its bytes, and as
// those in common codes.
func forms(value uint64) []string {
	all := []string{strconv.FormatUint(value, 2), digits(value, base58), digits(value, base62)}
	for base := 8; base <= 36; base++ {
		all = append(all, strconv.FormatUint(value, base))
	}
	for _, v := range []uint64{value, value << 1} { // gob doubles signed integers
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			b := order.AppendUint64(nil, v)
			all = append(all, string(b), base64.RawStdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
				base32.StdEncoding.EncodeToString(b)[:13], base32.HexEncoding.EncodeToString(b)[:13])
		}
	}
	return all
}

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// digits returns value in the base whose digits are given.
func digits(value uint64, alphabet string) string {
	var text []byte
	for base := uint64(len(alphabet)); value > 0; value /= base {
		text = append(text, alphabet[value%base])
	}
	slices.Reverse(text)
	return string(text)
}
