package randflake

import (
	"bytes"
	"cmp"
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
	"html/template"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

func TestComposeRefuses(t *testing.T) {
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
}

func TestComposeRoundsDown(t *testing.T) {
	c := NewCipher(NewSecret())
	want := Fields{Time: time.Unix(Epoch+5, 0).UTC(), Node: 1, Sequence: 2}
	id, err := c.Compose(Fields{Time: want.Time.Add(999 * time.Millisecond).In(time.FixedZone("", 3600)), Node: 1, Sequence: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Inspect(id); got != want {
		t.Errorf("Inspect = %v, want %v", got, want)
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

// TestWithinOwnLease: what a generator makes is plausible under its lease, in the wrong second or on another node it is not.
func TestWithinOwnLease(t *testing.T) {
	lease := testLease(7, 9, testStart, 10)
	g := newGenerator(t, lease, WithClock(func() time.Time { return time.Unix(testStart+9, 0) }))
	for range 1000 {
		id, err := g.Generate()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Cipher().Inspect(id).Within(lease); err != nil {
			t.Fatal(err)
		}
		if g.Cipher().Inspect(id).Within(testLease(7, 9, testStart, 9)) == nil || g.Cipher().Inspect(id).Within(testLease(0, 6, testStart, 10)) == nil {
			t.Fatal("plausible under another lease")
		}
	}
}

func TestLayoutConstants(t *testing.T) {
	if end := time.Unix(MaxTimestamp, 0).UTC().Format(time.DateTime); end != "2058-11-05 17:10:23" {
		t.Errorf("the format ends at %s", end)
	}
	if TimestampBits+NodeBits+SequenceBits != 64 || MaxNode != 131071 || MaxSequence != 131071 {
		t.Error("the layout is not 30 + 17 + 17 bits")
	}
}

func TestGenerateRaw(t *testing.T) {
	start := time.Unix(Epoch+1000, 0)
	now := start
	secret := NewSecret()
	lease := Lease{FirstNode: 7, LastNode: 9, Start: start, End: start.Add(time.Minute)}
	g, err := New(secret, lease, WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Raw]bool{}
	var last Raw
	for i := range 100 {
		now = start.Add(time.Duration(i/10) * time.Second)
		raw, err := g.GenerateRaw()
		if err != nil || seen[raw] {
			t.Fatalf("GenerateRaw = %#x, %v; seen before: %t", uint64(raw), err, seen[raw])
		}
		seen[raw] = true
		id := NewCipher(secret).Encrypt(raw)
		fields := g.Cipher().Inspect(id)
		if raw.Fields() != fields {
			t.Fatalf("fields %v, those of the ID are %v", raw.Fields(), fields)
		}
		if !fields.Time.Equal(now) || fields.Node < 7 || fields.Node > 9 {
			t.Fatalf("at %v: fields %v", now, fields)
		}
		if i%10 == 0 && raw <= last {
			t.Fatalf("%#x of a later second does not sort after %#x", uint64(raw), uint64(last))
		}
		last = max(last, raw)
	}
	now = lease.End
	if raw, err := g.GenerateRaw(); raw != 0 || !errors.Is(err, ErrLeaseEnded) {
		t.Errorf("after the end: %d, %v", uint64(raw), err)
	}
}

// GenerateRaw takes the same IDs as Generate: together they use up a run of values, each once.
func TestGenerateRawAndGenerate(t *testing.T) {
	forEachBackend(t, func(t *testing.T) {
		onOneProcessor(t)
		g := newGenerator(t, systemLease(0, MaxNode))
		var raws []uint64
		for len(raws) < 3*batchSize {
			id, err := g.Generate()
			raw, rawErr := g.GenerateRaw()
			if err != nil || rawErr != nil {
				t.Fatal(err, rawErr)
			}
			raws = append(raws, uint64(g.Cipher().Decrypt(id)), uint64(raw))
			if secondOf(raws[0]) != secondOf(uint64(raw)) {
				raws = raws[:0] // start over in the next second
			}
		}
		slices.Sort(raws)
		for i, raw := range raws {
			if i > 0 && raw != raws[i-1]+1 {
				t.Fatalf("%#x comes after %#x", raw, raws[i-1])
			}
		}
	})
}

func TestRawSQL(t *testing.T) {
	for _, raw := range []Raw{0, 1, 1 << 62, 1 << 63, 1<<64 - 1} {
		value, err := raw.Value()
		if value != int64(raw) || err != nil {
			t.Errorf("Value of %d = %v, %v", uint64(raw), value, err)
		}
		var back Raw
		if err := back.Scan(value); err != nil || back != raw {
			t.Errorf("Scan(%v) = %d, %v", value, uint64(back), err)
		}
	}
}

// What Value's comment says of the order of signed columns.
func TestRawOrderAsBigint(t *testing.T) {
	at := func(second string) Raw {
		when, err := time.Parse(time.RFC3339, second)
		if err != nil {
			t.Fatal(err)
		}
		return Raw(pack(when.Unix(), 3, 4))
	}
	times := []Raw{at("2024-10-27T03:33:20Z"), at("2041-10-31T22:21:51Z"), at("2041-10-31T22:21:52Z"), at("2058-11-05T17:10:23Z")}
	if !slices.IsSorted(times) {
		t.Error("raw values don't sort by second")
	}
	signed := make([]int64, len(times))
	for i, raw := range times {
		signed[i] = int64(raw)
	}
	if slices.IsSorted(signed) || signed[1] < 0 || signed[2] >= 0 {
		t.Errorf("signed: %d, want the sign to change at 2041-10-31 22:21:52", signed)
	}
	sorted := slices.SortedFunc(slices.Values(signed), func(a, b int64) int { // ORDER BY id < 0, id
		return cmp.Or(cmp.Compare(a>>63, b>>63)*-1, cmp.Compare(a, b))
	})
	if !slices.Equal(sorted, signed) {
		t.Errorf("ordered by sign first: %d, want %d", sorted, signed)
	}
}

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
		if leaks(output, uint64(raw)) {
			t.Errorf("%s leaks the raw value: %s", what, output)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%020d", "% x"} {
		check(verb, fmt.Sprintf(verb, raw))
		check(verb+" in a struct", fmt.Sprintf(verb, value))
		if got := fmt.Sprintf(verb, raw); got != inner {
			t.Errorf("%s: %q", verb, got)
		}
	}
	check("String", raw.String())
	for name, encode := range map[string]func(w io.Writer, v any) error{
		"JSON": func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
		"XML":  func(w io.Writer, v any) error { return xml.NewEncoder(w).Encode(v) },
		"gob":  func(w io.Writer, v any) error { return gob.NewEncoder(w).Encode(v) },
	} {
		var b bytes.Buffer
		err := encode(&b, value)
		if !errors.Is(err, errInner) && (err == nil || !strings.Contains(err.Error(), errInner.Error())) {
			t.Errorf("%s: error %v, want one that names package mask", name, err)
		}
		check(name, b.String()+fmt.Sprint(err))
	}
	if b, err := json.Marshal(map[Raw]int{raw: 1}); err == nil {
		t.Errorf("as a JSON key: %s", b)
	}
	page := template.Must(template.New("").Parse(`<a href="/{{.}}?id={{.}}" title={{.}}>{{.}}</a><script>let id = {{.}}</script>`))
	var b bytes.Buffer
	page.Execute(&b, raw)
	check("html/template", b.String())
	for _, handler := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(handler).Info("made", "id", raw, "all", value, "ids", value.Many)
	}
	check("slog", b.String())

	if !leaks(fmt.Sprintf("%d", uint64(raw)), uint64(raw)) || !leaks(fmt.Sprintf("%#X", uint64(raw)), uint64(raw)) {
		t.Error("the check does not find a leak")
	}
}

// leaks reports whether output has value in it, in decimal or another common base.
func leaks(output string, value uint64) bool {
	for _, base := range []int{8, 10, 16, 32, 36} {
		if strings.Contains(strings.ToLower(output), strconv.FormatUint(value, base)) {
			return true
		}
	}
	return false
}

func TestRawComesFromNowhereElse(t *testing.T) {
	raw := Raw(7)
	for name, err := range map[string]error{
		"JSON":   json.Unmarshal([]byte(`123`), &raw),
		"text":   raw.UnmarshalText([]byte("123")),
		"binary": raw.UnmarshalBinary(make([]byte, 8)),
	} {
		if !errors.Is(err, errInner) || raw != 7 {
			t.Errorf("from %s: %d, %v", name, uint64(raw), err)
		}
	}
}

func BenchmarkGenerateRaw(b *testing.B) {
	start := time.Now().Truncate(time.Second)
	g, err := New(NewSecret(), Lease{LastNode: MaxNode, Start: start, End: start.Add(time.Hour)})
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		call func() error
	}{
		{"Generate", func() error { _, err := g.Generate(); return err }},
		{"GenerateRaw", func() error { _, err := g.GenerateRaw(); return err }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if err := bench.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

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
