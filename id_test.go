package randflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/base32"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

// wellKnown are IDs whose text can be told by looking.
var wellKnown = map[ID]string{
	0:                  "g000000000000",
	1:                  "g000000000001",
	31:                 "g00000000000v",
	32:                 "g000000000010",
	785077:             "g00000000null",
	math.MaxInt64:      "nvvvvvvvvvvvv",
	math.MinInt64:      "o000000000000",
	-1:                 "vvvvvvvvvvvvv",
	0x0123456789abcdef: "g28q5cu4qnjff",
}

// kindOrder is a struct with an ID of its own kind, and too large for a register.
type kindOrder struct {
	ID   orderID `json:"id" xml:"id"`
	Rest [20]int `json:"-" xml:"-"`
}

type (
	orderID = Typed[kindOrder]

	kindLine struct{}
	kindBare struct{}
	kindBad  struct{}
)

func (kindOrder) IDPrefix() string { return "ord" }
func (kindLine) IDPrefix() string  { return "ord_line2" }
func (kindBare) IDPrefix() string  { return "" }
func (kindBad) IDPrefix() string   { return badPrefix }

var badPrefix string

// kindOf is of integers whose texts begin with a prefix.
func kindOf[T ~int64](prefix string, parse func(string) (T, error), ids ...ID) idtest.Forms[T] {
	k := idtest.Forms[T]{
		IDs: map[string]T{}, Parse: parse, Invalid: ErrInvalidID,
		Column: func(id T) driver.Value { return int64(id) },
		Sources: func(id T) []any { // the forms in which drivers give an integer of 64 bits
			signed, unsigned := fmt.Sprint(int64(id)), strconv.FormatUint(uint64(id), 10)
			return []any{uint64(id), signed, unsigned, []byte(signed), []byte(unsigned), fmt.Sprintf("%020d", uint64(id))}
		},
		BadTexts: []string{
			"ord-g000000000010",
			"or_g000000000010",
			"ordd_g000000000010",
			"ord__g000000000010",
			"ORD_g000000000010",
			"Ord_g000000000010",
			" ord_g000000000010",
			"cus_g000000000010",
			"ord_ord_g000000000010",
			"g000000000010_ord",
			strings.Repeat("ord_", 1000),
		},
		BadJSON: []string{`1.0`, `1e3`, `true`, `{}`, `[1]`, "01", "+1", "", "-", `"`, `"\r"`,
			"9007199254740992", "-9007199254740992", "-9223372036854775808", "18446744073709551616",
			"10", "-1", "7", "12345", "90210", "-0"},
		BadColumns: []any{"jvgoe12ccb8gh", []byte("jvgoe12ccb8gh"), []byte("v"), "", " 1", "1.0", "1e3", "0x1", "ord_1",
			"18446744073709551616", "-9223372036854775809", 1.5, true, nil},
	}
	for _, id := range ids {
		k.IDs[prefix+textOf(id)] = T(id)
	}
	for _, text := range []string{
		"", " ", "1", "-1", "+1", "1=", "w", "W", "z", "A", "1V", "0x1", "1_0", "é", "\x00", "1\n", "10", "0", "v", "null",
		"g00000000000", "g0000000000000", " g00000000000", "g00000000000 ", "g000000000000 ", " g000000000000", // lengths
		"0000000000010", "0g00000000010", "fvvvvvvvvvvvv", "8000000000000", "3vgoe12ccb8gh", // of gosuda
		"w000000000000", "g00000000000w", "g00000000000V", "g000000_00000", "g00000000000é", "g0000000000é", "-000000000000", // digits
		"G000000000010", "JVGOE12CCB8GH", "jvgoe12ccb8gH", "VVVVVVVVVVVVV", "1541815603606036480",
	} {
		k.BadTexts = append(k.BadTexts, prefix+text)
	}
	return k
}

func plainKind(ids ...ID) idtest.Forms[ID] {
	k := kindOf("", Parse, ids...)
	k.Must = MustParse
	integers := k.Sources
	k.Sources = func(id ID) []any { return append(integers(id), &id) } // which ent's CreateBulk scans
	k.BadColumns = append(k.BadColumns, (*ID)(nil))
	k.JSON = map[string]ID{
		` "g000000000010" `:           32,
		`"\u0067000000000010"`:        32,
		` "g0000000000\u0031\u0030" `: 32,
	}
	return k
}

