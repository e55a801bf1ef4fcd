package snowflake

import (
	"encoding/base64"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// What github.com/bwmarrin/snowflake v0.3.0 writes for some IDs, as its program did.
func TestFormsOfBwmarrin(t *testing.T) {
	for _, test := range []struct {
		id                    ID
		base2, base36, base64 string
	}{
		{0, "0", "0", "MA=="},
		{1, "1", "1", "MQ=="},
		{61, "111101", "1p", "NjE="},
		{1541815603606036480, "1010101100101101000010001111101100010000101111010000000000000", "bppc0m3ju134", "MTU0MTgxNTYwMzYwNjAzNjQ4MA=="},
		{9223372036854775807, "111111111111111111111111111111111111111111111111111111111111111", "1y2p0ij32e8e7", "OTIyMzM3MjAzNjg1NDc3NTgwNw=="},
	} {
		if test.id.Base2() != test.base2 || test.id.Base36() != test.base36 || test.id.Base64() != test.base64 {
			t.Errorf("%d: %s, %s, %s", test.id, test.id.Base2(), test.id.Base36(), test.id.Base64())
		}
	}
}

func TestDigits(t *testing.T) {
	for _, id := range someIDs() {
		n := new(big.Int).SetUint64(uint64(id))
		for _, form := range []struct {
			text, want string
			parse      func(string) (ID, error)
		}{
			{id.Base2(), n.Text(2), ParseBase2},
			{id.Base36(), n.Text(36), ParseBase36},
			{id.Base64(), base64.StdEncoding.EncodeToString([]byte(n.String())), ParseBase64},
		} {
			if form.text != form.want {
				t.Errorf("%d: %s, want %s", id, form.text, form.want)
			}
			if got, err := form.parse(form.text); got != id || err != nil {
				t.Errorf("%s read as %d, %v, want %d", form.text, got, err, id)
			}
		}
	}
}

func TestParseDigitsRefuse(t *testing.T) {
	for name, refused := range map[string]struct {
		parse func(string) (ID, error)
		texts []string
	}{
		"ParseBase2":  {ParseBase2, []string{"2", "1" + strings.Repeat("0", 64), "0b1"}},
		"ParseBase36": {ParseBase36, []string{"A", "3w5e11264sgsg", "zzzzzzzzzzzzz", "{", "10000000000000"}},
		"ParseBase64": {ParseBase64, []string{"MQ", "MQ=", "MR==", "MDE=", "LTE=", "MQ==\n", "M\nQ==", "AA==", "MTg0NDY3NDQwNzM3MDk1NTE2MTY="}},
	} {
		for _, text := range slices.Concat(refused.texts, []string{"", "-1", "+1", " 1", "1 ", "01", "00", "é", "\x00"}) {
			if id, err := refused.parse(text); !errors.Is(err, ErrInvalidID) {
				t.Errorf("%s(%q) = %d, %v, want ErrInvalidID", name, text, id, err)
			}
		}
	}
}
