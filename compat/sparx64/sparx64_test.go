package sparx64_test

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"testing"

	"github.com/randflake/randflake/compat/sparx64"
	"github.com/randflake/randflake/internal/testing/idtest"
)

var _ cipher.Block = (*sparx64.Sparx64)(nil)

func Example() {
	block := sparx64.NewSparx64([]byte("super-secret-key"))
	text := []byte("8 bytes.")
	block.Encrypt(text, text)
	block.Decrypt(text, text)
	fmt.Printf("%s\n", text)
	// Output: 8 bytes.
}

// TestVectors has the published vectors, those of the zero key included.
func TestVectors(t *testing.T) {
	var file struct {
		Vectors []struct{ Key, Plaintext, Ciphertext idtest.Hex }
	}
	if idtest.ReadJSON(t, "../../testdata/sparx64.json", &file); len(file.Vectors) < 100 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for i, v := range file.Vectors {
		s := sparx64.NewSparx64(v.Key)
		clear(v.Key) // it was copied
		apart, over := make([]byte, 8), append(bytes.Clone(v.Plaintext), 1, 2, 3)
		s.Encrypt(apart, v.Plaintext)
		s.Encrypt(over[3:], over[:8]) // the other package lets blocks overlap in any way
		encrypted := bytes.Clone(over[3:])
		if s.Decrypt(over[:8], over[3:]); !bytes.Equal(apart, v.Ciphertext) || !bytes.Equal(encrypted, apart) || !bytes.Equal(over[:8], v.Plaintext) {
			t.Errorf("vector %d: %+v is encrypted to %x, %x where blocks overlap, and decrypted to %x", i, v, apart, encrypted, over[:8])
		}
	}
}

func TestPanics(t *testing.T) {
	destroyed, s := sparx64.NewSparx64([]byte("super-secret-key")), sparx64.NewSparx64([]byte("super-secret-key"))
	destroyed.Destroy()
	block := make([]byte, 8)
	for name, f := range map[string]func(){
		"short key":    func() { sparx64.NewSparx64(make([]byte, 15)) },
		"long key":     func() { sparx64.NewSparx64(make([]byte, 17)) },
		"short source": func() { s.Encrypt(block, block[:7]) },
		"short target": func() { s.Decrypt(block[:7], block) },
		"destroyed":    func() { destroyed.Encrypt(block, block) },
	} {
		func() {
			defer func() { recover() }()
			f()
			t.Errorf("%s: no panic", name)
		}()
	}
	if n := testing.AllocsPerRun(100, func() { s.Encrypt(block, block) }); n != 0 || s.BlockSize() != 8 {
		t.Errorf("%v allocations, blocks of %d bytes", n, s.BlockSize())
	}
}
