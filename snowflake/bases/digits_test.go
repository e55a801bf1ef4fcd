package bases

import (
	"encoding/base64"
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/snowflake"
)

// What github.com/bwmarrin/snowflake v0.3.0 writes for some IDs, as its program did.
func TestFormsOfBwmarrin(t *testing.T) {
	for _, test := range []struct {
		id                    snowflake.ID
		base2, base36, base64 string
	}{
		{0, "0", "0", "MA=="},
		{1, "1", "1", "MQ=="},
		{61, "111101", "1p", "NjE="},
		{1541815603606036480, "1010101100101101000010001111101100010000101111010000000000000", "bppc0m3ju134", "MTU0MTgxNTYwMzYwNjAzNjQ4MA=="},
		{9223372036854775807, "111111111111111111111111111111111111111111111111111111111111111", "1y2p0ij32e8e7", "OTIyMzM3MjAzNjg1NDc3NTgwNw=="},
	} {
		if Format2(test.id) != test.base2 || Format36(test.id) != test.base36 || Format64(test.id) != test.base64 {
			t.Errorf("%d: %s, %s, %s", test.id, Format2(test.id), Format36(test.id), Format64(test.id))
		}
	}
}

func TestDigits(t *testing.T) {
	for _, id := range someIDs() {
		n := new(big.Int).SetUint64(uint64(id))
		for _, form := range []struct {
			text, want string
			parse      func(string) (snowflake.ID, error)
		}{
			{Format2(id), n.Text(2), Parse2},
			{Format36(id), n.Text(36), Parse36},
			{Format64(id), base64.StdEncoding.EncodeToString([]byte(n.String())), Parse64},
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
		parse func(string) (snowflake.ID, error)
		texts []string
	}{
		"Parse2":  {Parse2, []string{"2", "1" + strings.Repeat("0", 64), "0b1"}},
		"Parse36": {Parse36, []string{"A", "3w5e11264sgsg", "zzzzzzzzzzzzz", "{", "10000000000000"}},
		"Parse64": {Parse64, []string{"MQ", "MQ=", "MR==", "MDE=", "LTE=", "MQ==\n", "M\nQ==", "AA==", "MTg0NDY3NDQwNzM3MDk1NTE2MTY="}},
	} {
		for _, text := range slices.Concat(refused.texts, []string{"", "-1", "+1", " 1", "1 ", "01", "00", "é", "\x00"}) {
			if id, err := refused.parse(text); !errors.Is(err, snowflake.ErrInvalidID) {
				t.Errorf("%s(%q) = %d, %v, want ErrInvalidID", name, text, id, err)
			}
		}
	}
}

// The examples of text in the documentation are what the code says.
func TestDocumentedText(t *testing.T) {
	data, err := os.ReadFile("../../docs/layouts.md")
	if err != nil {
		t.Fatal(err)
	}
	id := snowflake.ID(1541815603606036480)
	for _, text := range []string{id.String(), Format32(id), Format58(id), Format62(id), Format2(id), Format36(id), Format64(id)} {
		if !strings.Contains(string(data), "| `"+text+"` |") {
			t.Errorf("docs/layouts.md does not give %s", text)
		}
	}
}
