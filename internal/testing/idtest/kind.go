// Package idtest is what the tests of IDs and of their generators have in common.
package idtest

import (
	"bytes"
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A Kind is a type of IDs in its forms: text, JSON, XML, gob, columns and verbs. Each form of an ID has to be the right one, and is
// read as that ID; everything else is refused, and changes nothing.
type Kind[T comparable] struct {
	IDs     map[string]T // by their texts; one at least is not zero
	Parse   func(text string) (T, error)
	Must    func(text string) T // or nil
	Invalid error               // in every refusal
	Fold    bool                // texts are read in either case
	Column  func(id T) driver.Value
	Sources func(id T) []any // what else drivers return of an ID; or nil
	JSON    map[string]T     // what else is read as an ID
	Quoted  bool             // JSON's tag ",string" changes nothing, in any release of Go

	BadTexts, BadJSON []string
	BadColumns        []any
}

// A parameter is read by gin and echo, and by oapi-codegen.
type parameter interface {
	UnmarshalParam(text string) error
	Bind(text string) error
}

type record[T comparable] struct {
	ID, None *T
	Zero     T         `json:",omitzero" xml:"-"`
	Keys     map[T]int `xml:"-"`
}

func (k Kind[T]) some() T {
	for _, id := range k.IDs {
		if id != *new(T) {
			return id
		}
	}
	panic("idtest: all IDs are zero")
}

// Test checks all that k has.
func (k Kind[T]) Test(t *testing.T) {
	t.Helper()
	kept := k.some()
	for text, id := range k.IDs {
		k.testID(t, id, text)
	}
	for data, id := range k.JSON {
		var back T
		if err := json.Unmarshal([]byte(data), &back); err != nil || back != id {
			t.Errorf("JSON %s is read as %v, %v, want %v", data, back, err, id)
		}
	}
	refused := func(what any, id T, err error) {
		t.Helper()
		if id != kept || !errors.Is(err, k.Invalid) || len(err.Error()) > 200 {
			t.Errorf("a %T of %.80q: %v, %v, want %v", id, what, id, err, k.Invalid)
		}
	}
	for _, text := range k.BadTexts {
		if id, err := k.Parse(text); id != *new(T) || !errors.Is(err, k.Invalid) {
			t.Errorf("%.80q parses as %v, %v, want %v", text, id, err, k.Invalid)
		}
		if k.Must != nil && panics(func() { k.Must(text) }) == nil {
			t.Errorf("MustParse takes %q", text)
		}
		id, quoted := kept, kept
		refused(text, id, any(&id).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)))
		refused(text, id, any(&id).(parameter).UnmarshalParam(text))
		refused(text, id, any(&id).(parameter).Bind(text))
		data, _ := json.Marshal(text)
		refused(data, quoted, json.Unmarshal(data, &quoted))
	}
	for _, data := range k.BadJSON {
		id := kept
		if err := json.Unmarshal([]byte(data), &id); err == nil || id != kept {
			t.Errorf("JSON %s is read as %v, %v", data, id, err)
		}
		if read, ok := any(&id).(json.Unmarshaler); ok {
			refused(data, id, read.UnmarshalJSON([]byte(data)))
		}
	}
	for _, src := range k.BadColumns {
		id := kept
		err := any(&id).(sql.Scanner).Scan(src)
		refused(src, id, err)
	}
	id := kept
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != kept {
		t.Errorf("JSON null is read as %v, %v", id, err)
	}
}

func (k Kind[T]) testID(t *testing.T, id T, text string) {
	t.Helper()
	const verbs = " %[1]v %[1]s %+[1]v %[1]q %30[1]s %-30[1]v|"
	forms := record[T]{ID: &id, Keys: map[T]int{id: 1}}
	jsonText, jsonErr := json.Marshal(forms)
	xmlText, xmlErr := xml.Marshal(forms)
	marshaled, err := any(id).(encoding.TextMarshaler).MarshalText()
	written := []string{fmt.Sprint(id) + fmt.Sprintf(verbs, any(id)), string(jsonText), string(xmlText), string(marshaled)}
	want := []string{text + fmt.Sprintf(verbs, text), `{"ID":"` + text + `","None":null,"Keys":{"` + text + `":1}}`,
		"<record><ID>" + text + "</ID></record>", text}
	if a, ok := any(id).(encoding.TextAppender); ok {
		appended, _ := a.AppendText([]byte("id-"))
		written, want = append(written, string(appended)), append(want, "id-"+text)
	}
	if err := errors.Join(jsonErr, xmlErr, err); err != nil || !reflect.DeepEqual(written, want) {
		t.Errorf("a %T is written as %q, %v, want %q", id, written, err, want)
	}
	column, err := driver.DefaultParameterConverter.ConvertValue(id)
	if err != nil || !reflect.DeepEqual(column, k.Column(id)) {
		t.Errorf("the column of %s has %#v, %v, want %#v", text, column, err, k.Column(id))
	}
	for form, read := range map[string]func(to *T) error{
		"text":   func(to *T) (err error) { *to, err = k.Parse(text); return err },
		"must":   func(to *T) error { *to = k.must(text); return nil },
		"bytes":  func(to *T) error { return any(to).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) },
		"param":  func(to *T) error { return any(to).(parameter).UnmarshalParam(text) },
		"bind":   func(to *T) error { return any(to).(parameter).Bind(text) },
		"quoted": func(to *T) error { return unmarshalJSON(` "`+text+`" `, to) },
		"JSON": func(to *T) error {
			back := record[T]{None: to}
			err := json.Unmarshal(jsonText, &back)
			if *to = *back.ID; back.None != nil || back.Keys[id] != 1 {
				return fmt.Errorf("as %+v", back)
			}
			return err
		},
		"XML": func(to *T) error { back := record[T]{ID: to}; return xml.Unmarshal(xmlText, &back) },
		"gob": func(to *T) error {
			var b bytes.Buffer
			return errors.Join(gob.NewEncoder(&b).Encode(id), gob.NewDecoder(&b).Decode(to))
		},
	} {
		var back T
		if err := read(&back); err != nil || back != id {
			t.Errorf("%s: %s is read as %v, %v", form, text, back, err)
		}
	}
	k.testTags(t, id, text)
	sources := []any{column}
	if k.Sources != nil {
		sources = append(sources, k.Sources(id)...)
	}
	for _, src := range sources {
		var back T
		if err := any(&back).(sql.Scanner).Scan(src); err != nil || back != id {
			t.Errorf("Scan(%#v): %v, %v, want %s", src, back, err, text)
		}
	}
}

