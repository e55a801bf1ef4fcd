package randflake

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/base32"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wellKnown are IDs whose text can be told by looking.
var wellKnown = map[ID]string{
	0: "0", 1: "1", 31: "v", 32: "10", math.MaxInt64: "7vvvvvvvvvvvv", math.MinInt64: "8000000000000", -1: "fvvvvvvvvvvvv", 0x0123456789abcdef: "28q5cu4qnjff",
}

// kindOrder is a struct with an ID of its own kind, and too large for a register.
type kindOrder struct {
	ID   orderID `json:"id" xml:"id"`
	Rest [20]int `json:"-" xml:"-"`
}

type (
	orderID = Typed[kindOrder]
	lineID  = Typed[kindLine]
	bareID  = Typed[kindBare]

	kindLine struct{}
	kindBare struct{}
	kindBad  struct{}
)

func (kindOrder) IDPrefix() string { return "ord" }
func (kindLine) IDPrefix() string  { return "ord_line2" }
func (kindBare) IDPrefix() string  { return "" }
func (kindBad) IDPrefix() string   { return badPrefix }

var badPrefix string

var _ interface {
	encoding.TextAppender
	json.Marshaler
} = ID(0)

// TestForms: text, JSON, XML and columns of all types have the ID, and give it back. The digits are RFC 4648's base32hex of the
// bits, moved to the end of 65 bits.
func TestForms(t *testing.T) {
	for id, text := range wellKnown {
		testForms(t, id, text, int64(id), Parse)
		testForms(t, TextID(id), text, text, func(text string) (TextID, error) { id, err := Parse(text); return TextID(id), err })
		testForms(t, orderID(id), "ord_"+text, int64(id), ParseTyped[kindOrder])
		testForms(t, lineID(id), "ord_line2_"+text, int64(id), ParseTyped[kindLine])
		testForms(t, bareID(id), text, int64(id), ParseTyped[kindBare])
		testForms(t, Typed[Kind](id), text, int64(id), ParseTyped[Kind]) // an interface has no zero value to ask
	}
	for shift := range 1000 {
		id := ID(rand.Uint64() >> (shift % 64))
		var b [10]byte // 80 bits: 16 digits
		binary.BigEndian.PutUint64(b[2:], uint64(id))
		digits := strings.ToLower(strings.TrimLeft(base32.HexEncoding.EncodeToString(b[:]), "0"))
		if got := id.String(); got != strconv.FormatUint(uint64(id), 32) || got != digits && id != 0 {
			t.Errorf("String of %d: %q, base32 says %q", int64(id), got, digits)
		}
	}
}

func testForms[T interface {
	~int64
	fmt.Stringer
	encoding.TextMarshaler
	driver.Valuer
}, P interface {
	*T
	encoding.TextUnmarshaler
	sql.Scanner
}](t *testing.T, id T, text string, column driver.Value, parse func(string) (T, error)) {
	t.Helper()
	if parsed, err := parse(text); parsed != id || err != nil || id.String() != text {
		t.Errorf("%T: %q, and %q parses as %v, %v", id, id, text, parsed, err)
	}
	type record struct {
		ID   *T
		Keys map[T]int `xml:"-"`
	}
	for _, codec := range []struct {
		want      string
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		{`{"ID":"` + text + `","Keys":{"` + text + `":1}}`, json.Marshal, json.Unmarshal},
		{"<record><ID>" + text + "</ID></record>", xml.Marshal, xml.Unmarshal},
	} {
		data, err := codec.marshal(record{&id, map[T]int{id: 1}})
		back := record{ID: new(T)}
		if err = errors.Join(err, codec.unmarshal(data, &back)); !strings.HasPrefix(codec.want, string(data[:12])) || !strings.Contains(string(data), ">"+text+"<") && string(data) != codec.want || err != nil || *back.ID != id {
			t.Errorf("%T: %s, %v; want %s", id, data, err, codec.want)
		}
	}
	sources := []any{column}
	if _, number := column.(int64); number { // the forms in which drivers give an integer of 64 bits
		signed, unsigned := fmt.Sprint(column), strconv.FormatUint(uint64(id), 10)
		sources = append(sources, uint64(id), signed, unsigned, []byte(signed), []byte(unsigned), fmt.Sprintf("%020d", uint64(id)))
		for _, src := range sources {
			var raw Raw
			if err := raw.Scan(src); err != nil || raw != Raw(id) {
				t.Errorf("Scan(%#v) = raw %d, %v", src, uint64(raw), err)
			}
		}
	} else {
		sources = append(sources, []byte(text))
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(id); v != column || err != nil {
		t.Errorf("Value of a %T = %v, %v, want %v", id, v, err, column)
	}
	for _, src := range sources {
		var back T
		if err := P(&back).Scan(src); err != nil || back != id {
			t.Errorf("%T: Scan(%#v) = %v, %v", id, src, back, err)
		}
	}
	for format, want := range map[string]string{"%v": text, "%+v": text, "%s": text, "%q": `"` + text + `"`,
		"%d": fmt.Sprint(int64(id)), "%x": fmt.Sprintf("%x", uint64(id)), "%#v": fmt.Sprint(int64(id))} {
		if got := fmt.Sprintf(format, id); got != want {
			t.Errorf("%s of a %T prints %s, want %s", format, id, got, want)
		}
	}
}

// TestGob: binary formats have what they have of an int64, whatever the kind, so that a field can become an ID later.
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
	b, _ := ID(33).AppendText([]byte("id-"))
	if b, _ = orderID(0).AppendText(b); string(b) != "id-11ord_0" {
		t.Errorf("appended: %q", b)
	}
}

