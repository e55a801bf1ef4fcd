package sparx64_test

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"testing"

	"github.com/randflake/randflake/compat/sparx64"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
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
	idtest.ReadJSON(t, "../../testdata/sparx64.json", &file)
	require.Must(t, len(file.Vectors) >= 100, "%d vectors", len(file.Vectors))
	for i, v := range file.Vectors {
		s := sparx64.NewSparx64(v.Key)
		clear(v.Key) // it was copied

		apart := make([]byte, 8)
		s.Encrypt(apart, v.Plaintext)
		require.That(t, bytes.Equal(apart, v.Ciphertext), "vector %d: %+v is encrypted to %x", i, v, apart)

		over := append(bytes.Clone(v.Plaintext), 1, 2, 3) // the other package lets blocks overlap in any way
		s.Encrypt(over[3:], over[:8])
		require.That(t, bytes.Equal(over[3:], v.Ciphertext),
			"vector %d: %+v is encrypted to %x where blocks overlap", i, v, over[3:])
		s.Decrypt(over[:8], over[3:])
		require.That(t, bytes.Equal(over[:8], v.Plaintext),
			"vector %d: %+v is decrypted to %x where blocks overlap", i, v, over[:8])
	}
}

func TestPanics(t *testing.T) {
	s := sparx64.NewSparx64([]byte("super-secret-key"))
	destroyed := sparx64.NewSparx64([]byte("super-secret-key"))
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

	require.Equal(t, testing.AllocsPerRun(100, func() { s.Encrypt(block, block) }), 0, "allocations")
	require.Equal(t, s.BlockSize(), 8, "bytes of a block")
}