func typedKind[K Kind](prefix string, ids ...ID) idtest.Forms[Typed[K]] {
	k := kindOf(prefix, ParseTyped[K], ids...)
	for _, text := range []string{"", "g000000000010", "ord", "ordg000000000010", "ord_g000000000010", "ord_line2_g000000000010"} {
		if prefix != "" && !strings.HasPrefix(text, prefix) {
			k.BadTexts = append(k.BadTexts, text)
		}
	}
	return k
}

// textOf is the text of an ID by RFC 4648's base32hex: the bits of 2^64 + id at the end of 80 bits.
func textOf(id ID) string {
	var b [10]byte
	b[1] = 1
	binary.BigEndian.PutUint64(b[2:], uint64(id))
	return strings.ToLower(base32.HexEncoding.EncodeToString(b[:])[3:])
}

func TestKinds(t *testing.T) {
	ids := []ID{0x0123456789abcdef}
	for id, text := range wellKnown {
		require.That(t, id.String() == text, "the text of %d is %v, want %s", int64(id), id, text)
		ids = append(ids, id)
	}
	for shift := range 128 {
		id := ID(rand.Uint64() >> (shift % 64))
		ids = append(ids, id)
	}
	plainKind(ids...).Test(t)
	text := kindOf("", func(text string) (TextID, error) { id, err := Parse(text); return TextID(id), err }, ids...)
	text.Column = func(id TextID) driver.Value { return id.String() }
	text.Sources = func(id TextID) []any { return []any{[]byte(id.String())} }
	text.BadColumns = []any{"", "g000000000010 ", []byte(" g000000000010"), "10", []byte("10"), int64(1), uint64(1), "-1",
		[]byte("18446744073709551615"), 1.5, true, nil}
	text.Test(t)
	typedKind[kindOrder]("ord_", ids...).Test(t)
	typedKind[kindLine]("ord_line2_", ids...).Test(t)
	typedKind[kindBare]("", ids...).Test(t)
	typedKind[Kind]("", ids...).Test(t) // an interface has no zero value to ask
	raws := kindOf("", Parse)
	for _, id := range ids {
		for _, src := range raws.Sources(id) {
			var raw Raw
			if err := raw.Scan(src); err != nil || raw != Raw(id) {
				t.Errorf("Scan(%#v) = raw %d, %v", src, uint64(raw), err)
			}
		}
	}
	for _, src := range append(raws.BadColumns, "1234567.0") {
		raw := Raw(7)
		if err := raw.Scan(src); !errors.Is(err, ErrInvalidID) || raw != 7 || strings.Contains(err.Error(), "1234567") {
			t.Errorf("Scan(%#v) = raw %d, %v, want ErrInvalidID that does not show what may be a raw value", src, uint64(raw), err)
		}
	}
	var id ID
	require.Contains(t, id.Scan("jvgoe12ccb8gh").Error(), "TextID", "a text for an ID")
	require.Omits(t, new(Raw).Scan("jvgoe12ccb8gh").Error(), "TextID", "a text for a Raw, which no TextID holds")
	err := json.Unmarshal([]byte("12345"), &id)
	require.Contains(t, fmt.Sprint(err), `want a JSON string, as "g000000000000", and no ",string"`, "a number in JSON")
}

