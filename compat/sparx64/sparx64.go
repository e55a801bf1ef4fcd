// Package sparx64 is a drop-in for gosuda.org/randflake/sparx64 v1.8: change the import path to
// github.com/randflake/randflake/compat/sparx64 and nothing else. It is the block cipher
// SPARX-64/128, of 8-byte blocks and 16-byte keys.
//
// There are two differences. The bytes after the first block of a source are ignored. A cipher that
// was destroyed panics, where the original continues without a key.
package sparx64

import (
	"crypto/cipher"
	"encoding/binary"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/hidden"
)

// A Sparx64 is the cipher under one key. It is a [cipher.Block]. It is safe for concurrent use,
// except for Destroy.
type Sparx64 struct{ cipher *randflake.Cipher }

var _ cipher.Block = (*Sparx64)(nil)

// NewSparx64 returns the cipher under a key. It panics if the key is not 16 bytes long.
func NewSparx64(key []byte) *Sparx64 {
	if len(key) != 16 {
		panic("sparx64: key must be 16 bytes (128 bits)")
	}
	return &Sparx64{randflake.NewCipher(randflake.Secret(hidden.KeyOf([16]byte(key))))}
}

// BlockSize returns 8.
func (s *Sparx64) BlockSize() int { return 8 }

// Encrypt encrypts the first block of src into dst. They may overlap. It panics if either is
// shorter than a block.
func (s *Sparx64) Encrypt(dst, src []byte) {
	raw := randflake.Raw(binary.LittleEndian.Uint64(src))
	binary.LittleEndian.PutUint64(dst, uint64(s.key().Encrypt(raw)))
}

// Decrypt is the inverse of Encrypt.
func (s *Sparx64) Decrypt(dst, src []byte) {
	id := randflake.ID(binary.LittleEndian.Uint64(src))
	binary.LittleEndian.PutUint64(dst, uint64(s.key().Decrypt(id)))
}

// Destroy drops the key: the garbage collector frees its memory, and the cipher can't be used any more.
func (s *Sparx64) Destroy() { s.cipher = nil }

func (s *Sparx64) key() *randflake.Cipher {
	if s.cipher == nil {
		panic("sparx64: use of a cipher after Destroy, or of one that NewSparx64 did not make")
	}
	return s.cipher
}
