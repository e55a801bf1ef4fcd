package randflake

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// integerForms are the forms in which drivers give the integer of 64 bits.
func integerForms(bits uint64) []any {
	signed, unsigned := fmt.Sprint(int64(bits)), fmt.Sprint(bits)
	return []any{int64(bits), bits, signed, unsigned, []byte(signed), []byte(unsigned), fmt.Sprintf("%020d", bits)}
}

func TestSQL(t *testing.T) {
	for _, test := range wellKnown {
		if v, err := driver.DefaultParameterConverter.ConvertValue(test.id); v != int64(test.id) || err != nil {
			t.Errorf("Value = %v, %v", v, err)
		}
		for _, src := range integerForms(uint64(test.id)) {
			var id ID
			var raw Raw
			if err := errors.Join(id.Scan(src), raw.Scan(src)); err != nil || id != test.id || raw != Raw(test.id) {
				t.Errorf("Scan(%#v) = %d, raw %d, %v", src, int64(id), uint64(raw), err)
			}
		}
	}
}

func TestTextIDInSQL(t *testing.T) {
	for _, test := range wellKnown {
		if v, err := driver.DefaultParameterConverter.ConvertValue(TextID(test.id)); v != test.text || err != nil {
			t.Errorf("Value = %v, %v", v, err)
		}
		for _, src := range []any{test.text, []byte(test.text)} {
			var id ID
			if err := (*TextID)(&id).Scan(src); err != nil || id != test.id {
				t.Errorf("Scan(%#v) = %d, %v", src, int64(id), err)
			}
		}
	}
}

// What a column of the other kind gives is no ID, and so is what no column of IDs gives.
func TestScanRefuses(t *testing.T) {
	id, text, raw := ID(7), TextID(7), Raw(7)
	for _, scan := range []struct {
		name    string
		into    sql.Scanner
		sources []any
	}{
		{"an ID", &id, []any{"3vgoe12ccb8gh", []byte("v"), "", " 1", "1.0", "1e3", "0x1", "18446744073709551616", "-9223372036854775809", 1.5, true, nil}},
		{"a Raw", &raw, []any{"3vgoe12ccb8gh", []byte("v"), "", "1.0", "18446744073709551616", 1.5, true, nil}},
		{"a TextID", &text, []any{int64(1), uint64(1), "-1", []byte("18446744073709551615"), 1.5, true, nil}},
	} {
		for _, src := range scan.sources {
			if err := scan.into.Scan(src); !errors.Is(err, ErrInvalidID) {
				t.Errorf("Scan of %s from %#v: %v, want ErrInvalidID", scan.name, src, err)
			}
		}
	}
	if id != 7 || text != 7 || raw != 7 {
		t.Errorf("failed scans changed what was there: %d, %d, %d", id, text, uint64(raw))
	}
	if err := id.Scan("3vgoe12ccb8gh"); !strings.Contains(err.Error(), "TextID") {
		t.Errorf("%q does not name the type for text columns", err)
	}
	if err := raw.Scan("1234567.0"); strings.Contains(err.Error(), "1234567") {
		t.Errorf("%q shows what may be a raw value", err)
	}
}

func TestScanNull(t *testing.T) {
	var id NullID
	var text NullTextID
	var raw sql.Null[Raw] // goes too
	for _, null := range []sql.Scanner{&id, &text, &raw} {
		if err := null.Scan(nil); err != nil {
			t.Errorf("%T: %v", null, err)
		}
	}
	if id.Valid || text.Valid || raw.Valid {
		t.Error("NULL is valid")
	}
	if err := errors.Join(id.Scan("32"), text.Scan("10"), raw.Scan("32")); err != nil || id.V != 32 || text.V != 32 || raw.V != 32 {
		t.Errorf("%v, %v, %d, %v, want 32", id.V, text.V, uint64(raw.V), err)
	}
}

// Outside of databases a TextID is an ID.
func TestTextIDElsewhere(t *testing.T) {
	type record[T any] struct{ ID T }
	data, err := json.Marshal(record[TextID]{32})
	if want := `{"ID":"10"}`; string(data) != want || err != nil || fmt.Sprint(TextID(32)) != "10" {
		t.Errorf("JSON %s, %v, want %s; printed as %v", data, err, want, TextID(32))
	}
	var back record[TextID]
	if err := json.Unmarshal(data, &back); err != nil || back.ID != 32 {
		t.Errorf("from JSON %s: %d, %v", data, back.ID, err)
	}
}