// TestLooks: the error of a text says what it looks like, in every form that is read.
func TestLooks(t *testing.T) {
	const (
		decimal  = "a decimal number: convert it to randflake.ID"
		gosuda   = "as gosuda/randflake prints it: compat.DecodeString reads it"
		capitals = "has capitals: want lower case"
		other    = "want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v"
	)
	looks := map[string]string{
		"10":                   decimal,
		"0":                    decimal,
		"-1":                   decimal,
		"-9223372036854775808": decimal,
		"1234567890123":        decimal,
		"18446744073709551616": decimal,
		"3vgoe12ccb8gh":        gosuda,
		"fvvvvvvvvvvvv":        gosuda,
		"1e3":                  gosuda,
		"a":                    gosuda,
		"true":                 other,
		"false":                gosuda,
		"null":                 other,
		"jvgoe12ccb8g":         other,
		"JVGOE12CCB8GH":        capitals,
		"jvgoe12ccb8gH":        capitals,
		"jvgoe12ccb8g\xff":     other,
		"":                     other,
		"-":                    other,
		"--1":                  other,
		"1.0":                  other,
		"3vgoe12ccb8ghh":       other,
	}
	for i := range textLength { // w is no digit, wherever it stands
		text := []byte("jvgoe12ccb8gh")
		text[i] = 'w'
		looks[string(text)] = other
	}
	for text, want := range looks {
		var id ID
		var textID TextID
		var typed orderID
		_, err := Parse(text)
		quoted := []byte(`"` + text + `"`)
		for name, err := range map[string]error{
			"Parse":  err,
			"text":   id.UnmarshalText([]byte(text)),
			"param":  id.UnmarshalParam(text),
			"bind":   id.Bind(text),
			"JSON":   id.UnmarshalJSON(quoted),
			"column": textID.Scan(text),
			"typed":  typed.UnmarshalText([]byte("ord_" + text)),
		} {
			require.That(t, errors.Is(err, ErrInvalidID) && strings.Contains(err.Error(), want),
				"%s of %q: %v, want %s", name, text, err, want)
		}
	}
}

func FuzzID(f *testing.F) { plainKind(slices.Collect(maps.Keys(wellKnown))...).Fuzz(f) }

func FuzzTyped(f *testing.F) {
	typedKind[kindOrder]("ord_", slices.Collect(maps.Keys(wellKnown))...).Fuzz(f)
}

