package randflake

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// A Cipher turns raw values into IDs and back: it is the block cipher SPARX-64/128 under one secret, with its round
// keys expanded. It is safe for concurrent use. NewCipher makes one; the zero Cipher has no keys, and panics.
//
// A Cipher prints as "[redacted]", since its round keys reveal the secret. A printer that does not call Format, such as
// one of unexported fields, shows an address.
type Cipher struct {
	schedule unsafe.Pointer // to roundKeys: no printer follows it, as reflection does not tell what is there
}

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher { return newCipher(secret.bytes()) }

func newCipher(key *[16]byte) *Cipher { return &Cipher{unsafe.Pointer(expandKey(key))} }

func (c *Cipher) keys() *roundKeys { return (*roundKeys)(c.schedule) }

// Encrypt returns the ID of a raw value. The block is the value's 8 little-endian bytes.
func (c *Cipher) Encrypt(raw Raw) ID { return ID(encryptBlock(c.keys(), uint64(raw))) }

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw { return Raw(decryptBlock(c.keys(), uint64(id))) }

// EncryptSlice encrypts each value of src into dst, much faster than Encrypt. It works in place if both begin at the
// same address. It panics if dst is shorter than src, or if they overlap in another way.
func (c *Cipher) EncryptSlice(dst []ID, src []Raw) {
	out, in := matched(asUint64(dst), asUint64(src))
	encryptBlocks(c.keys(), out, in)
}

// DecryptSlice is the inverse of EncryptSlice, under the same conditions.
func (c *Cipher) DecryptSlice(dst []Raw, src []ID) {
	out, in := matched(asUint64(dst), asUint64(src))
	decryptBlocks(c.keys(), out, in)
}

// matched returns dst, cut to the length of src, and src. It panics where crypto/cipher would.
func matched(dst, src []uint64) (out, in []uint64) {
	if len(dst) < len(src) {
		panic("randflake: output smaller than input")
	}
	dst = dst[:len(src)]
	if inexactOverlap(dst, src) {
		panic("randflake: invalid buffer overlap")
	}
	return dst, src
}

// asUint64 returns IDs or raw values, in the same memory, as the unsigned integers that the kernels work on. An int64
// has the size and alignment of a uint64.
func asUint64[T ID | Raw](values []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// inexactOverlap reports whether x and y, of the same length, share memory without starting at the same address.
func inexactOverlap[T any](x, y []T) bool {
	if len(x) == 0 || &x[0] == &y[0] {
		return false
	}
	last := len(x) - 1
	return uintptr(unsafe.Pointer(&x[0])) <= uintptr(unsafe.Pointer(&y[last])) &&
		uintptr(unsafe.Pointer(&y[0])) <= uintptr(unsafe.Pointer(&x[last]))
}

// Format prints "[redacted]" for every verb.
func (Cipher) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// Block returns the cipher as a block cipher on 8 bytes, in the byte order of the published test vectors: each 16-bit
// word is big-endian.
func (c *Cipher) Block() cipher.Block { return block{c} }

type block struct{ cipher *Cipher }

func (block) BlockSize() int { return 8 }

func (b block) Encrypt(dst, src []byte) {
	checkBlock(dst, src)
	binary.LittleEndian.PutUint64(dst, encryptBlock(b.cipher.keys(), binary.LittleEndian.Uint64(src)))
}

func (b block) Decrypt(dst, src []byte) {
	checkBlock(dst, src)
	binary.LittleEndian.PutUint64(dst, decryptBlock(b.cipher.keys(), binary.LittleEndian.Uint64(src)))
}

func checkBlock(dst, src []byte) {
	if len(src) < 8 {
		panic("randflake: input not full block")
	}
	if len(dst) < 8 {
		panic("randflake: output not full block")
	}
	if inexactOverlap(dst[:8], src[:8]) {
		panic("randflake: invalid buffer overlap")
	}
}

// Format prints "[redacted]" for every verb.
func (block) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }
