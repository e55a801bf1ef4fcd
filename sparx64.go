package randflake

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/randflake/randflake/internal/hidden"
)

// A Cipher turns raw values into IDs and back: it is the block cipher SPARX-64/128 under one secret, with its round
// keys expanded. It is safe for concurrent use. NewCipher makes one; the zero Cipher has no keys, and panics.
//
// A Cipher prints as "[redacted]", since its round keys reveal the secret. A printer that does not call Format, such as
// one of unexported fields, shows an address.
type Cipher struct {
	schedule hidden.Pointer[roundKeys]
}

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher { return newCipher(secret.bytes()) }

func newCipher(key *[16]byte) *Cipher { return &Cipher{hidden.To(expandKey(key))} }

func (c *Cipher) keys() *roundKeys {
	if c == nil || c.schedule.Get() == nil {
		panic("randflake: no Cipher, or the zero one: make one with NewCipher")
	}
	return c.schedule.Get()
}

// Encrypt returns the ID of a raw value. The block is the value's 8 little-endian bytes.
func (c *Cipher) Encrypt(raw Raw) ID {
	return ID(encryptBlock(c.keys(), uint64(raw)))
}

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw {
	return Raw(decryptBlock(c.keys(), uint64(id)))
}

// EncryptSlice is Encrypt of each raw value, into the IDs of dst, and much faster for many. It panics if dst is
// shorter.
func (c *Cipher) EncryptSlice(dst []ID, raws []Raw) {
	encryptBlocks(c.keys(), asUint64(prefix(dst, len(raws))), asUint64(raws))
}

// DecryptSlice is Decrypt of each ID, into the raw values of dst, and much faster for many. It panics if dst is
// shorter.
func (c *Cipher) DecryptSlice(dst []Raw, ids []ID) {
	decryptBlocks(c.keys(), asUint64(prefix(dst, len(ids))), asUint64(ids))
}

// prefix returns the first n elements of s. The third index makes it panic if s is shorter: s[:n] alone could reach
// beyond s, into its capacity.
func prefix[T any](s []T, n int) []T { return s[:n:len(s)] }

// asUint64 returns IDs or raw values, in the same memory, as the unsigned integers that the kernels work on. An int64
// has the size and alignment of a uint64.
func asUint64[T ID | Raw](values []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// Format prints "[redacted]" for every verb.
func (Cipher) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
// Bounds: SPARX and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit words, two branches (a, b) and (c, d), in
// eight steps. A step is three rounds on each branch, then the linear layer. A round adds its key by exclusive or,
// then does arx. One more key is added after the last step.

// arx is the paper's A, the round of SPECK-32 without its key.
func arx(x, y uint16) (uint16, uint16) {
	x = rol(x, -7) + y
	y = rol(y, 2) ^ x
	return x, y
}

// linearLayer is the paper's lambda_2: it mixes the branch (a, b) into (c, d), and exchanges the branches.
func linearLayer(a, b, c, d uint16) (uint16, uint16, uint16, uint16) {
	t := rol(a^b, 8)
	return c ^ (a ^ t), d ^ (b ^ t), a, b
}

func rol(x uint16, n int) uint16 { return bits.RotateLeft16(x, n) }

// encryptBlock encrypts one block.
func encryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := loadBlock(v)
	for s := 0; s < finalKeys; s += keysPerStep {
		k := (*[keysPerStep]uint32)(keys[s:])
		a, b = arx(a^uint16(k[0]), b^uint16(k[1]))
		a, b = arx(a^uint16(k[2]), b^uint16(k[3]))
		a, b = arx(a^uint16(k[4]), b^uint16(k[5]))
		c, d = arx(c^uint16(k[6]), d^uint16(k[7]))
		c, d = arx(c^uint16(k[8]), d^uint16(k[9]))
		c, d = arx(c^uint16(k[10]), d^uint16(k[11]))
		a, b, c, d = linearLayer(a, b, c, d)
	}
	last := (*[lastKeyWords]uint32)(keys[finalKeys:])
	a, b = a^uint16(last[0]), b^uint16(last[1])
	c, d = c^uint16(last[keysPerBranch]), d^uint16(last[keysPerBranch+1])
	return storeBlock(a, b, c, d)
}

// decryptBlock decrypts one block: all that encryptBlock does, undone from the last to the first.
func decryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := loadBlock(v)
	last := (*[lastKeyWords]uint32)(keys[finalKeys:])
	a, b = a^uint16(last[0]), b^uint16(last[1])
	c, d = c^uint16(last[keysPerBranch]), d^uint16(last[keysPerBranch+1])
	for s := finalKeys - keysPerStep; s >= 0; s -= keysPerStep {
		k := (*[keysPerStep]uint32)(keys[s:])
		t := rol(c^d, 8)
		a, b, c, d = c, d, a^c^t, b^d^t
		for r := keysPerBranch - 2; r >= 0; r -= 2 {
			b = rol(b^a, -2)
			a = rol(a-b, 7) ^ uint16(k[r])
			b ^= uint16(k[r+1])
			d = rol(d^c, -2)
			c = rol(c-d, 7) ^ uint16(k[keysPerBranch+r])
			d ^= uint16(k[keysPerBranch+r+1])
		}
	}
	return storeBlock(a, b, c, d)
}

// loadBlock returns the words of a block, which are big-endian in its 8 bytes; v has these in little-endian order.
func loadBlock(v uint64) (a, b, c, d uint16) {
	v = bits.ReverseBytes64(v)
	return uint16(v >> 48), uint16(v >> 32), uint16(v >> 16), uint16(v)
}

// storeBlock is the inverse of loadBlock.
func storeBlock(a, b, c, d uint16) uint64 {
	return bits.ReverseBytes64(uint64(a)<<48 | uint64(b)<<32 | uint64(c)<<16 | uint64(d))
}

const (
	steps         = 8
	branches      = 2
	roundsPerStep = 3
	keysPerBranch = 2 * roundsPerStep        // words of round key for one branch in one step
	keysPerStep   = branches * keysPerBranch // words of round key for one step
	finalKeys     = steps * keysPerStep      // where the last key begins
	lastKeyWords  = keysPerBranch + 2        // the last key, spaced like the start of a step
)

// roundKeys are the key words in the order of the paper: those of branch b in step s begin at s*keysPerStep +
// b*keysPerBranch, two for each round. The last key lies as if it opened a ninth step: words 96 and 97 are for a and
// b, 102 and 103 for c and d.
//
// Both halves of each uint32 hold the same word, so that assembly can broadcast it by an instruction for 32 bits,
// and plain Go by one shift.
type roundKeys [finalKeys + lastKeyWords]uint32

// expandKey runs the key schedule: for each branch of each step, the first six words of the state are the keys; then
// the state of eight words is permuted.
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
	k[0], k[1] = arx(k[0], k[1])
	k[2] += k[0]
	k[3] += k[1]
	k[7] += c
	*k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
}
