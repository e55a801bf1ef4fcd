package storetest

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/store"
)

// formats has a file for each format of a space: a line for each kind of what is stored, with its name and its bytes.
// The file of a format that was released never changes.
//
//go:embed formats
var formats embed.FS

// WantStored checks how whole, which has every field set but those named, is stored as something of that kind: in
// store.Format just as the file of that format says. All formats must be read.
func WantStored[T any](t *testing.T, kind string, whole T, encode func(T) store.Item, decode func(store.Item) (T, error), unstored ...string) {
	t.Helper()
	for field, value := range reflect.ValueOf(whole).Fields() {
		if field.IsExported() && value.IsZero() != slices.Contains(unstored, field.Name) {
			t.Errorf("%s: field %s: want a value that is stored, here and in the files of the formats", kind, field.Name)
		}
	}
	for format := 1; format <= store.Format; format++ {
		stored := storedAs(t, kind, format)
		item := encode(whole)
		if got := item.Name + " " + string(item.Body); format == store.Format && got != stored {
			t.Errorf("%s is stored as\n%s\nwant, in format %d,\n%s\nIf it has to change, that is another format: see docs/engines.md", kind, got, format, stored)
		}
		name, body, _ := strings.Cut(stored, " ")
		if got, err := decode(store.Item{Name: name, Body: []byte(body)}); err != nil || !reflect.DeepEqual(got, whole) {
			t.Errorf("%s of format %d is read as %+v, %v; want %+v", kind, format, got, err, whole)
		}
	}
}

func storedAs(t *testing.T, kind string, format int) string {
	t.Helper()
	file, err := formats.ReadFile(fmt.Sprintf("formats/%d", format))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if stored, found := strings.CutPrefix(line, kind+" "); found {
			return strings.TrimSuffix(stored, "\n")
		}
	}
	t.Fatalf("formats/%d has no line for %s", format, kind)
	return ""
}
