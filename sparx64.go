package randflake

import (
	"encoding/binary"
	"math/bits"
)

// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX
// with Provable Bounds: SPARX and LAX", ASIACRYPT 2016) encrypts a block of four 16-bit words, two
// branches (a, b) and (c, d), in eight steps. A step is three rounds on each branch, then the
// linear layer. A round adds its key by exclusive or, then does arx. One more key is added after
// the last step.
const (
	steps         = 8
	branches      = 2
	roundsPerStep = 3
	keysPerBranch = 2 * roundsPerStep        // words of round key for one branch in one step
	keysPerStep   = branches * keysPerBranch // words of round key for one step

	// The last key lies as if it opened a ninth step: after its words for a and b comes a gap, and
	// then, where the second branch's keys begin, its words for c and d.
	lastKey     = steps * keysPerStep
	lastKeySpan = keysPerBranch + 2 // from its first word to its last, with the gap
)

// roundKeys are the key words in the order of the paper, step by step: first those of (a, b), two
// for each round, then those of (c, d).
//
// Both halves of each uint32 hold the same word, so that assembly can fill a register with a 32-bit
// broadcast, and plain Go a uint64 with one shift.
type roundKeys [lastKey + lastKeySpan]uint32

// addLast adds the last key. It is its own inverse.
func (k *roundKeys) addLast(a, b, c, d uint16) (uint16, uint16, uint16, uint16) {
	a ^= uint16(k[lastKey])
	b ^= uint16(k[lastKey+1])
	c ^= uint16(k[lastKey+keysPerBranch])
	d ^= uint16(k[lastKey+keysPerBranch+1])
	return a, b, c, d
}

// arx is the paper's A, the round of SPECK-32 without its key.
func arx(x, y uint16) (uint16, uint16) {
	x = rol(x, -7) + y
	y = rol(y, 2) ^ x
	return x, y
}

// inverseARX is the inverse of arx.
func inverseARX(x, y uint16) (uint16, uint16) {
	y = rol(y^x, -2)
	x = rol(x-y, 7)
	return x, y
}

// linearLayer is the paper's lambda_2: it mixes the branch (a, b) into (c, d), and exchanges the
// branches.
func linearLayer(a, b, c, d uint16) (uint16, uint16, uint16, uint16) {
	t := rol(a^b, 8)
	return c ^ a ^ t, d ^ b ^ t, a, b
}

// inverseLinearLayer is the inverse of linearLayer.
func inverseLinearLayer(a, b, c, d uint16) (uint16, uint16, uint16, uint16) {
	t := rol(c^d, 8)
	return c, d, a ^ c ^ t, b ^ d ^ t
}

func rol(x uint16, n int) uint16 { return bits.RotateLeft16(x, n) }

// encryptBlock encrypts one block. The rounds of a step are written out: a loop takes 30% longer.
func encryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := loadBlock(v)
	for at := 0; at < lastKey; at += keysPerStep {
		k := (*[keysPerStep]uint32)(keys[at:])
		a, b = arx(a^uint16(k[0]), b^uint16(k[1]))
		a, b = arx(a^uint16(k[2]), b^uint16(k[3]))
		a, b = arx(a^uint16(k[4]), b^uint16(k[5]))
		c, d = arx(c^uint16(k[6]), d^uint16(k[7]))
		c, d = arx(c^uint16(k[8]), d^uint16(k[9]))
		c, d = arx(c^uint16(k[10]), d^uint16(k[11]))
		a, b, c, d = linearLayer(a, b, c, d)
	}
	return storeBlock(keys.addLast(a, b, c, d))
}

// decryptBlock decrypts one block: all that encryptBlock does, undone from the last to the first.
// Here a loop over the rounds is faster.
func decryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := keys.addLast(loadBlock(v))
	for at := lastKey - keysPerStep; at >= 0; at -= keysPerStep {
		k := (*[keysPerStep]uint32)(keys[at:])
		a, b, c, d = inverseLinearLayer(a, b, c, d)
		for i := keysPerBranch - 2; i >= 0; i -= 2 {
			a, b = inverseARX(a, b)
			a, b = a^uint16(k[i]), b^uint16(k[i+1])
			c, d = inverseARX(c, d)
			c, d = c^uint16(k[keysPerBranch+i]), d^uint16(k[keysPerBranch+i+1])
		}
	}
	return storeBlock(a, b, c, d)
}

// loadBlock returns the four words of a block. v holds the block's 8 bytes, the first one lowest. A
// word is two of them, the first one highest: 0x7766554433221100 is the bytes 00 to 77, and the
// words 0x0011, 0x2233, 0x4455 and 0x6677.
func loadBlock(v uint64) (a, b, c, d uint16) {
	v = bits.ReverseBytes64(v)
	return uint16(v >> 48), uint16(v >> 32), uint16(v >> 16), uint16(v)
}

// storeBlock is the inverse of loadBlock.
func storeBlock(a, b, c, d uint16) uint64 {
	return bits.ReverseBytes64(uint64(a)<<48 | uint64(b)<<32 | uint64(c)<<16 | uint64(d))
}

// expandKey runs the key schedule: for each branch of each step, the first six words of the state k
// are the keys; then k is permuted.
func expandKey(key *[16]byte) *roundKeys {
	var k [8]uint16
	for i := range k {
		k[i] = binary.BigEndian.Uint16(key[2*i:])
	}
	keys := new(roundKeys)
	set := func(at int, words []uint16) {
		for i, word := range words {
			keys[at+i] = uint32(word)<<16 | uint32(word)
		}
	}
	for i := range steps * branches {
		set(i*keysPerBranch, k[:keysPerBranch])
		permuteKey(&k, uint16(i+1))
	}
	set(lastKey, k[:2])
	set(lastKey+keysPerBranch, k[2:4])
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
