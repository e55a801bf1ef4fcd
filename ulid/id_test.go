package ulid

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var _ interface {
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	driver.Valuer
	fmt.Stringer
} = ID{}

var _ interface {
	encoding.TextUnmarshaler
	encoding.BinaryUnmarshaler
	sql.Scanner
} = (*ID)(nil)

// inBase32 is what the text form is, by a library that knows nothing of it.
func inBase32(id ID) string {
	text := fmt.Sprintf("%026s", new(big.Int).SetBytes(id[:]).Text(32))
	return strings.Map(func(r rune) rune { return rune(crockford[strings.IndexRune("0123456789abcdefghijklmnopqrstuv", r)]) }, text)
}

// All forms come back, and the text is a number to the base of 32.
func TestRoundTrips(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	last := ID([]byte(strings.Repeat("\xff", 16)))
	var some ID
	for i := range some {
		some[i] = byte(random.Uint32())
	}
	for _, id := range []ID{{}, last, some} {
		if got, want := id.String(), inBase32(id); got != want {
			t.Errorf("String of %x: %q, want %q", [16]byte(id), got, want)
		}
		for name, trip := range map[string]func(to *ID) error{
			"Parse": func(to *ID) (err error) { *to, err = Parse(id.String()); return err },
			"text":  func(to *ID) error { b, err := id.MarshalText(); return errors.Join(err, to.UnmarshalText(b)) },
			"append": func(to *ID) error {
				b, err := id.AppendText([]byte("-"))
				return errors.Join(err, to.UnmarshalText(b[1:]))
			},
			"binary": func(to *ID) error { b, err := id.MarshalBinary(); return errors.Join(err, to.UnmarshalBinary(b)) },
			"bytes": func(to *ID) error {
				b, err := id.AppendBinary([]byte{1})
				return errors.Join(err, to.UnmarshalBinary(b[1:]))
			},
			"JSON": func(to *ID) error { b, err := json.Marshal(id); return errors.Join(err, json.Unmarshal(b, to)) },
			"SQL": func(to *ID) error {
				v, err := driver.DefaultParameterConverter.ConvertValue(id)
				return errors.Join(err, to.Scan(v))
			},
			"SQL, a text column": func(to *ID) error { return to.Scan(id.String()) },
			"lower case":         func(to *ID) error { return to.UnmarshalText([]byte(strings.ToLower(id.String()))) },
			"SQL, by TextID": func(to *ID) error {
				v, err := driver.DefaultParameterConverter.ConvertValue(TextID(id))
				if v != id.String() {
					err = fmt.Errorf("value %v", v)
				}
				return errors.Join(err, (*TextID)(to).Scan(v))
			},
			"JSON, by TextID": func(to *ID) error {
				b, err := json.Marshal(TextID(id))
				return errors.Join(err, json.Unmarshal(b, (*TextID)(to)))
			},
			"SQL, a text column as bytes": func(to *ID) error { return to.Scan([]byte(id.String())) },
			"Inspect and Compose":         func(to *ID) (err error) { *to, err = Compose(Inspect(id)); return err },
		} {
			var to ID
			if err := trip(&to); err != nil || to != id {
				t.Errorf("%s: %v came back as %v, %v", name, id, to, err)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const text = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if _, err := Parse(text); err != nil {
		t.Fatal(err)
	}
	kept := ID{7: 7}
	for _, other := range []string{
		"", text[1:], text + "0", " " + text[1:], text[:25] + "U", text[:25] + "I", text[:25] + "L", text[:25] + "O", text[:25] + "o", text[:25] + "u",
		text[:25] + "é", text[:25] + "-", "8" + text[1:], "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
	} {
		id := kept
		quoted, _ := json.Marshal(other)
		_, err := Parse(other)
		for name, err := range map[string]error{
			"Parse": err, "UnmarshalText": id.UnmarshalText([]byte(other)), "JSON": json.Unmarshal(quoted, &id), "Scan": id.Scan(other),
		} {
			if !errors.Is(err, ErrInvalidID) || id != kept {
				t.Errorf("%s of %q: %v, %v, want ErrInvalidID", name, other, id, err)
			}
		}
	}
}

func TestScanRefuses(t *testing.T) {
	kept := ID{7: 7}
	id := kept
	for _, src := range []any{nil, int64(1), make([]byte, 15), make([]byte, 17), string(kept[:]), true, FormatUUID(kept)[:35] + "g"} {
		if err := id.Scan(src); !errors.Is(err, ErrInvalidID) || id != kept {
			t.Errorf("Scan(%#v): %v, %v, want ErrInvalidID", src, id, err)
		}
	}
	if err := id.UnmarshalBinary(make([]byte, 15)); !errors.Is(err, ErrInvalidID) || id != kept {
		t.Errorf("15 bytes: %v, %v", id, err)
	}
}

func TestInspect(t *testing.T) {
	id, err := Parse("01ARYZ6S410000000000000001")
	want := Fields{Time: time.Date(2016, 7, 30, 22, 36, 16, 385e6, time.UTC), Entropy: [10]byte{9: 1}}
	if got := Inspect(id); err != nil || got != want {
		t.Errorf("Inspect(%v) = %v, %v, want %v", id, got, err, want)
	}
	for _, at := range []time.Time{time.UnixMilli(-1), time.UnixMilli(1 << 48), {}} {
		if id, err := Compose(Fields{Time: at}); !errors.Is(err, ErrTime) || id != (ID{}) {
			t.Errorf("Compose at %v: %v, %v, want ErrTime", at, id, err)
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398")
	f.Add("FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398g")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c-7398f")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseUUID(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidUUID) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if got := FormatUUID(id); got != strings.ToLower(text) {
			t.Errorf("%q comes back as %q", text, got)
		}
	})
}

func TestUUIDText(t *testing.T) {
	for _, c := range []struct{ ulid, uuid string }{
		{"00000000000000000000000000", "00000000-0000-0000-0000-000000000000"},
		{"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		{"01FWHE4YDGFK1SHH6W1G60EECF", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"}, // RFC 9562, appendix A.6
	} {
		id := MustParse(c.ulid)
		if got := FormatUUID(id); got != c.uuid {
			t.Errorf("%s as a UUID is %s, want %s", c.ulid, got, c.uuid)
		}
		for _, text := range []string{c.uuid, strings.ToUpper(c.uuid)} {
			var scanned, raw ID // from columns of UUIDs
			back, err := ParseUUID(text)
			if err := errors.Join(err, scanned.Scan(text), raw.Scan([]byte(text))); err != nil || back != id || scanned != id || raw != id {
				t.Errorf("%s is %v, %v and %v, %v, want %s", text, back, scanned, raw, err, c.ulid)
			}
		}
	}
	for _, text := range []string{
		"",
		"017f22e279b07cc398c4dc0c0c07398f",
		"{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
		"urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
		"017f22e2-79b0-7cc3-98c4-dc0c0c-7398f",
		"017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2_79b0_7cc3_98c4_dc0c0c07398f",
		strings.Repeat("0", 1000),
	} {
		if id, err := ParseUUID(text); !errors.Is(err, ErrInvalidUUID) || id != (ID{}) || len(err.Error()) > 200 {
			t.Errorf("%q is %v, %v, want ErrInvalidUUID", text, id, err)
		}
	}
}
