package randflake

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
		for len(raws) < 3*blockSize {
			id, err := g.Generate()
			raw, rawErr := g.GenerateRaw()
			if err != nil || rawErr != nil {
				t.Fatal(err, rawErr)
			}
			raws = append(raws, uint64(g.Cipher().Decrypt(id)), uint64(raw))
			if secondOf(raws[0]) != secondOf(uint64(raw)) {
				raws = raws[:0] // begin anew in the next second
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
