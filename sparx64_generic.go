package randflake

import "math/bits"

// The generic backend: plain Go for every architecture and byte order.
//
// One block at a time, the words are uint16 variables; the compiler turns the rotations into
// single instructions. The steps are written so that the chain of dependent operations is short:
// a key that would be added to a fresh result is added to the operand that is ready earlier, and
// each step adds the first round keys of the next one. The last key, which lies as a ninth step's
// first keys would, needs no special case that way.
//
// In bulk, four blocks go side by side: word a of each in the four 16-bit lanes of one uint64,
// and likewise b, c, d. Rotations and additions are kept within their lanes by masks.

// load returns the words of a block. A block is the 8 little-endian bytes of v, its words are
// big-endian: with the bytes reversed, word a is on top.
func load(v uint64) (a, b, c, d uint16) {
	v = bits.ReverseBytes64(v)
	return uint16(v >> 48), uint16(v >> 32), uint16(v >> 16), uint16(v)
}

// store is the inverse of load.
func store(a, b, c, d uint16) uint64 {
	return bits.ReverseBytes64(uint64(a)<<48 | uint64(b)<<32 | uint64(c)<<16 | uint64(d))
}

func rol(x uint16, n int) uint16 { return bits.RotateLeft16(x, n) }

// speckey is the keyless round, the paper's permutation A.
func speckey(x, y uint16) (uint16, uint16) {
	x = rol(x, -7) + y
	return x, rol(y, 2) ^ x
}

// encryptBlock encrypts one block.
func encryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := load(v)
	a, b, c, d = a^uint16(keys[0]), b^uint16(keys[1]), c^uint16(keys[6]), d^uint16(keys[7])
	for s := 0; s < finalKeys; s += keysPerStep {
		k := (*[keysPerStep + keysPerBranch + 2]uint32)(keys[s:])
		a = rol(a, -7) + b
		c = rol(c, -7) + d
		b = (rol(b, 2) ^ uint16(k[3])) ^ a
		d = (rol(d, 2) ^ uint16(k[9])) ^ c
		a = rol(a^uint16(k[2]), -7) + b
		c = rol(c^uint16(k[8]), -7) + d
		b = (rol(b, 2) ^ uint16(k[5])) ^ a
		d = (rol(d, 2) ^ uint16(k[11])) ^ c
		a = rol(a^uint16(k[4]), -7) + b
		c = rol(c^uint16(k[10]), -7) + d
		// Before the last round's y ^= x, b rol 2 is a ^ b as it will be.
		t := rol(b, 2+8)
		b = rol(b, 2) ^ a
		d = rol(d, 2) ^ c
		a, b, c, d = (c^(t^uint16(k[12])))^a, (d^(t^uint16(k[13])))^b, a^uint16(k[18]), b^uint16(k[19])
	}
	return store(a, b, c, d)
}

// decryptBlock decrypts one block.
func decryptBlock(keys *roundKeys, v uint64) uint64 {
	a, b, c, d := load(v)
	a, b, c, d = a^uint16(keys[finalKeys]), b^uint16(keys[finalKeys+1]), c^uint16(keys[finalKeys+6]), d^uint16(keys[finalKeys+7])
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
	return store(a, b, c, d)
}

// lanes is 1 in each of the four lanes of a uint64.
const lanes = 0x0001_0001_0001_0001

// laneKeys are round keys, each in all four lanes.
type laneKeys [keyWords]uint64

// minLanes is the number of blocks from which spreading the keys over the lanes pays.
const minLanes = 8

func (k *laneKeys) spread(keys *roundKeys) {
	for i, key := range keys {
		k[i] = uint64(key)<<32 | uint64(key)
	}
}

// encryptBlocksGeneric encrypts src into dst, of the same length.
func encryptBlocksGeneric(keys *roundKeys, dst, src []uint64) {
	if len(src) >= minLanes {
		var k laneKeys
		k.spread(keys)
		for len(src) >= 4 && len(dst) >= 4 {
			a, b, c, d := loadLanes((*[4]uint64)(src))
			for s := 0; s < finalKeys; s += keysPerStep {
				a, b, c, d = encryptStepLanes((*[keysPerStep]uint64)(k[s:]), a, b, c, d)
			}
			storeLanes((*[4]uint64)(dst), a^k[finalKeys], b^k[finalKeys+1], c^k[finalKeys+6], d^k[finalKeys+7])
			src, dst = src[4:], dst[4:]
		}
	}
	for i, v := range src {
		dst[i] = encryptBlock(keys, v)
	}
}