// invalid are texts of no ID, with or without a prefix.
var invalid = []string{
	"", " ", " 1", "1 ", "-1", "+1", "1=", "w", "W", "z", "0x1", "1_0", "é", "\x00", "1\n",
	"g000000000000", "vvvvvvvvvvvvv", // 65 bits
	"10000000000000", "00000000000000", // 14 digits
	"V", "28Q5CU4QNJFF", "FVVVVVVVVVVVV", "3vgoe12ccb8gH", "00", "0v", "000000000000v", "028q5cu4qnjff", // other texts of an ID
}

func TestParseRefuses(t *testing.T) {
	for _, text := range invalid {
		testRefuses[ID](t, text, Parse)
		testRefuses[TextID](t, text, func(text string) (TextID, error) { return 0, new(TextID).Scan([]byte(text)) })
		testRefuses[orderID](t, "ord_"+text, ParseTyped[kindOrder])
	}
	for _, text := range []string{
		"", "10", "_10", "ord", "ord10", "ord-10", "or_10", "ordd_10", "ord__10", "ORD_10", "Ord_10", " ord_10",
		"cus_10", "ord_line2_10", "ord_ord_10", "10_ord", strings.Repeat("ord_", 1000),
	} {
		testRefuses[orderID](t, text, ParseTyped[kindOrder])
	}
	testRefuses[lineID](t, "ord_10", ParseTyped[kindLine])
}

func testRefuses[T ~int64, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, text string, parse func(string) (T, error)) {
	t.Helper()
	id, quoted := T(7), fmt.Sprintf("%q", text)
	if !strings.ContainsAny(text, "\x00") {
		b, _ := json.Marshal(text)
		quoted = string(b)
	}
	parsed, err := parse(text)
	for name, err := range map[string]error{"Parse": err, "text": P(&id).UnmarshalText([]byte(text)), "JSON": json.Unmarshal([]byte(quoted), &id)} {
		if name == "JSON" && strings.ContainsAny(text, "\x00") {
			continue
		}
		if !errors.Is(err, ErrInvalidID) || len(err.Error()) > 200 || parsed != 0 || id != 7 {
			t.Errorf("%s of %.80q as a %T: %v, %d, %v, want ErrInvalidID", name, text, id, int64(parsed), int64(id), err)
		}
	}
}

// JSON has integers that JavaScript doesn't round, and nothing else but strings; of a Typed strings alone.
func TestNumbersInJSON(t *testing.T) {
	for _, want := range []ID{0, 7, -7, 1<<53 - 1, -1<<53 + 1} {
		var id ID
		if err := json.Unmarshal(strconv.AppendInt(nil, int64(want), 10), &id); err != nil || id != want {
			t.Errorf("from JSON %d: %d, %v", int64(want), int64(id), err)
		}
	}
	id, typed := ID(7), orderID(7)
	for _, data := range []string{"9007199254740992", "-9007199254740992", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "18446744073709551616"} {
		if err := json.Unmarshal([]byte(data), &id); !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), "want the ID as a string") {
			t.Errorf("from JSON %s, which JavaScript rounds: %v", data, err)
		}
	}
	for _, data := range []string{`1.0`, `1e3`, `true`, `{}`, `[1]`, "01", "+1", "", "-", `"`} {
		if err := id.UnmarshalJSON([]byte(data)); !errors.Is(err, ErrInvalidID) || json.Unmarshal([]byte(data), &typed) == nil {
			t.Errorf("from JSON %s: %v", data, err)
		}
	}
	if !errors.Is(json.Unmarshal([]byte("10"), &typed), ErrInvalidID) || json.Unmarshal([]byte("null"), &typed) != nil || json.Unmarshal([]byte("null"), &id) != nil || id != 7 || typed != 7 {
		t.Errorf("failed reads and null changed IDs to %d, %d", id, typed)
	}
	if err := json.Unmarshal([]byte(` "\u0031\u0030" `), &id); err != nil || id != 32 {
		t.Errorf("from JSON with escapes: %d, %v", id, err)
	}
}

