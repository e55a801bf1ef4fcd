package snowflake

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var _ interface {
	encoding.TextAppender
	encoding.TextUnmarshaler
	json.Marshaler
	json.Unmarshaler
	driver.Valuer
	sql.Scanner
	fmt.Stringer
} = (*ID)(nil)

// someIDs returns those around powers of two and ten, and random ones of all lengths, in order.
func someIDs() []ID {
	ids := []ID{0, math.MaxInt64, 1 << 63, math.MaxUint64}
	for shift := range 64 {
		ids = append(ids, 1<<shift-1, 1<<shift, ID(rand.Uint64N(1<<shift)))
	}
	for power := ID(10); power < math.MaxUint64/10; power *= 10 {
		ids = append(ids, power-1, power)
	}
	slices.Sort(ids)
	return ids
}

// All forms are what they should be, and come back.
func TestRoundTrips(t *testing.T) {
	for _, id := range someIDs() {
		want := strconv.FormatUint(uint64(id), 10)
		text, _ := id.AppendText([]byte("id-"))
		marshaled, _ := id.MarshalText()
		quoted, err := json.Marshal(map[ID]ID{id: id})
		value, _ := id.Value()
		if id.String() != want || string(text) != "id-"+want || string(marshaled) != want || string(quoted) != fmt.Sprintf(`{"%s":"%[1]s"}`, want) || err != nil {
			t.Errorf("%s: String %s, AppendText %s, MarshalText %s, JSON %s", want, id, text, marshaled, quoted)
		}
		if _, integer := value.(int64); integer != (id <= math.MaxInt64) {
			t.Errorf("%s: the SQL value is a %T", want, value)
		}
		for name, read := range map[string]func(to *ID) error{
			"Parse":         func(to *ID) (err error) { *to, err = Parse(want); return err },
			"UnmarshalText": func(to *ID) error { return to.UnmarshalText([]byte(want)) },
			"JSON":          func(to *ID) error { return json.Unmarshal([]byte(` "`+want+`" `), to) },
			"Scan":          func(to *ID) error { return errors.Join(to.Scan(value), to.Scan([]byte(want))) },
			"Scan unsigned": func(to *ID) error { return errors.Join(to.Scan(uint64(id))) },
		} {
			var to ID
			if err := read(&to); to != id || err != nil {
				t.Errorf("%s: %s read as %d, %v", name, want, to, err)
			}
		}
		var number ID // JavaScript rounds from 2^53 on
		if err := json.Unmarshal([]byte(want), &number); (err == nil) != (id < 1<<53) || err == nil && number != id || err != nil && !strings.Contains(err.Error(), "as a string") {
			t.Errorf("the JSON number %s read as %d, %v", want, number, err)
		}
	}
}

// What is no ID is an error in every form, and changes none.
func TestReadRefuses(t *testing.T) {
	id := ID(7)
	check := func(err error, form string, what any) {
		t.Helper()
		if id != 7 || !errors.Is(err, errInvalidID) {
			t.Errorf("%s of %q: %d, %v, want errInvalidID", form, what, id, err)
		}
	}
	for _, text := range []string{
		"", " ", "1 ", " 1", "1\n", "-1", "-0", "+1", "00", "01", "0x1", "1_0", "1e3", "1.0", "a", "/", ":", "1:", "é", "١", "\x00",
		"18446744073709551616", "99999999999999999999", "184467440737095516160", "0000000000000000000001",
	} {
		quoted, _ := json.Marshal(text)
		_, err := Parse(text)
		check(err, "Parse", text)
		check(id.UnmarshalText([]byte(text)), "UnmarshalText", text)
		check(id.UnmarshalJSON(quoted), "JSON", text)
		check(id.Scan(text), "Scan", text)
		check(id.Scan([]byte(text)), "Scan", text)
	}
	for _, data := range []string{"-1", "-0", "1.0", "1e3", "18446744073709551616", `"`, `"\u00"`, "true", "[1]", `{"a":1}`, ""} {
		check(id.UnmarshalJSON([]byte(data)), "JSON", data)
	}
	for _, src := range []any{nil, 1.0, true, int64(-1), int64(math.MinInt64)} {
		check(id.Scan(src), "Scan", src)
	}
	if err := json.Unmarshal([]byte("null"), &id); id != 7 || err != nil {
		t.Errorf("null: %d, %v", id, err)
	}
}
