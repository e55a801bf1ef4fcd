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
// If the secret has several keys, each raw value is encrypted with the key of its second, and each ID that a generator
// made opens to its raw value again. Generators leave out a few raw values, whose IDs would belong to an earlier key:
// these do not open to what they encrypt. What no generator made may open to the last raw value of the format, in 2058.
// The time that it takes to open an ID then tells which key made it.
//
// A Cipher prints as "[redacted]", since its round keys reveal the secret. A printer that does not call Format, such as
// one of unexported fields, shows an address.
type Cipher struct {
	schedule unsafe.Pointer // to roundKeys: no printer follows it, as reflection does not tell what is there
	periods  unsafe.Pointer // to the ring of a secret with several keys, of which schedule is the first, or nil
}

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher {
	c := newCipher(secret.bytes())
	if r := newRing(secret); len(r) > 1 {
		c.periods = unsafe.Pointer(&r)
	}
	return c
}

func newCipher(key *[16]byte) *Cipher { return &Cipher{schedule: unsafe.Pointer(expandKey(key))} }

// ring returns the keys of a secret that has several, or nil.
func (c *Cipher) ring() ring {
	if c.periods == nil {
		return nil
	}
	return *(*ring)(c.periods)
}

// Permutes reports whether Encrypt is a permutation of all 64-bit values: whether the secret has one key.
func (c *Cipher) Permutes() bool { return c.periods == nil }

func (c *Cipher) keys() *roundKeys { return (*roundKeys)(c.schedule) }

// Encrypt returns the ID of a raw value. The block is the value's 8 little-endian bytes.
func (c *Cipher) Encrypt(raw Raw) ID {
	if r := c.ring(); r != nil {
		return ID(r.encrypt(uint64(raw)))
	}
	return ID(encryptBlock(c.keys(), uint64(raw)))
}

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw {
	if r := c.ring(); r != nil {
		return Raw(r.decrypt(uint64(id)))
	}
	return Raw(decryptBlock(c.keys(), uint64(id)))
}

// EncryptSlice encrypts each value of src into dst, much faster than Encrypt. It works in place if both begin at the
// same address. It panics if dst is shorter than src, or if they overlap in another way.
func (c *Cipher) EncryptSlice(dst []ID, src []Raw) {
	out, in := matched(asUint64(dst), asUint64(src))
	if r := c.ring(); r != nil {
		r.encryptSlice(out, in)
		return
	}
	encryptBlocks(c.keys(), out, in)
}

// DecryptSlice is the inverse of EncryptSlice, under the same conditions.
func (c *Cipher) DecryptSlice(dst []Raw, src []ID) {
	out, in := matched(asUint64(dst), asUint64(src))
	if r := c.ring(); r != nil {
		r.decryptSlice(out, in)
		return
	}
	decryptBlocks(c.keys(), out, in)
}

// encryptRun encrypts consecutive raw values of one second into dst. It returns how many IDs there are: all, unless the
// secret has several keys.
func (c *Cipher) encryptRun(dst []uint64, first uint64) int {
	if r := c.ring(); r != nil {
		return r.encryptRun(dst, first)
	}
	encryptRun(c.keys(), dst, first)
	return len(dst)
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
// word is big-endian. It panics if the secret has several keys.
func (c *Cipher) Block() cipher.Block {
	if !c.Permutes() {
		panic("randflake: the secret has several keys, which are not one block cipher: take one of its Keys")
	}
	return block{c}
}

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
