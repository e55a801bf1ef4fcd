package randflake

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

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

func (kindBad) IDPrefix() string { return badPrefix }

var badPrefix string

func TestTypedText(t *testing.T) {
	for _, test := range wellKnown {
		testTypedText(t, test.id, "ord_"+test.text, ParseTyped[kindOrder])
		testTypedText(t, test.id, "ord_line2_"+test.text, ParseTyped[kindLine])
		testTypedText(t, test.id, test.text, ParseTyped[kindBare])
		testTypedText(t, test.id, test.text, ParseTyped[Kind]) // an interface has no zero value to ask
	}
}

func testTypedText[K Kind](t *testing.T, id ID, text string, parse func(string) (Typed[K], error)) {
	t.Helper()
	typed := Typed[K](id)
	if parsed, err := parse(text); parsed != typed || err != nil || typed.String() != text {
		t.Errorf("%s of %d: %q, which parses as %v, %v", reflect.TypeFor[K](), int64(id), typed.String(), parsed, err)
	}
	b, err := typed.AppendText([]byte("/"))
	if string(b) != "/"+text || err != nil {
		t.Errorf("AppendText made %q, %v", b, err)
	}
	for _, codec := range []struct {
		want      string
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}{
		{`{"ID":"` + text + `","Keys":{"` + text + `":1}}`, json.Marshal, json.Unmarshal},
		{"<record><ID>" + text + "</ID></record>", xml.Marshal, xml.Unmarshal},
	} {
		type record struct {
			ID   *Typed[K]
			Keys map[Typed[K]]int `xml:"-"`
		}
		data, err := codec.marshal(record{&typed, map[Typed[K]]int{typed: 1}})
		var back record
		if err = errors.Join(err, codec.unmarshal(data, &back)); string(data) != codec.want || err != nil || *back.ID != typed {
			t.Errorf("%s, %v; want %s", data, err, codec.want)
		}
	}
	for format, want := range map[string]string{"%v": text, "%+v": text, "%s": text, "%q": `"` + text + `"`,
		"%d": fmt.Sprint(int64(id)), "%x": fmt.Sprintf("%x", uint64(id)), "%#v": fmt.Sprint(int64(id))} {
		if got := fmt.Sprintf(format, typed); got != want {
			t.Errorf("%s prints %s, want %s", format, got, want)
		}
	}
	value, err := typed.Value()
	var back Typed[K]
	if err = errors.Join(err, back.Scan(value)); value != int64(id) || back != typed || err != nil {
		t.Errorf("by SQL, %v came back as %v: %v", value, back, err)
	}
}

func TestParseTypedRefuses(t *testing.T) {
	for _, text := range []string{
		"", "10", "_10", "ord", "ord_", "ord10", "ord-10", "or_10", "ordd_10", "ord__10", "ORD_10", "Ord_10", " ord_10", "ord_10 ",
		"cus_10", "ord_line2_10", "ord_ord_10", "ord_A", "ord_00", "ord_w", "ord_-1", "ord_g000000000000", "ord_10000000000000",
		"10_ord", strings.Repeat("ord_", 1000),
	} {
		id := orderID(7)
		quoted, _ := json.Marshal(text)
		for name, err := range map[string]error{
			"ParseTyped":    second(ParseTyped[kindOrder](text)),
			"UnmarshalText": id.UnmarshalText([]byte(text)),
			"UnmarshalJSON": json.Unmarshal(quoted, &id),
		} {
			if !errors.Is(err, ErrInvalidID) || len(err.Error()) > 200 {
				t.Errorf("%s of %q: %v, want ErrInvalidID", name, text, err)
			}
		}
		if err := id.Scan(text); err == nil && text != "10" || id != 7 && text != "10" {
			t.Errorf("%q changed the ID to %v, by Scan %v", text, id, err)
		}
	}
	if parsed, err := ParseTyped[kindLine]("ord_10"); err == nil || parsed != 0 {
		t.Errorf("an order's ID is that of a line, %v", parsed)
	}
	for _, data := range []string{"10", "-1", "{}", "true", `["ord_10"]`} {
		id := orderID(7)
		if err := json.Unmarshal([]byte(data), &id); err == nil || id != 7 {
			t.Errorf("JSON %s is %v", data, id)
		}
	}
	if id := orderID(7); json.Unmarshal([]byte("null"), &id) != nil || id != 7 {
		t.Errorf("null is %v", id)
	}
}

// TestTypesOfKinds: what reflect calls assignable is what compiles.
func TestTypesOfKinds(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[orderID](), reflect.TypeFor[lineID](), reflect.TypeFor[bareID](), reflect.TypeFor[ID](), reflect.TypeFor[TextID](), reflect.TypeFor[int64]()}
	for i, one := range types {
		for j, other := range types {
			if one.AssignableTo(other) != (i == j) {
				t.Errorf("assigning a %v to a %v compiles: %t", one, other, i != j)
			}
		}
		if !one.ConvertibleTo(types[3]) {
			t.Errorf("a %v can't be converted to an ID", one)
		}
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

func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestTypedAllocations(t *testing.T) {
	id, buf := orderID(rand.Uint64()|1<<62), make([]byte, 0, 100)
	text, _ := id.MarshalText()
	long := lineID(id).String()
	for name, f := range map[string]func(){
		"AppendText":    func() { buf, _ = id.AppendText(buf[:0]) },
		"UnmarshalText": func() { id.UnmarshalText(text) },
		"ParseTyped":    func() { ParseTyped[kindLine](long) },
		"Scan":          func() { id.Scan(int64(7)) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
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
