package numbers

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestKeyOutOfReach: what printers reach by reflection, as testify and spew do, holds no cipher of the standard library,
// whose round keys they would show.
func TestKeyOutOfReach(t *testing.T) {
	encrypted := Encrypted(randflake.NewSecret())
	f, err := NewFormat("orders", "{n:6}", encrypted)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Number(time.Now(), 1); err != nil || n.String() == "000001" {
		t.Fatalf("%v, %v: not encrypted", n, err)
	}
	space, err := store.Create(t.Context(), storetest.NewMemory().Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	series, err := Open(context.Background(), counter.On(space), "orders", "{n:6}", encrypted)
	if err != nil {
		t.Fatal(err)
	}
	defer series.Close()
	if _, err := series.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{f, series} {
		if where := cipherIn(reflect.ValueOf(value), map[uintptr]bool{}); where != "" {
			t.Errorf("%T%s", value, where)
		}
	}
	block, err := aes.NewCipher(make([]byte, 16))
	if planted := cipherIn(reflect.ValueOf(&struct{ hidden cipher.Block }{block}), map[uintptr]bool{}); err != nil || planted == "" {
		t.Errorf("%v: the cipher is not found where it is", err)
	}
}

// cipherIn returns the path to a value of a package of crypto, or nothing.
func cipherIn(v reflect.Value, seen map[uintptr]bool) string {
	if !v.IsValid() {
		return ""
	}
	if strings.HasPrefix(v.Type().PkgPath(), "crypto/") && v.Kind() != reflect.Interface {
		return ": a " + v.Type().String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if seen[v.Pointer()] {
			return ""
		}
		seen[v.Pointer()] = true
		return cipherIn(v.Elem(), seen)
	case reflect.Interface:
		return cipherIn(v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			if where := cipherIn(v.Field(i), seen); where != "" {
				return "." + v.Type().Field(i).Name + where
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if where := cipherIn(v.Index(i), seen); where != "" {
				return "[]" + where
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if where := cipherIn(v.MapIndex(key), seen); where != "" {
				return "[]" + where
			}
		}
	}
	return ""
}
