// Package printers tests that the printers which Go programs use beside package fmt show no byte of a secret.
package printers

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/davecgh/go-spew/spew"
	"github.com/google/go-cmp/cmp"
	"github.com/kr/pretty"
	"github.com/sanity-io/litter"
	"github.com/stretchr/testify/assert"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
)

// shown is a secret whose bytes are easily told from the other numbers that programs print.
var shown = [16]byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}

// firstRoundKeys are the first round keys as a Cipher keeps them: words of the secret, each twice.
func firstRoundKeys() (keys []byte) {
	for i := 0; i < 12; i += 2 {
		word := uint32(binary.BigEndian.Uint16(shown[i:]))
		keys = binary.LittleEndian.AppendUint32(keys, word<<16|word)
	}
	return keys
}

// A failure collects what an assertion says.
type failure struct{ strings.Builder }

func (f *failure) Errorf(format string, args ...any) { fmt.Fprintf(f, format, args...) }

// everyField has go-cmp look into unexported fields.
var everyField = cmp.Exporter(func(reflect.Type) bool { return true })

// noMethods is spew with all that hides a value switched off.
var noMethods = spew.ConfigState{Indent: " ", DisableMethods: true, DisablePointerMethods: true, SpewKeys: true}

// printed returns what each printer makes of a value, and of its difference to another.
func printed[T any](value, other T) map[string]string {
	type inside struct{ hidden T }
	var diff, same failure
	assert.Equal(&diff, inside{value}, inside{other})
	assert.NotEqual(&same, value, value)
	return map[string]string{
		"testify Equal":        diff.String(),
		"testify NotEqual":     same.String(),
		"spew":                 spew.Sdump(value, inside{value}),
		"spew without methods": noMethods.Sdump(value, inside{value}, &value),
		"kr/pretty":            pretty.Sprint(value) + pretty.Sprint(inside{value}) + fmt.Sprintf("%# v", pretty.Formatter(&value)),
		"kr/pretty Diff":       strings.Join(pretty.Diff(value, other), "\n"),
		"go-cmp":               cmp.Diff(value, other, everyField) + cmp.Diff(inside{value}, inside{other}, everyField),
		"litter":               litter.Sdump(value, inside{value}, &value),
		"%#v":                  fmt.Sprintf("%#v %#v", value, inside{value}),
		"%+v":                  fmt.Sprintf("%+v %+v", value, inside{value}),
	}
}

// leaks returns the printers that show a part of the secret or its round keys, and what they print.
func leaks(output map[string]string) map[string]string {
	found := map[string]string{}
	for name, text := range output {
		if leaktest.Find(text, shown[:])+leaktest.Find(text, firstRoundKeys()) != "" {
			found[name] = text
		}
	}
	return found
}

func secretOf(t *testing.T, key []byte) randflake.Secret {
	t.Helper()
	secret, err := randflake.SecretFromBytes(key)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// No printer shows a part of a secret, alone or inside a Cipher or a Generator.
func TestPrintersShowNoSecret(t *testing.T) {
	secret, other := secretOf(t, shown[:]), secretOf(t, []byte("0123456789abcdef"))
	cipher, otherCipher := randflake.NewCipher(secret), randflake.NewCipher(other)
	generator := func(secret randflake.Secret) *randflake.Generator {
		start := time.Unix(randflake.Epoch, 0)
		g, err := randflake.New(secret, randflake.Lease{Start: start, End: start.Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := generator(secret)
	for what, output := range map[string]map[string]string{
		"Secret":    printed(secret, other),
		"*Secret":   printed(&secret, &other),
		"Cipher":    printed(cipher, otherCipher),
		"Block":     printed(cipher.Block(), otherCipher.Block()),
		"Generator": {"spew": noMethods.Sdump(g), "kr/pretty": pretty.Sprint(g), "%#v": fmt.Sprintf("%#v", struct{ hidden any }{g})},
	} {
		for name, text := range leaks(output) {
			t.Errorf("%s: %s shows the secret: %.400q", what, name, text)
		}
	}
}

// Printers tell two secrets apart, and two copies of one don't differ.
func TestPrintersTellSecretsApart(t *testing.T) {
	secret, same, other := secretOf(t, shown[:]), secretOf(t, shown[:]), secretOf(t, []byte("0123456789abcdef"))
	assert.Equal(t, secret, same)
	assert.NotEqual(t, secret, other)
	if secret != same || cmp.Diff(secret, same, everyField) != "" || cmp.Diff(secret, other, everyField) == "" {
		t.Error("two copies of a secret differ, or two secrets don't")
	}
}

// What the printers make of a plain array is found.
func TestLeaksAreFound(t *testing.T) {
	for name, text := range printed(shown, [16]byte{}) {
		if leaktest.Find(text, shown[:]) == "" {
			t.Errorf("%s: the bytes are not found in %.600q", name, text)
		}
	}
	type keys [6]uint32
	var words keys
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(firstRoundKeys()[4*i:])
	}
	for name, text := range printed(words, keys{}) {
		if len(leaks(map[string]string{name: text})) == 0 {
			t.Errorf("%s: the round keys are not found in %.600q", name, text)
		}
	}
}
