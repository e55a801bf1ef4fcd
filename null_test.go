package randflake_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

var (
	_ driver.Valuer = randflake.NullID{}
	_ sql.Scanner   = (*randflake.NullID)(nil)
)

func TestNull(t *testing.T) {
	testNull(t, randflake.ID(-5), `"fvvvvvvvvvvvr"`, int64(-5))
	testNull(t, randflake.TextID(32), `"10"`, "10")
	testNull(t, snowflake.ID(32), `"32"`, int64(32))
	id := ulid.ID{15: 1}
	testNull(t, id, `"00000000000000000000000001"`, id[:])
	testNull(t, randflake.ID(0), `"0"`, int64(0)) // is there, though it is zero
}

// testNull takes an ID, and none, through JSON and a column.
func testNull[T interface {
	comparable
	driver.Valuer
}](t *testing.T, id T, text string, column driver.Value) {
	t.Helper()
	type record struct {
		ID   randflake.Null[T]
		Left randflake.Null[T] `json:",omitzero"`
	}
	some := randflake.Null[T]{V: id, Valid: true}
	for _, test := range []struct {
		null   randflake.Null[T]
		json   string
		column driver.Value
	}{
		{some, `{"ID":` + text + `,"Left":` + text + `}`, column},
		{randflake.Null[T]{}, `{"ID":null}`, nil},
		{randflake.Null[T]{V: id}, `{"ID":null}`, nil},
	} {
		data, err := json.Marshal(record{test.null, test.null})
		if string(data) != test.json || err != nil {
			t.Errorf("JSON of %T %v: %s, %v, want %s", id, test.null, data, err, test.json)
		}
		want := test.null
		if !want.Valid {
			want = randflake.Null[T]{}
		}
		if test.null.IsZero() == want.Valid {
			t.Errorf("IsZero of %v: %t", test.null, test.null.IsZero())
		}
		back := record{ID: some}
		if err := json.Unmarshal(data, &back); back != (record{want, want}) || err != nil {
			t.Errorf("%T from JSON %s: %v, %v", id, data, back, err)
		}
		element := "<ID></ID>"
		if want.Valid {
			element = "<ID>" + strings.Trim(text, `"`) + "</ID>"
		}
		data, err = xml.Marshal(record{test.null, test.null})
		if err != nil || !strings.Contains(string(data), element) {
			t.Errorf("XML of %T %v: %s, %v, want %s", id, test.null, data, err, element)
		}
		back = record{ID: some}
		if err := xml.Unmarshal(data, &back); back != (record{want, want}) || err != nil {
			t.Errorf("%T from XML %s: %v, %v", id, data, back, err)
		}
		value, err := test.null.Value()
		if !reflect.DeepEqual(value, test.column) || err != nil {
			t.Errorf("column of %T %v: %v, %v, want %v", id, test.null, value, err, test.column)
		}
		scanned := some
		if err := scanned.Scan(value); scanned != want || err != nil {
			t.Errorf("%T from column %v: %v, %v, want %v", id, value, scanned, err, want)
		}
	}
	kept := some
	if err := kept.Scan(1.5); err == nil || kept != some {
		t.Errorf("%T from a column of 1.5: %v, %v", id, kept, err)
	}
	if err := kept.UnmarshalText([]byte("?")); err == nil || kept != some {
		t.Errorf(`%T from text "?": %v, %v`, id, kept, err)
	}
	if err := json.Unmarshal([]byte(`"?"`), &kept); err == nil || kept != some {
		t.Errorf(`%T from JSON "?": %v, %v`, id, kept, err)
	}
}

// The same names for the same things, of each kind of IDs.
func TestNamesOfAllKinds(t *testing.T) {
	testNames(t, randflake.MustParse, "8000000000000", "7vvvvvvvvvvvv", "0") // as signed numbers
	testNames(t, snowflake.MustParse, "9", "10", "0")
	testNames(t, ulid.MustParse, "00000000000000000000000009", "0000000000000000000000000A", "00000000000000000000000000")
}

func testNames[T interface {
	comparable
	fmt.Stringer
	Compare(T) int
	IsZero() bool
}](t *testing.T, mustParse func(string) T, low, high, zero string) {
	t.Helper()
	var none T
	a, b := mustParse(low), mustParse(high)
	if a.String() != low || b.String() != high || mustParse(zero) != none {
		t.Errorf("MustParse: %v, %v, %v", a, b, mustParse(zero))
	}
	if a.Compare(b) != -1 || b.Compare(a) != +1 || a.Compare(a) != 0 {
		t.Errorf("%v is compared wrongly with %v", a, b)
	}
	if a.IsZero() || b.IsZero() || !none.IsZero() {
		t.Errorf("IsZero: %t, %t, %t", a.IsZero(), b.IsZero(), none.IsZero())
	}
	data, err := json.Marshal(struct {
		ID T `json:",omitzero"`
	}{none})
	if string(data) != "{}" || err != nil {
		t.Errorf("zero with omitzero: %s, %v", data, err)
	}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), `"?`) && !strings.Contains(err.Error(), "got 1 char") {
			t.Errorf("MustParse panics with %v", err)
		}
	}()
	mustParse("?")
	t.Error("MustParse takes a question mark")
}

// What each verb of package fmt prints of each kind.
func TestVerbs(t *testing.T) {
	for _, test := range []struct {
		format string
		id     any
		want   string
	}{
		{"%v", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%+v", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%s", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%15s|%-15s|", randflake.ID(-1), "  fvvvvvvvvvvvv|fvvvvvvvvvvvv  |"},
		{"%q", randflake.ID(-1), `"fvvvvvvvvvvvv"`},
		{"%d", randflake.ID(-1), "-1"},
		{"%05d", randflake.ID(7), "00007"},
		{"%#v", randflake.ID(-1), "-1"},
		{"%x", randflake.ID(32), "20"},
		{"%X", randflake.ID(-2), "FFFFFFFFFFFFFFFE"},
		{"%#x %016x", randflake.ID(32), "0x20 0000000000000020"},
		{"%x", randflake.TextID(32), "20"},
		{"%v %s", randflake.TextID(32), "10 10"},
		{"%v", []randflake.ID{32, 1}, "[10 1]"},
		{"%x", []randflake.ID{32, 1}, "[20 1]"},
		{"%v %s %+v %d", snowflake.ID(32), "32 32 32 32"},
		{"%q", snowflake.ID(32), `"32"`},
		{"%#v", snowflake.ID(32), "0x20"},
		{"%x", snowflake.ID(32), "20"},
		{"%v %s %+v", ulid.ID{}, strings.TrimSpace(strings.Repeat("00000000000000000000000000 ", 3))},
		{"%q", ulid.ID{}, `"00000000000000000000000000"`},
		{"%d", ulid.ID{15: 31}, "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 31]"},
		{"%x", ulid.ID{15: 31}, "0000000000000000000000000000001f"},
	} {
		args := make([]any, strings.Count(test.format, "%"))
		for i := range args {
			args[i] = test.id
		}
		if got := fmt.Sprintf(test.format, args...); got != test.want {
			t.Errorf("%s of a %T: %s, want %s", test.format, test.id, got, test.want)
		}
	}
}