// testTags reads what a struct whose tags say ",string" has written: as the same ID, or not at all.
func (k Kind[T]) testTags(t *testing.T, id T, text string) {
	t.Helper()
	type tagged struct {
		//lint:ignore SA5008 people leave the tag there
		ID    T  `json:",string"`
		Empty *T `json:",string,omitempty"`
		//lint:ignore SA5008 people leave the tag there
		Zero T `json:",string,omitzero"`
	}
	for i, from := range []tagged{{ID: id}, {ID: id, Empty: &id}, {ID: id, Zero: id}} { // the zero T may have no form
		var back tagged
		data, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		err = json.Unmarshal(data, &back)
		if errors.Is(err, k.Invalid) && !k.Quoted {
			continue // as in Go 1.26
		}
		got := []T{back.ID, *cmp.Or(back.Empty, new(T)), back.Zero}
		if err != nil || got[i] != id {
			t.Errorf("%s: %s is read as %v, %v", data, text, got, err)
		}
	}
}

func (k Kind[T]) must(text string) T {
	if k.Must == nil {
		return k.IDs[text]
	}
	return k.Must(text)
}

// unmarshalJSON calls the method if there is one: package json would take the white space away.
func unmarshalJSON[T any](data string, to *T) error {
	if read, ok := any(to).(json.Unmarshaler); ok {
		return read.UnmarshalJSON([]byte(data))
	}
	return json.Unmarshal([]byte(data), to)
}

func panics(f func()) (with any) {
	defer func() { with = recover() }()
	f()
	return nil
}

// Fuzz finds texts that are read as an ID with another text, and readers that disagree.
func (k Kind[T]) Fuzz(f *testing.F) {
	for text := range k.IDs {
		f.Add(text)
		f.Add(`"` + text + `"`)
	}
	for data := range k.JSON {
		f.Add(data)
	}
	for _, text := range append(k.BadTexts, k.BadJSON...) {
		f.Add(text)
	}
	kept := k.some()
	f.Fuzz(func(t *testing.T, text string) {
		id, err := k.Parse(text)
		read, data := kept, kept
		readErr := any(&read).(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		back := fmt.Sprint(id)
		switch {
		case fmt.Sprint(readErr) != fmt.Sprint(err):
			t.Fatalf("Parse(%q): %v; UnmarshalText: %v", text, err, readErr)
		case err != nil && (!errors.Is(err, k.Invalid) || id != *new(T) || read != kept):
			t.Fatalf("Parse(%q) = %v, %v; UnmarshalText: %v", text, id, err, read)
		case err == nil && (back != text && !(k.Fold && strings.EqualFold(back, text)) || read != id):
			t.Fatalf("Parse(%q) = %s; UnmarshalText: %v", text, back, read)
		}
		if json.Unmarshal([]byte(text), &data) != nil {
			if data != kept {
				t.Fatalf("a failed read of JSON %q changed the ID to %v", text, data)
			}
			return
		}
		var again T
		b, err := json.Marshal(data)
		if err != nil || json.Unmarshal(b, &again) != nil || again != data {
			t.Fatalf("JSON %q: %v became %s, %v, and that %v", text, data, b, err, again)
		}
	})
}

// A Vector is an ID of the format's test vectors.
type Vector struct {
	Secret         Hex
	Timestamp      int64
	Node, Sequence uint32
	Raw            uint64 `json:",string"`
	ID             int64  `json:",string"`
	Text           string
}

// Hex is bytes in hexadecimal.
type Hex []byte

func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// ReadJSON reads a file into a value.
func ReadJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Vectors reads the vectors from their file.
func Vectors(t testing.TB, path string) []Vector {
	t.Helper()
	var file struct{ Vectors []Vector }
	if ReadJSON(t, path, &file); len(file.Vectors) < 100 {
		t.Fatalf("%s has only %d vectors", path, len(file.Vectors))
	}
	return file.Vectors
}
