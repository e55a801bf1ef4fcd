package snowflake

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

var _ interface {
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	json.Marshaler
	driver.Valuer
	fmt.Stringer
} = ID(0)

var _ interface {
	encoding.TextUnmarshaler
	encoding.BinaryUnmarshaler
	json.Unmarshaler
	sql.Scanner
} = (*ID)(nil)

// someIDs returns those around powers of two and ten, and random ones of all lengths.
func someIDs() []ID {
	ids := []ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 {
		ids = append(ids, 1<<shift-1, 1<<shift, ID(rand.Uint64N(1<<shift)))
	}
	for power := ID(10); power < math.MaxUint64/10; power *= 10 {
		ids = append(ids, power-1, power)
	}
	return ids
}

func TestDecimal(t *testing.T) {
	for _, id := range someIDs() {
		want := strconv.FormatUint(uint64(id), 10)
		text, err := id.AppendText([]byte("id-"))
		if id.String() != want || string(text) != "id-"+want || err != nil {
			t.Errorf("%d: String %s, AppendText %s, %v", uint64(id), id.String(), text, err)
		}
		text, err = id.MarshalText()
		if string(text) != want || err != nil {
			t.Errorf("%d: MarshalText %s, %v", uint64(id), text, err)
		}
		if got, err := Parse(want); got != id || err != nil {
			t.Errorf("Parse(%s) = %d, %v", want, uint64(got), err)
		}
		var read ID
		if err := read.UnmarshalText(text); read != id || err != nil {
			t.Errorf("UnmarshalText(%s) = %d, %v", text, uint64(read), err)
		}
	}
}

// notDecimal are texts that are no ID.
var notDecimal = []string{
	"", " ", "1 ", " 1", "1\n", "-1", "-0", "+1", "00", "01", "0x1", "1_0", "1e3", "1.0", "a", "/", ":", "1:", "é", "١", "\x00",
	"18446744073709551616", // 1 << 64
	"99999999999999999999", // 20 digits
	"184467440737095516160",
	"0000000000000000000001",
}

func TestParseRefuses(t *testing.T) {
	for _, text := range notDecimal {
		id := ID(7)
		_, parsed := Parse(text)
		quoted, _ := json.Marshal(text)
		for name, err := range map[string]error{
			"Parse":           parsed,
			"UnmarshalText":   id.UnmarshalText([]byte(text)),
			"UnmarshalJSON":   id.UnmarshalJSON(quoted),
			"a string's Scan": id.Scan(text),
			"bytes' Scan":     id.Scan([]byte(text)),
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

func TestBinary(t *testing.T) {
	for _, a := range someIDs() {
		left, err := a.MarshalBinary()
		if err != nil || len(left) != 8 {
			t.Fatalf("%d: %v, %v", a, left, err)
		}
		var read ID
		if err := read.UnmarshalBinary(left); read != a || err != nil {
			t.Errorf("%v read as %d, %v, want %d", left, read, err, a)
		}
		for _, b := range someIDs() {
			right, _ := b.MarshalBinary()
			if (bytes.Compare(left, right) < 0) != (a < b) {
				t.Fatalf("the bytes of %d and %d sort differently", a, b)
			}
		}
	}
	if b, _ := ID(0x0102).AppendBinary([]byte{9}); !bytes.Equal(b, []byte{9, 0, 0, 0, 0, 0, 0, 1, 2}) {
		t.Errorf("AppendBinary made %v", b)
	}
	for _, b := range [][]byte{nil, make([]byte, 7), make([]byte, 9)} {
		if err := new(ID).UnmarshalBinary(b); !errors.Is(err, ErrInvalidID) {
			t.Errorf("UnmarshalBinary of %d bytes: %v", len(b), err)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, id := range someIDs() {
		b, err := json.Marshal(struct{ ID ID }{id})
		want := fmt.Sprintf(`{"ID":"%d"}`, id)
		if string(b) != want || err != nil {
			t.Errorf("%d: %s, %v", id, b, err)
		}
		var read struct{ ID ID }
		if err := json.Unmarshal([]byte(want), &read); read.ID != id || err != nil {
			t.Errorf("%s read as %d, %v", want, read.ID, err)
		}
		err = json.Unmarshal(fmt.Appendf(nil, `{"ID": %d }`, id), &read)
		if exact := id < 1<<53; exact != (err == nil) || exact && read.ID != id {
			t.Errorf("the number %d read as %d, %v", id, read.ID, err)
		}
	}
	id := ID(7)
	for _, data := range []string{"9007199254740992", "18446744073709551615"} {
		if err := id.UnmarshalJSON([]byte(data)); id != 7 || !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), "want the ID as a string") {
			t.Errorf("JSON %s, which JavaScript rounds: %d, %v", data, id, err)
		}
	}
	if err := id.UnmarshalJSON([]byte("9007199254740991")); id != 1<<53-1 || err != nil {
		t.Errorf("the largest number: %d, %v", id, err)
	}
	id = 7
	if err := json.Unmarshal([]byte("null"), &id); id != 7 || err != nil {
		t.Errorf("null: %d, %v", id, err)
	}
	for _, data := range []string{"-1", "-0", "1.0", "1e3", "18446744073709551616", `"`, `"\u00"`, "true", "[1]", `{"a":1}`, ""} {
		if err := id.UnmarshalJSON([]byte(data)); id != 7 || !errors.Is(err, ErrInvalidID) {
			t.Errorf("JSON %s: %d, %v, want ErrInvalidID", data, id, err)
		}
	}
	keys, err := json.Marshal(map[ID]bool{12: true})
	if string(keys) != `{"12":true}` || err != nil {
		t.Errorf("as a key: %s, %v", keys, err)
	}
}

func TestSQL(t *testing.T) {
	for _, id := range someIDs() {
		want, sources := any(int64(id)), []any{uint64(id), id.String(), []byte(id.String())}
		if id > math.MaxInt64 {
			want = id.String()
		} else {
			sources = append(sources, int64(id))
		}
		value, err := id.Value()
		if value != want || err != nil || !driver.IsValue(value) {
			t.Errorf("Value of %d: %v, %v", id, value, err)
		}
		for _, src := range sources {
			var read ID
			if err := read.Scan(src); read != id || err != nil {
				t.Errorf("Scan of %T %v: %d, %v", src, src, read, err)
			}
		}
	}
	id := ID(7)
	for _, src := range []any{nil, 1.0, true, int64(-1), int64(math.MinInt64)} {
		if err := id.Scan(src); id != 7 || !errors.Is(err, ErrInvalidID) {
			t.Errorf("Scan of %T: %d, %v, want ErrInvalidID", src, id, err)
		}
	}
}