// What a column of the other kind gives is no ID, and so is what no column of IDs gives.
func TestScanRefuses(t *testing.T) {
	id, text, raw, typed := ID(7), TextID(7), Raw(7), orderID(7)
	numbers := []any{"3vgoe12ccb8gh", []byte("v"), "", " 1", "1.0", "1e3", "0x1", "ord_1", "18446744073709551616", "-9223372036854775809", 1.5, true, nil}
	for _, scan := range []struct {
		into    sql.Scanner
		sources []any
	}{{&id, numbers}, {&raw, numbers}, {&typed, numbers}, {&text, []any{int64(1), uint64(1), "-1", []byte("18446744073709551615"), 1.5, true, nil}}} {
		for _, src := range scan.sources {
			if err := scan.into.Scan(src); !errors.Is(err, ErrInvalidID) {
				t.Errorf("Scan of a %T from %#v: %v, want ErrInvalidID", scan.into, src, err)
			}
		}
	}
	if id != 7 || text != 7 || raw != 7 || typed != 7 {
		t.Errorf("failed scans changed what was there: %d, %d, %d, %d", id, text, uint64(raw), typed)
	}
	if err := id.Scan("3vgoe12ccb8gh"); !strings.Contains(err.Error(), "TextID") {
		t.Errorf("%q does not name the type for text columns", err)
	}
	if err := raw.Scan("1234567.0"); strings.Contains(err.Error(), "1234567") {
		t.Errorf("%q shows what may be a raw value", err)
	}
}

func TestPrefixes(t *testing.T) {
	for prefix, valid := range map[string]bool{
		"": true, "a": true, "z9": true, "sk_live": true, "a__b": true, strings.Repeat("a", 63): true,
		strings.Repeat("a", 64): false, "_": false, "_a": false, "a_": false, "9a": false, "A": false, "aB": false, "a-b": false, "a b": false, "é": false, "a/": false, "a\x00": false,
	} {
		badPrefix = prefix
		for name, use := range map[string]func(){
			"String":     func() { _ = Typed[kindBad](1).String() },
			"ParseTyped": func() { ParseTyped[kindBad]("1") },
		} {
			if got := panics(use); (got == nil) != valid || got != nil && !strings.Contains(fmt.Sprint(got), "kindBad") {
				t.Errorf("%s with the prefix %q: panics with %v", name, prefix, got)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range wellKnown {
		f.Add(text)
	}
	f.Add("g000000000000")
	f.Add("0000000000001")
	f.Add("\x000\x170")
	f.Add("00000+000")
	f.Add("00000000")
	f.Add("1\x10")
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
	for _, data := range []string{`"10"`, `"fvvvvvvvvvvvv"`, `-1`, `9223372036854775807`, `18446744073709551615`, `null`, `"\u0031"`, `1e2`, `"`, `"\r"`, "                           0", "\"\x8400000000\"", "\"\x83000000000000000000000000000000000\"", "[\x01", "-0", `"ɋ"`, "0       ", `"0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000`, `"X000"`, "\"000\x00", "1e\x80"} {
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

// FuzzParseTyped: of texts with the prefix the rest is that of an ID, and there are no others.
func FuzzParseTyped(f *testing.F) {
	for _, text := range []string{"ord_10", "ord_fvvvvvvvvvvvv", "ord_g000000000000", "10", "ord_line2_10", "cus_10", "ord__10", "ord\x0010", "ord_", "ord_00", "ord_1\xe9", "ord_vvvvvvvvvvvvv"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseTyped[kindOrder](text)
		digits, found := strings.CutPrefix(text, "ord_")
		want, wantErr := Parse(digits)
		if (err == nil) != (found && wantErr == nil) || err == nil && (ID(id) != want || id.String() != text) || err != nil && (id != 0 || !errors.Is(err, ErrInvalidID)) {
			t.Fatalf("ParseTyped(%q) = %v, %v; Parse says %v, %v", text, id, err, want, wantErr)
		}
		again := id
		if second := again.UnmarshalText([]byte(text)); fmt.Sprint(second) != fmt.Sprint(err) || again != id {
			t.Fatalf("UnmarshalText(%q): %v, %v; ParseTyped says %v, %v", text, again, second, id, err)
		}
	})
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
	if got := c.Inspect(id); got != want || err != nil {
		t.Errorf("Inspect = %v, %v, want %v, rounded down", got, err, want)
	}
	if end := at(MaxTimestamp).UTC().Format(time.DateTime); end != "2058-11-05 17:10:23" || timestampBits+nodeBits+sequenceBits != 64 || MaxNode != 131071 || MaxSequence != 131071 {
		t.Errorf("the layout is not 30 + 17 + 17 bits, or does not end at %s", end)
	}
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
			if strings.Contains(strings.ToLower(output), strconv.FormatUint(uint64(raw), base)) {
				t.Errorf("%s leaks the raw value: %s", what, output)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%020d", "% x"} {
		check(verb, fmt.Sprintf(verb, value))
		if got := fmt.Sprintf(verb, raw); got != inner {
			t.Errorf("%s: %q", verb, got)
		}
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
