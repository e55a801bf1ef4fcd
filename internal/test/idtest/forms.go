// Package idtest is what the tests of IDs and of their generators have in common.
package idtest

import (
	"bytes"
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// Forms are those of a type of IDs: text, JSON, XML, gob, columns and verbs. Each form of an ID has
// to be the right one, and is read as that ID. Everything else is refused, and changes nothing.
type Forms[T comparable] struct {
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

// A parameter is read by gin.
type parameter interface{ UnmarshalParam(text string) error }

// bind reads a parameter as oapi-codegen does.
func bind[T any](to *T, text string) error {
	if integer, ok := any(to).(interface{ Bind(text string) error }); ok {
		return integer.Bind(text)
	}
	return any(to).(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

// redis reads what redigo got.
func redis[T any](to *T, text string) error {
	if scanner, ok := any(to).(interface{ RedisScan(src any) error }); ok {
		return errors.Join(scanner.RedisScan([]byte(text)), scanner.RedisScan(nil))
	}
	return any(to).(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

type record[T comparable] struct {
	ID, None *T
	Zero     T         `json:",omitzero" xml:"-"`
	Keys     map[T]int `xml:"-"`
}

func (f Forms[T]) some() T {
	for _, id := range f.IDs {
		if id != *new(T) {
			return id
		}
	}
	panic("idtest: all IDs are zero")
}

// Test checks all forms of the IDs.
func (f Forms[T]) Test(t *testing.T) {
	t.Helper()
	kept := f.some()
	for text, id := range f.IDs {
		f.testWritten(t, id, text)
		f.testRead(t, id, text)
		f.testTags(t, id, text)
	}
	for data, id := range f.JSON {
		var back T
		err := json.Unmarshal([]byte(data), &back)
		require.That(t, err == nil && back == id, "JSON %s is read as %v, %v, want %v", data, back, err, id)
	}
	refused := func(what any, id T, err error) {
		t.Helper()
		require.That(t, id == kept && errors.Is(err, f.Invalid) && len(err.Error()) <= 200,
			"a %T of %.80q: %v, %v, want %v", id, what, id, err, f.Invalid)
	}
	for _, text := range f.BadTexts {
		require.Refuses(t, f.Invalid, "Parse(%.80q)", text)(f.Parse(text))
		if f.Must != nil && panics(func() { f.Must(text) }) == nil {
			t.Errorf("MustParse takes %q", text)
		}
		id := kept
		refused(text, id, any(&id).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)))
		refused(text, id, any(&id).(parameter).UnmarshalParam(text))
		refused(text, id, redis(&id, text))
		refused(text, id, bind(&id, text))
		data, _ := json.Marshal(text)
		refused(data, id, json.Unmarshal(data, &id))
	}
	for _, data := range f.BadJSON {
		id := kept
		err := json.Unmarshal([]byte(data), &id)
		require.That(t, err != nil && id == kept, "JSON %s is read as %v, %v", data, id, err)
		if read, ok := any(&id).(json.Unmarshaler); ok {
			refused(data, id, read.UnmarshalJSON([]byte(data)))
		}
	}
	for _, src := range f.BadColumns {
		id := kept
		err := any(&id).(sql.Scanner).Scan(src)
		refused(src, id, err)
	}
	id := kept
	err := json.Unmarshal([]byte("null"), &id)
	require.That(t, err == nil && id == kept, "JSON null is read as %v, %v", id, err)
}

// testWritten checks all that is written of an ID.
func (f Forms[T]) testWritten(t *testing.T, id T, text string) {
	t.Helper()
	const verbs = "%[1]v %[1]s %+[1]v %[1]q %30[1]s %-30[1]v|"
	forms := record[T]{ID: &id, Keys: map[T]int{id: 1}}
	jsonText, jsonErr := json.Marshal(forms)
	xmlText, xmlErr := xml.Marshal(forms)
	marshaled, textErr := any(id).(encoding.TextMarshaler).MarshalText()
	err := errors.Join(jsonErr, xmlErr, textErr)
	require.That(t, err == nil, "a %T: %v", id, err)
	written := [][2]string{
		{fmt.Sprint(id), text},
		{fmt.Sprintf(verbs, any(id)), fmt.Sprintf(verbs, text)},
		{string(marshaled), text},
		{string(jsonText), jsonOf(text)},
		{string(xmlText), xmlOf(text)},
	}
	if a, ok := any(id).(encoding.TextAppender); ok {
		appended, _ := a.AppendText([]byte("id-"))
		written = append(written, [2]string{string(appended), "id-" + text})
	}
	for _, w := range written {
		require.Equal(t, w[0], w[1], "a %T is written as", id)
	}
	column, err := driver.DefaultParameterConverter.ConvertValue(id)
	require.That(t, err == nil && reflect.DeepEqual(column, f.Column(id)),
		"the column of %s has %#v, %v, want %#v", text, column, err, f.Column(id))
}

// jsonOf and xmlOf return a record with an ID.
func jsonOf(text string) string { return `{"ID":"` + text + `","None":null,"Keys":{"` + text + `":1}}` }
func xmlOf(text string) string  { return "<record><ID>" + text + "</ID></record>" }

// testRead checks that an ID is read from all that can be written of it.
func (f Forms[T]) testRead(t *testing.T, id T, text string) {
	t.Helper()
	require.That(t, f.Must == nil || f.Must(text) == id, "MustParse(%s) is another ID", text)
	for form, read := range map[string]func(to *T) error{
		"text": func(to *T) (err error) {
			*to, err = f.Parse(text)
			return err
		},
		"bytes":  func(to *T) error { return any(to).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) },
		"param":  func(to *T) error { return any(to).(parameter).UnmarshalParam(text) },
		"bind":   func(to *T) error { return bind(to, text) },
		"redis":  func(to *T) error { return redis(to, text) },
		"quoted": func(to *T) error { return unmarshalJSON(` "`+text+`" `, to) },
		"JSON": func(to *T) error {
			back := record[T]{None: to}
			err := json.Unmarshal([]byte(jsonOf(text)), &back)
			*to = *back.ID
			if back.None != nil || back.Keys[id] != 1 {
				return fmt.Errorf("as %+v", back)
			}
			return err
		},
		"XML": func(to *T) error {
			back := record[T]{ID: to}
			return xml.Unmarshal([]byte(xmlOf(text)), &back)
		},
		"gob": func(to *T) error {
			var b bytes.Buffer
			return errors.Join(gob.NewEncoder(&b).Encode(id), gob.NewDecoder(&b).Decode(to))
		},
	} {
		var back T
		err := read(&back)
		require.That(t, err == nil && back == id, "%s: %s is read as %v, %v", form, text, back, err)
	}
	sources := []any{f.Column(id)}
	if f.Sources != nil {
		sources = append(sources, f.Sources(id)...)
	}
	for _, src := range sources {
		var back T
		err := any(&back).(sql.Scanner).Scan(src)
		require.That(t, err == nil && back == id, "Scan(%#v): %v, %v, want %s", src, back, err, text)
	}
}

// testTags reads what a struct whose tags say ",string" has written: as the same ID, or not at all.
func (f Forms[T]) testTags(t *testing.T, id T, text string) {
	t.Helper()
	type tagged struct {
		//lint:ignore SA5008 people leave the tag there
		ID    T  `json:",string"`
		Empty *T `json:",string,omitempty"`
		//lint:ignore SA5008 people leave the tag there
		Zero T `json:",string,omitzero"`
	}
	for i, from := range []tagged{
		{ID: id}, // the zero T may have no form
		{ID: id, Empty: &id},
		{ID: id, Zero: id},
	} {
		var back tagged
		data, err := json.Marshal(from)
		require.NoError(t, err)
		err = json.Unmarshal(data, &back)
		if errors.Is(err, f.Invalid) && !f.Quoted {
			continue // as in Go 1.26
		}
		if err != nil && from.Empty != nil && text[0] == 'n' {
			continue // for Go 1.26 such a text is null, misspelt
		}
		got := []T{back.ID, *cmp.Or(back.Empty, new(T)), back.Zero}
		require.That(t, err == nil && got[i] == id, "%s: %s is read as %v, %v", data, text, got, err)
	}
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
func (f Forms[T]) Fuzz(fuzz *testing.F) {
	for text := range f.IDs {
		fuzz.Add(text)
		fuzz.Add(`"` + text + `"`)
	}
	for data := range f.JSON {
		fuzz.Add(data)
	}
	for _, text := range append(f.BadTexts, f.BadJSON...) {
		fuzz.Add(text)
	}
	kept := f.some()
	fuzz.Fuzz(func(t *testing.T, text string) {
		id, err := f.Parse(text)
		read := kept
		readErr := any(&read).(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		back := fmt.Sprint(id)
		same := back == text || f.Fold && strings.EqualFold(back, text)
		unchanged := id == *new(T) && read == kept
		switch {
		case fmt.Sprint(readErr) != fmt.Sprint(err):
			t.Fatalf("Parse(%q): %v; UnmarshalText: %v", text, err, readErr)
		case err != nil && !(errors.Is(err, f.Invalid) && unchanged):
			t.Fatalf("Parse(%q) = %v, %v; UnmarshalText: %v", text, id, err, read)
		case err == nil && !(same && read == id):
			t.Fatalf("Parse(%q) = %s; UnmarshalText: %v", text, back, read)
		}
		data := kept
		if json.Unmarshal([]byte(text), &data) != nil {
			require.Must(t, data == kept, "a failed read of JSON %q changed the ID to %v", text, data)
			return
		}
		var again T
		b, err := json.Marshal(data)
		if err != nil || json.Unmarshal(b, &again) != nil || again != data {
			t.Fatalf("JSON %q: %v became %s, %v, and that %v", text, data, b, err, again)
		}
	})
}