// TestGob: binary formats have what they have of an int64, whatever the kind, so that a field can
// become an ID later.
func TestGob(t *testing.T) {
	for id := range wellKnown {
		var b bytes.Buffer
		var back struct {
			ID    ID
			Typed orderID
		}
		err := gob.NewEncoder(&b).Encode(struct{ ID, Typed int64 }{int64(id), int64(id)})
		if err = errors.Join(err, gob.NewDecoder(&b).Decode(&back)); err != nil || back.ID != id || back.Typed != orderID(id) {
			t.Errorf("%d is read as %+v: %v", int64(id), back, err)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for prefix, valid := range map[string]bool{
		"": true, "a": true, "z9": true, "a0": true, "sk_live": true, "a__b": true, strings.Repeat("a", 63): true,
		strings.Repeat("a", 64): false, "_": false, "_a": false, "a_": false, "9a": false, "A": false, "aB": false,
		"a-b": false, "a b": false, "é": false, "a/": false, "a\x00": false,
		"`a": false, "{a": false, "a`": false, "a{": false, "a/a": false, "a:a": false,
	} {
		badPrefix = prefix
		for name, use := range map[string]func(){
			"String":     func() { _ = Typed[kindBad](1).String() },
			"ParseTyped": func() { ParseTyped[kindBad]("g000000000001") },
		} {
			if got := panics(use); (got == nil) != valid || got != nil && !strings.Contains(fmt.Sprint(got), "kindBad") {
				t.Errorf("%s with the prefix %q: panics with %v", name, prefix, got)
			}
		}
	}
}

func TestCompose(t *testing.T) {
	c := NewCipher(NewSecret())
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for name, f := range map[string]Fields{
		"zero time":        {},
		"before the epoch": {Time: at(Epoch - 1)},
		"after the end":    {Time: at(MaxTimestamp + 1)},
		"node":             {Time: at(Epoch), Node: MaxNode + 1},
		"sequence":         {Time: at(Epoch), Sequence: MaxSequence + 1},
	} {
		if id, err := c.Compose(f); id != 0 || !errors.Is(err, ErrInvalidID) || errors.Is(err, ErrEndOfLife) != (name == "after the end") {
			t.Errorf("%s: Compose = %v, %v", name, id, err)
		}
	}
	want := Fields{Time: at(Epoch + 5).UTC(), Node: 1, Sequence: 2}
	id, err := c.Compose(Fields{Time: want.Time.Add(999 * time.Millisecond).In(time.FixedZone("", 3600)), Node: 1, Sequence: 2})
	got := c.Inspect(id)
	require.That(t, got == want && err == nil, "Inspect = %v, %v, want %v, rounded down", got, err, want)
	end := at(MaxTimestamp).UTC().Format(time.DateTime)
	bits := timestampBits + nodeBits + sequenceBits
	require.That(t, end == "2058-11-05 17:10:23" && bits == 64 && MaxNode == 131071 && MaxSequence == 131071,
		"the layout is not 30 + 17 + 17 bits, or does not end at %s", end)
}

func TestWithin(t *testing.T) {
	at := func(second float64) time.Time {
		return time.Unix(Epoch, 0).Add(time.Duration(second * float64(time.Second)))
	}
	for _, tt := range []struct {
		name  string
		f     Fields
		lease Lease
		want  string // in the error, or nothing
	}{
		{"first second and node", Fields{at(10), 3, 0}, Lease{3, 5, at(10), at(20)}, ""},
		{"last second and node", Fields{at(19), 5, MaxSequence}, Lease{3, 5, at(10), at(20)}, ""},
		{"before the start", Fields{at(9), 4, 0}, Lease{3, 5, at(10), at(20)}, "time 2024-10-27T03:33:29Z is before 2024-10-27T03:33:30Z"},
		{"at the end", Fields{at(20), 4, 0}, Lease{3, 5, at(10), at(20)}, "time 2024-10-27T03:33:40Z is not before 2024-10-27T03:33:40Z"},
		{"node below", Fields{at(10), 2, 0}, Lease{3, 5, at(10), at(20)}, "node 2 is not one of 3 to 5"},
		{"node above", Fields{at(10), 6, 0}, Lease{3, 5, at(10), at(20)}, "node 6 is not one of 3 to 5"},
		{"second that a window begins in", Fields{at(10), 0, 0}, Lease{0, MaxNode, at(10.9), at(20)}, ""},
		{"second that a window ends in", Fields{at(20), 0, 0}, Lease{0, MaxNode, at(10), at(20.1)}, ""},
		{"second after a window", Fields{at(21), 0, 0}, Lease{0, MaxNode, at(10), at(20.1)}, "time"},
		{"no time at all", Fields{}, Lease{0, MaxNode, at(0), time.Unix(math.MaxInt32, 0)}, "time 0001-01-01T00:00:00Z is before"},
		{"no lease at all", Fields{at(0), 0, 0}, Lease{}, "time"},
		{"window without time", Fields{at(10), 0, 0}, Lease{0, MaxNode, at(10.5), at(10.5)}, "time 2024-10-27T03:33:30Z is not"},
		{"window that ends before it starts", Fields{at(10), 0, 0}, Lease{0, MaxNode, at(10.5), at(10.2)}, "time"},
	} {
		err := tt.f.Within(tt.lease)
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, ErrImplausible) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// No verb, encoder or logger shows a raw value, and none makes one.
func TestRawIsHidden(t *testing.T) {
	raw := Raw(0x1234567890abcdef)
	type record struct {
		ID   Raw
		Ptr  *Raw
		Many []Raw
	}
	value := record{raw, &raw, []Raw{raw}}
	check := func(what, output string) {
		t.Helper()
		for _, base := range []int{8, 10, 16, 32, 36} {
			require.That(t, !strings.Contains(strings.ToLower(output), strconv.FormatUint(uint64(raw), base)),
				"%s leaks the raw value: %s", what, output)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%020d", "% x"} {
		check(verb, fmt.Sprintf(verb, value))
		require.Equal(t, fmt.Sprintf(verb, raw), inner, "%s", verb)
	}
	for name, encode := range map[string]func(w io.Writer, v any) error{
		"JSON":     func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
		"JSON key": func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(map[Raw]int{raw: 1}) },
		"XML":      func(w io.Writer, v any) error { return xml.NewEncoder(w).Encode(v) },
		"gob":      func(w io.Writer, v any) error { return gob.NewEncoder(w).Encode(v) },
	} {
		var b bytes.Buffer
		err := encode(&b, value)
		if !errors.Is(err, errInner) && (err == nil || !strings.Contains(err.Error(), errInner.Error())) {
			t.Errorf("%s: error %v, want one that names package mask", name, err)
		}
		check(name, b.String()+fmt.Sprint(err))
	}
	var b bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(handler).Info("made", "id", raw, "all", value, "ids", value.Many)
	}
	check("slog", b.String())
}
