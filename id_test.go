package randflake

import (
	"bytes"
	"database/sql"
	"encoding"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// wellKnown are IDs whose text can be told by looking.
var wellKnown = []struct {
	id   ID
	text string
}{
	{0, "0"},
	{1, "1"},
	{31, "v"},
	{32, "10"},
	{math.MaxInt64, "7vvvvvvvvvvvv"},
	{math.MinInt64, "8000000000000"},
	{-1, "fvvvvvvvvvvvv"},
	{0x0123456789abcdef, "28q5cu4qnjff"},
}

func TestText(t *testing.T) {
	for _, test := range wellKnown {
		if got := test.id.String(); got != test.text {
			t.Errorf("String of %d: %q, want %q", int64(test.id), got, test.text)
		}
		if got, err := Parse(test.text); got != test.id || err != nil {
			t.Errorf("Parse(%q) = %d, %v, want %d", test.text, int64(got), err, int64(test.id))
		}
	}
	for shift := range 64 {
		id := ID(uint64(1)<<shift | rand.Uint64N(1<<shift))
		if got, want := id.String(), strconv.FormatUint(uint64(id), 32); got != want {
			t.Errorf("String of %d: %q, strconv says %q", int64(id), got, want)
		}
	}
}

// The text form is RFC 4648's base32hex of the bits, moved to the end of 65 bits.
func TestTextAgainstBase32(t *testing.T) {
	for range 1000 {
		id := ID(rand.Uint64())
		var b [10]byte // 80 bits: 16 digits
		binary.BigEndian.PutUint64(b[2:], uint64(id))
		want := strings.ToLower(strings.TrimLeft(base32.HexEncoding.EncodeToString(b[:]), "0"))
		if got := id.String(); got != want {
			t.Fatalf("String of %d: %q, base32 says %q", int64(id), got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", " 1", "1 ", "-1", "+1", "1=", "w", "W", "z", "0x1", "1_0", "é", "\x00", "1\n",
		"g000000000000",                                       // 65 bits
		"vvvvvvvvvvvvv",                                       // likewise
		"10000000000000",                                      // 14 digits
		"00000000000000",                                      // 14 digits, though zero
		"V", "28Q5CU4QNJFF", "FVVVVVVVVVVVV", "3vgoe12ccb8gH", // other texts of an ID
		"00", "0v", "000000000000v", "028q5cu4qnjff",
	} {
		id := ID(7)
		quoted, _ := json.Marshal(text)
		for name, err := range map[string]error{
			"Parse":                   second(Parse(text)),
			"UnmarshalText":           id.UnmarshalText([]byte(text)),
			"UnmarshalText of TextID": (*TextID)(&id).UnmarshalText([]byte(text)),
			"UnmarshalJSON":           json.Unmarshal(quoted, &id),
			"Scan of TextID":          (*TextID)(&id).Scan(text),
			"Scan of bytes":           (*TextID)(&id).Scan([]byte(text)),
		} {
			if !errors.Is(err, ErrInvalidID) {
				t.Errorf("%s of %q: %v, want ErrInvalidID", name, text, err)
			}
		}
		if id != 7 {
			t.Errorf("a failed parse of %q changed the ID", text)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAppendKeepsWhatIsThere(t *testing.T) {
	b, _ := ID(33).AppendText([]byte("id-"))
	if b, _ = ID(0).AppendText(b); string(b) != "id-110" {
		t.Errorf("AppendText made %q", b)
	}
	if b, _ := ID(0x0102).AppendBinary([]byte{9}); !bytes.Equal(b, []byte{9, 2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("AppendBinary made %v", b)
	}
}

var _ interface {
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	json.Marshaler
	fmt.Stringer
} = ID(0)

var _ interface {
	encoding.TextUnmarshaler
	encoding.BinaryUnmarshaler
	json.Unmarshaler
	sql.Scanner
} = (*ID)(nil)

func TestBinary(t *testing.T) {
	for _, test := range wellKnown {
		b, err := test.id.MarshalBinary()
		if err != nil || binary.LittleEndian.Uint64(b) != uint64(test.id) {
			t.Errorf("MarshalBinary of %d = %v, %v", int64(test.id), b, err)
		}
		var id ID
		if err := id.UnmarshalBinary(b); err != nil || id != test.id {
			t.Errorf("UnmarshalBinary of %v = %d, %v", b, int64(id), err)
		}
	}
	var id ID
	for _, b := range [][]byte{nil, make([]byte, 7), make([]byte, 9)} {
		if err := id.UnmarshalBinary(b); !errors.Is(err, ErrInvalidID) {
			t.Errorf("UnmarshalBinary of %d bytes: %v", len(b), err)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, test := range wellKnown {
		b, err := json.Marshal(test.id)
		if err != nil || string(b) != strconv.Quote(test.text) {
			t.Errorf("JSON of %d: %s, %v", int64(test.id), b, err)
		}
		var back ID
		if err := json.Unmarshal(b, &back); err != nil || back != test.id {
			t.Errorf("from JSON %s: %d, %v", b, int64(back), err)
		}
	}
	for _, want := range []ID{0, 7, -7, 1<<53 - 1, -1<<53 + 1} {
		var id ID
		if err := json.Unmarshal(strconv.AppendInt(nil, int64(want), 10), &id); err != nil || id != want {
			t.Errorf("from JSON %d: %d, %v", int64(want), int64(id), err)
		}
	}
	id := ID(7)
	for _, data := range []string{
		"9007199254740992", "-9007199254740992", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
	} {
		if err := json.Unmarshal([]byte(data), &id); !errors.Is(err, ErrInvalidID) || id != 7 || !strings.Contains(err.Error(), "want the ID as a string") {
			t.Errorf("from JSON %s, which JavaScript rounds: %d, %v", data, id, err)
		}
	}
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != 7 {
		t.Errorf("from JSON null: %d, %v", id, err)
	}
	var escaped ID
	if err := json.Unmarshal([]byte(`"\u0031\u0030"`), &escaped); err != nil || escaped != 32 {
		t.Errorf("from JSON with escapes: %d, %v", escaped, err)
	}
	for _, data := range []string{
		`""`, `"w"`, `"10000000000000"`, `1.0`, `1e3`, `true`, `{}`, `[1]`,
	} {
		if err := json.Unmarshal([]byte(data), &id); !errors.Is(err, ErrInvalidID) || id != 7 {
			t.Errorf("from JSON %s: %d, %v", data, id, err)
		}
	}
	for _, data := range []string{"01", "+1", "", "-"} { // which package json does not pass on
		if err := id.UnmarshalJSON([]byte(data)); !errors.Is(err, ErrInvalidID) || id != 7 {
			t.Errorf("from JSON %q: %d, %v", data, id, err)
		}
	}
	key, err := json.Marshal(map[ID]int{32: 1})
	if err != nil || string(key) != `{"10":1}` {
		t.Errorf("as a JSON key: %s, %v", key, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range wellKnown {
		f.Add(test.text)
	}
	f.Add("g000000000000")
	f.Add("0000000000001")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := Parse(text)
		// strconv knows base 32 too, and writes it so.
		want, wantErr := strconv.ParseUint(text, 32, 64)
		fits := text == strconv.FormatUint(want, 32)
		if (err == nil) != (wantErr == nil && fits) {
			t.Fatalf("Parse(%q): %v, strconv says %v", text, err, wantErr)
		}
		if err != nil {
			if !errors.Is(err, ErrInvalidID) {
				t.Fatalf("Parse(%q): %v", text, err)
			}
			return
		}
		if uint64(id) != want {
			t.Fatalf("Parse(%q) = %d, want %d", text, uint64(id), want)
		}
		if id.String() != text {
			t.Fatalf("Parse(%q) = %v", text, id)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, data := range []string{`"10"`, `"fvvvvvvvvvvvv"`, `-1`, `9223372036854775807`, `18446744073709551615`, `null`, `"\u0031"`, `1e2`, `"`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id := ID(7)
		if err := json.Unmarshal(data, &id); err != nil {
			if id != 7 {
				t.Fatalf("a failed read of %q changed the ID", data)
			}
			return
		}
		var direct ID
		if err := direct.UnmarshalJSON(bytes.TrimSpace(data)); err != nil || direct != id && string(bytes.TrimSpace(data)) != "null" {
			t.Fatalf("UnmarshalJSON(%q) = %v, %v, by json.Unmarshal %v", data, direct, err, id)
		}
		b, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var again ID
		if err := json.Unmarshal(b, &again); err != nil || again != id {
			t.Fatalf("%q: %v became %s, and that %v, %v", data, id, b, again, err)
		}
	})
}
