package sparx64_test

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/randflake/randflake/compat/sparx64"
)

// That these compile is a test: the names and types are those of gosuda.org/randflake/sparx64 v1.8.
var (
	_ func(key []byte) *sparx64.Sparx64         = sparx64.NewSparx64
	_ func(s *sparx64.Sparx64, dst, src []byte) = (*sparx64.Sparx64).Encrypt
	_ func(s *sparx64.Sparx64, dst, src []byte) = (*sparx64.Sparx64).Decrypt
	_ func(s *sparx64.Sparx64) int              = (*sparx64.Sparx64).BlockSize
	_ func(s *sparx64.Sparx64)                  = (*sparx64.Sparx64).Destroy
	_ cipher.Block                              = (*sparx64.Sparx64)(nil)
)

func Example() {
	block := sparx64.NewSparx64([]byte("super-secret-key"))
	text := []byte("8 bytes.")
	block.Encrypt(text, text)
	block.Decrypt(text, text)
	fmt.Printf("%s\n", text)
	// Output: 8 bytes.
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVectors has the published vectors, those of the zero key included.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/sparx64.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Key, Plaintext, Ciphertext string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	zero := 0
	for i, v := range file.Vectors {
		key, plain, encrypted := unhex(t, v.Key), unhex(t, v.Plaintext), unhex(t, v.Ciphertext)
		if bytes.Equal(key, make([]byte, 16)) {
			zero++
		}
		s := sparx64.NewSparx64(key)
		clear(key) // it was copied
		for what, trip := range map[string]func(dst, src []byte){"Encrypt": s.Encrypt, "Decrypt": s.Decrypt} {
			src, want := plain, encrypted
			if what == "Decrypt" {
				src, want = encrypted, plain
			}
			apart, over := make([]byte, 8), append(bytes.Clone(src), 1, 2, 3)
			trip(apart, src)
			trip(over[3:], over[:8]) // the other package lets blocks overlap in any way
			if !bytes.Equal(apart, want) || !bytes.Equal(over[3:], want) {
				t.Errorf("vector %d: %s gave %x, %x where blocks overlap, want %x", i, what, apart, over[3:], want)
			}
		}
	}
	if len(file.Vectors) < 100 || zero == 0 {
		t.Errorf("%d vectors, %d of them of the zero key", len(file.Vectors), zero)
	}
}

func TestPanics(t *testing.T) {
	destroyed := sparx64.NewSparx64([]byte("super-secret-key"))
	destroyed.Destroy()
	s := sparx64.NewSparx64([]byte("super-secret-key"))
	block := make([]byte, 8)
	for name, f := range map[string]func(){
		"short key":    func() { sparx64.NewSparx64(make([]byte, 15)) },
		"long key":     func() { sparx64.NewSparx64(make([]byte, 17)) },
		"short source": func() { s.Encrypt(block, block[:7]) },
		"short target": func() { s.Decrypt(block[:7], block) },
		"destroyed":    func() { destroyed.Encrypt(block, block) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	if s.BlockSize() != 8 {
		t.Error("the block size is not 8")
	}
	if n := testing.AllocsPerRun(100, func() { s.Encrypt(block, block) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