// decryptBlocksGeneric decrypts src into dst, of the same length.
func decryptBlocksGeneric(keys *roundKeys, dst, src []uint64) {
	if len(src) >= minLanes {
		var k laneKeys
		k.spread(keys)
		for len(src) >= 4 && len(dst) >= 4 {
			a, b, c, d := loadLanes((*[4]uint64)(src))
			a, b, c, d = a^k[finalKeys], b^k[finalKeys+1], c^k[finalKeys+6], d^k[finalKeys+7]
			for s := finalKeys - keysPerStep; s >= 0; s -= keysPerStep {
				a, b, c, d = decryptStepLanes((*[keysPerStep]uint64)(k[s:]), a, b, c, d)
			}
			storeLanes((*[4]uint64)(dst), a, b, c, d)
			src, dst = src[4:], dst[4:]
		}
	}
	for i, v := range src {
		dst[i] = decryptBlock(keys, v)
	}
}

// encryptStepLanes is one step on four blocks. Not inlined, it has the registers to itself,
// which makes it a tenth faster.
//
//go:noinline
func encryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a, b = speckeyLanes(a^k[0], b^k[1])
	c, d = speckeyLanes(c^k[6], d^k[7])
	a, b = speckeyLanes(a^k[2], b^k[3])
	c, d = speckeyLanes(c^k[8], d^k[9])
	a, b = speckeyLanes(a^k[4], b^k[5])
	c, d = speckeyLanes(c^k[10], d^k[11])
	t := rol8Lanes(a ^ b)
	return c ^ a ^ t, d ^ b ^ t, a, b
}

// decryptStepLanes is the inverse of encryptStepLanes.
//
//go:noinline
func decryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	t := rol8Lanes(c ^ d)
	a, b, c, d = c, d, a^c^t, b^d^t
	a, b = inverseSpeckeyLanes(a, b)
	c, d = inverseSpeckeyLanes(c, d)
	a, b = inverseSpeckeyLanes(a^k[4], b^k[5])
	c, d = inverseSpeckeyLanes(c^k[10], d^k[11])
	a, b = inverseSpeckeyLanes(a^k[2], b^k[3])
	c, d = inverseSpeckeyLanes(c^k[8], d^k[9])
	return a ^ k[0], b ^ k[1], c ^ k[6], d ^ k[7]
}

const topBits = 0x8000 * lanes // the highest bit of each lane, where a carry would leave it

// speckeyLanes is speckey in each lane. The addition leaves the top bits out, so that no carry
// crosses into the next lane, and adds them without carry.
func speckeyLanes(x, y uint64) (uint64, uint64) {
	high := x << 9
	x = (x>>7&(0x01ff*lanes) | high&(0x7e00*lanes)) + y&^topBits ^ (high^y)&topBits
	high = y << 2
	return x, high ^ (high^y>>14)&(0x0003*lanes) ^ x
}

// inverseSpeckeyLanes is the inverse of speckeyLanes. The subtraction sets the top bits first, so
// that no borrow crosses into the next lane.
func inverseSpeckeyLanes(x, y uint64) (uint64, uint64) {
	y ^= x
	high := y << 14
	y = high ^ (high^y>>2)&(0x3fff*lanes)
	x = ((x | topBits) - y&^topBits) ^ (x^^y)&topBits
	high = x << 7
	return high ^ (high^x>>9)&(0x007f*lanes), y
}

func rol8Lanes(x uint64) uint64 { return x<<8&(0xff00*lanes) | x>>8&(0x00ff*lanes) }

// loadLanes returns the words a, b, c, d of four blocks, each word in the lanes of one uint64.
func loadLanes(v *[4]uint64) (a, b, c, d uint64) {
	return transpose(bits.ReverseBytes64(v[0]), bits.ReverseBytes64(v[1]), bits.ReverseBytes64(v[2]), bits.ReverseBytes64(v[3]))
}

// storeLanes is the inverse of loadLanes.
func storeLanes(v *[4]uint64, a, b, c, d uint64) {
	a, b, c, d = transpose(a, b, c, d)
	*v = [4]uint64{bits.ReverseBytes64(a), bits.ReverseBytes64(b), bits.ReverseBytes64(c), bits.ReverseBytes64(d)}
}

// transpose exchanges rows and columns of the 4 x 4 matrix of lanes whose rows are p, q, r, s:
// first within pairs of rows, then pairs of pairs.
func transpose(p, q, r, s uint64) (a, b, c, d uint64) {
	const even = 0xffff_0000_ffff_0000
	p, q = p&even|q>>16&^even, p<<16&even|q&^even
	r, s = r&even|s>>16&^even, r<<16&even|s&^even
	const upper = 0xffff_ffff_0000_0000
	return p&upper | r>>32, q&upper | s>>32, p<<32 | r&^upper, q<<32 | s&^upper
}
