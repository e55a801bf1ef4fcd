package randflake

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for
// ARX with Provable Bounds: SPARX and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit
// words, two branches (a, b) and (c, d), in eight steps. A step is three rounds on each branch
// and a linear layer:
//
//	round on (x, y):   x ^= k; y ^= k'; x = (x ror 7) + y; y = (y rol 2) ^ x
//	linear layer:      t = (a ^ b) rol 8; c ^= a ^ t; d ^= b ^ t; swap the branches
//
// A last key is added at the end. This file holds the key schedule and the Cipher type; the
// rounds are in the files of the backends, each of which works on the same round keys.

const (
	steps         = 8
	branches      = 2
	roundsPerStep = 3
	keysPerBranch = 2 * roundsPerStep          // words of round key for one branch in one step
	keysPerStep   = branches * keysPerBranch   // words of round key for one step
	finalKeys     = steps * keysPerStep        // where the last key begins
	keyWords      = finalKeys + branches*2 + 4 // the last key, spaced like the start of a step
)

// roundKeys are the words that the rounds add, in the order of the paper: the keys of branch b
// in step s begin at s*keysPerStep + b*keysPerBranch, two for each round. The last key lies as if
// it opened a ninth step: words 96 and 97 for a and b, 102 and 103 for c and d.
//
// Each word is there twice, in both halves of a uint32, so that assembly can broadcast it with an
// instruction for 32 bits.
type roundKeys [keyWords]uint32

// expandKey runs the key schedule: the state of eight words gives the six words of one branch in
// one step, then is permuted.
func expandKey(key *[16]byte) *roundKeys {
	var state [8]uint16
	for i := range state {
		state[i] = binary.BigEndian.Uint16(key[2*i:])
	}
	keys := new(roundKeys)
	set := func(at int, words []uint16) {
		for i, word := range words {
			keys[at+i] = uint32(word)<<16 | uint32(word)
		}
	}
	for i := range steps * branches {
		set(i*keysPerBranch, state[:keysPerBranch])
		permuteKey(&state, uint16(i+1))
	}
	set(finalKeys, state[:2])
	set(finalKeys+keysPerBranch, state[2:4])
	return keys
}

// permuteKey is the paper's K_4 permutation with round constant c.
func permuteKey(k *[8]uint16, c uint16) {
	k[0], k[1] = speckey(k[0], k[1])
	k[2] += k[0]
	k[3] += k[1]
	k[7] += c
	*k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
}

// A Cipher is the permutation of one secret, with its round keys expanded. It is safe for
// concurrent use. It turns raw values into IDs and back; the block cipher is SPARX-64/128.
//
// A Cipher prints as "[redacted]", since its round keys give the secret away, and in an unexported field, where package
// fmt does not ask it, as no more than an address.
type Cipher struct {
	*expanded
}

// expanded puts the round keys behind a second pointer, as Secret does with the key.
type expanded struct{ keys *roundKeys }

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher {
	return &Cipher{&expanded{expandKey(secret.bytes())}}
}

// Encrypt returns the ID of a raw value. The block is the value's 8 little-endian bytes.
func (c *Cipher) Encrypt(raw Raw) ID { return ID(encryptBlock(c.keys, uint64(raw))) }

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw { return Raw(decryptBlock(c.keys, uint64(id))) }

// EncryptSlice encrypts each value of src into dst, as Encrypt does, and much faster. The two may lie in the same
// memory, from the same address on. It panics when dst is shorter than src or overlaps it in another way.
func (c *Cipher) EncryptSlice(dst []ID, src []Raw) {
	out, in := matched(asUint64(dst), asUint64(src))
	encryptBlocks(c.keys, out, in)
}

// DecryptSlice is the inverse of EncryptSlice, under the same conditions.
func (c *Cipher) DecryptSlice(dst []Raw, src []ID) {
	out, in := matched(asUint64(dst), asUint64(src))
	decryptBlocks(c.keys, out, in)
}

// matched returns dst, cut to the length of src, and src. It panics as the functions of crypto/cipher do.
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

// asUint64 returns IDs or raw values as the unsigned integers that the kernels work on, in the same memory. An int64
// has the size and alignment of a uint64.
func asUint64[T ID | Raw](values []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// inexactOverlap reports whether x and y, of the same length and element type, share memory
// without starting at the same address.
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

// Block returns the cipher as a block cipher on 8 bytes, in the byte order of the published test
// vectors: each 16-bit word is big-endian.
func (c *Cipher) Block() cipher.Block { return block{c} }

type block struct{ cipher *Cipher }

func (block) BlockSize() int { return 8 }

func (b block) Encrypt(dst, src []byte) {
	checkBlock(dst, src)
	binary.LittleEndian.PutUint64(dst, encryptBlock(b.cipher.keys, binary.LittleEndian.Uint64(src)))
}

func (b block) Decrypt(dst, src []byte) {
	checkBlock(dst, src)
	binary.LittleEndian.PutUint64(dst, decryptBlock(b.cipher.keys, binary.LittleEndian.Uint64(src)))
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
