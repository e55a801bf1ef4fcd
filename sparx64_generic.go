package randflake

import "math/bits"

// The generic backend: plain Go for every architecture and byte order. In bulk, four blocks go side by side: word a
// of each in the four 16-bit lanes of one uint64, and likewise b, c, d. Masks keep rotations and additions within
// their lanes. What is left of a slice goes through encryptBlock and decryptBlock, one block at a time.

// lanes is 1 in each of the four lanes of a uint64: a multiple of it has the same 16 bits in each.
const lanes = 0x0001_0001_0001_0001

// laneKeys are round keys, each in all four lanes.
type laneKeys [len(roundKeys{})]uint64

func (k *laneKeys) spread(keys *roundKeys) {
	for i, key := range keys {
		k[i] = uint64(key)<<32 | uint64(key)
	}
}

// minLanes is the number of blocks from which spreading the keys over the lanes pays off.
const minLanes = 8

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
			a, b = a^k[finalKeys], b^k[finalKeys+1]
			c, d = c^k[finalKeys+keysPerBranch], d^k[finalKeys+keysPerBranch+1]
			storeLanes((*[4]uint64)(dst), a, b, c, d)
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
			a, b = a^k[finalKeys], b^k[finalKeys+1]
			c, d = c^k[finalKeys+keysPerBranch], d^k[finalKeys+keysPerBranch+1]
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

// encryptStepLanes is one step on four blocks. It is not inlined so that it has all registers to itself, which makes it
// a tenth faster.
//
//go:noinline
func encryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a, b = arxLanes(a^k[0], b^k[1])
	c, d = arxLanes(c^k[6], d^k[7])
	a, b = arxLanes(a^k[2], b^k[3])
	c, d = arxLanes(c^k[8], d^k[9])
	a, b = arxLanes(a^k[4], b^k[5])
	c, d = arxLanes(c^k[10], d^k[11])
	t := rol8Lanes(a ^ b)
	return c ^ a ^ t, d ^ b ^ t, a, b
}

// decryptStepLanes is the inverse of encryptStepLanes.
//
//go:noinline
func decryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	t := rol8Lanes(c ^ d)
	a, b, c, d = c, d, a^c^t, b^d^t
	a, b = inverseARXLanes(a, b)
	c, d = inverseARXLanes(c, d)
	a, b = inverseARXLanes(a^k[4], b^k[5])
	c, d = inverseARXLanes(c^k[10], d^k[11])
	a, b = inverseARXLanes(a^k[2], b^k[3])
	c, d = inverseARXLanes(c^k[8], d^k[9])
	return a ^ k[0], b ^ k[1], c ^ k[6], d ^ k[7]
}

const topBits = 0x8000 * lanes // the highest bit of each lane, where a carry would leave it

// arxLanes is arx in each lane. The top bits are left out of the addition, so that no carry crosses into the next
// lane; then they are added by exclusive or.
func arxLanes(x, y uint64) (uint64, uint64) {
	high := x << 9
	rotated := x>>7&(0x01ff*lanes) | high&(0x7e00*lanes) // 0x7e00 is 0xfe00 without the top bit
	sum := rotated + y&^topBits
	x = sum ^ (high^y)&topBits
	high = y << 2
	return x, high ^ (high^y>>14)&(0x0003*lanes) ^ x
}

// inverseARXLanes is the inverse of arxLanes. The top bits are set before the subtraction, so that it borrows nothing
// from the next lane; then they are put right by exclusive or.
func inverseARXLanes(x, y uint64) (uint64, uint64) {
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
	return transpose(bits.ReverseBytes64(v[0]), bits.ReverseBytes64(v[1]),
		bits.ReverseBytes64(v[2]), bits.ReverseBytes64(v[3]))
}

// storeLanes is the inverse of loadLanes.
func storeLanes(v *[4]uint64, a, b, c, d uint64) {
	a, b, c, d = transpose(a, b, c, d)
	*v = [4]uint64{bits.ReverseBytes64(a), bits.ReverseBytes64(b), bits.ReverseBytes64(c), bits.ReverseBytes64(d)}
}

// transpose exchanges rows and columns of the 4 x 4 matrix of lanes whose rows are p, q, r, s: first single lanes
// between neighboring rows, then pairs of lanes between the upper and the lower two rows.
//
//	p  0 1 2 3      0 4 2 6      0 4 8 c
//	q  4 5 6 7  ->  1 5 3 7  ->  1 5 9 d
//	r  8 9 a b      8 c a e      2 6 a e
//	s  c d e f      9 d b f      3 7 b f
func transpose(p, q, r, s uint64) (a, b, c, d uint64) {
	const even = 0xffff_0000_ffff_0000
	p, q = p&even|q>>16&^even, p<<16&even|q&^even
	r, s = r&even|s>>16&^even, r<<16&even|s&^even
	const upper = 0xffff_ffff_0000_0000
	return p&upper | r>>32, q&upper | s>>32, p<<32 | r&^upper, q<<32 | s&^upper
}
