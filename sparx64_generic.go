package randflake

import "math/bits"

// The generic backend: plain Go for every architecture and byte order. In bulk, four blocks go side
// by side: word a of each in the four 16-bit lanes of one uint64, and likewise b, c, d. Masks keep
// rotations and additions within their lanes. What is left of a slice goes through encryptBlock and
// decryptBlock, one block at a time.

const (
	laneCount = 4                     // of a uint64: how many blocks go side by side
	inEach    = 0x0001_0001_0001_0001 // 1 in each lane; x * inEach is the 16 bits of x in each
	topBits   = 0x8000 * inEach       // the highest bit of each lane, whose carry would enter the next
)

// laneKeys are round keys, each in all lanes.
type laneKeys [len(roundKeys{})]uint64

func (k *laneKeys) spread(keys *roundKeys) {
	for i, key := range keys {
		k[i] = uint64(key)<<32 | uint64(key) // key has the word twice
	}
}

// addLast adds the last key. It is its own inverse.
func (k *laneKeys) addLast(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a ^= k[lastKey]
	b ^= k[lastKey+1]
	c ^= k[lastKey+keysPerBranch]
	d ^= k[lastKey+keysPerBranch+1]
	return a, b, c, d
}

// leastInLanes is how many blocks it takes at least for spreading the keys to pay off.
const leastInLanes = 8

// encryptBlocksGeneric encrypts src into dst, of the same length.
func encryptBlocksGeneric(keys *roundKeys, dst, src []uint64) {
	if len(src) >= leastInLanes {
		var k laneKeys
		k.spread(keys)
		// dst is as long as src. To ask for both spares the bounds check of dst.
		for len(src) >= laneCount && len(dst) >= laneCount {
			a, b, c, d := loadLanes((*[laneCount]uint64)(src))
			for at := 0; at < lastKey; at += keysPerStep {
				a, b, c, d = encryptStepLanes((*[keysPerStep]uint64)(k[at:]), a, b, c, d)
			}
			a, b, c, d = k.addLast(a, b, c, d)
			storeLanes((*[laneCount]uint64)(dst), a, b, c, d)
			src, dst = src[laneCount:], dst[laneCount:]
		}
	}
	for i, v := range src {
		dst[i] = encryptBlock(keys, v)
	}
}

// decryptBlocksGeneric decrypts src into dst, of the same length.
func decryptBlocksGeneric(keys *roundKeys, dst, src []uint64) {
	if len(src) >= leastInLanes {
		var k laneKeys
		k.spread(keys)
		for len(src) >= laneCount && len(dst) >= laneCount { // as in encryptBlocksGeneric
			a, b, c, d := loadLanes((*[laneCount]uint64)(src))
			a, b, c, d = k.addLast(a, b, c, d)
			for at := lastKey - keysPerStep; at >= 0; at -= keysPerStep {
				a, b, c, d = decryptStepLanes((*[keysPerStep]uint64)(k[at:]), a, b, c, d)
			}
			storeLanes((*[laneCount]uint64)(dst), a, b, c, d)
			src, dst = src[laneCount:], dst[laneCount:]
		}
	}
	for i, v := range src {
		dst[i] = decryptBlock(keys, v)
	}
}

// encryptStepLanes is one step on four blocks. The branches take turns, so that the processor works
// on one while it waits for the other. The function is not inlined: it then has all registers to
// itself, which makes it a tenth faster.
//
//go:noinline
func encryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	ab := (*[keysPerBranch]uint64)(k[:])              // the round keys of (a, b)
	cd := (*[keysPerBranch]uint64)(k[keysPerBranch:]) // the round keys of (c, d)

	a, b = arxLanes(a^ab[0], b^ab[1])
	c, d = arxLanes(c^cd[0], d^cd[1])
	a, b = arxLanes(a^ab[2], b^ab[3])
	c, d = arxLanes(c^cd[2], d^cd[3])
	a, b = arxLanes(a^ab[4], b^ab[5])
	c, d = arxLanes(c^cd[4], d^cd[5])
	t := rolLanes(a^b, 8) // linearLayer, written out as its inverse is
	return c ^ a ^ t, d ^ b ^ t, a, b
}

// decryptStepLanes is the inverse of encryptStepLanes. The key of a round, which comes after its
// inverseARXLanes, is in the arguments of the next one: arm64 then loads its two words at once.
//
//go:noinline
func decryptStepLanes(k *[keysPerStep]uint64, a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	ab := (*[keysPerBranch]uint64)(k[:])              // the round keys of (a, b)
	cd := (*[keysPerBranch]uint64)(k[keysPerBranch:]) // the round keys of (c, d)

	t := rolLanes(c^d, 8) // inverseLinearLayer, written out: an inlined function takes more moves
	a, b, c, d = c, d, a^c^t, b^d^t
	c, d = inverseARXLanes(c, d)
	a, b = inverseARXLanes(a, b)
	c, d = inverseARXLanes(c^cd[4], d^cd[5])
	a, b = inverseARXLanes(a^ab[4], b^ab[5])
	c, d = inverseARXLanes(c^cd[2], d^cd[3])
	a, b = inverseARXLanes(a^ab[2], b^ab[3])
	return a ^ ab[0], b ^ ab[1], c ^ cd[0], d ^ cd[1]
}

// arxLanes is arx in each lane. It adds without the operands' top bits, so that a carry gets no
// further than the top bit of the sum, and then adds the top bits by exclusive or. With rolLanes
// written out, encryptStepLanes takes an eighth fewer instructions on amd64.
func arxLanes(x, y uint64) (uint64, uint64) {
	xLeft, xRight := x<<9, x>>7                                         // left by 9 is right by 7
	low15 := (xLeft & (0x7e00 * inEach)) | (xRight & (0x01ff * inEach)) // x rotated, without its top bits
	tops := (xLeft ^ y) & topBits                                       // the sums of the top bits
	x = (low15 + (y &^ topBits)) ^ tops

	yLeft, yRight := y<<2, y>>14
	y = yLeft ^ ((yLeft ^ yRight) & (0x0003 * inEach)) // rolLanes(y, 2)
	return x, y ^ x
}

// inverseARXLanes is the inverse of arxLanes.
func inverseARXLanes(x, y uint64) (uint64, uint64) {
	y = rolLanes(y^x, 14)
	return rolLanes(subLanes(x, y), 7), y
}

// subLanes returns x - y in each lane. With x's top bits set and y's cleared, no lane borrows from
// the next one. The top bit of the difference is then 1 ^ borrow. It has to be x ^ y ^ borrow: the
// other one, where x and y have the same top bit.
func subLanes(x, y uint64) uint64 {
	return ((x | topBits) - (y &^ topBits)) ^ (topBits &^ (x ^ y))
}

// rolLanes rotates each lane left by n bits. It is
//
//	left, right := x<<n, x>>(16-n)
//	low := (1<<n - 1) * inEach // the lowest n bits of each lane: they are right's
//	return (left &^ low) | (right & low)
//
// as one expression, in the form left ^ ((left ^ right) & low): inverseARXLanes is then inlined.
func rolLanes(x uint64, n int) uint64 {
	return x<<n ^ ((x<<n ^ x>>(16-n)) & ((1<<n - 1) * inEach))
}

// loadLanes returns the words a, b, c, d of four blocks, each word in the lanes of one uint64.
func loadLanes(v *[laneCount]uint64) (a, b, c, d uint64) {
	return transpose(
		bits.ReverseBytes64(v[0]),
		bits.ReverseBytes64(v[1]),
		bits.ReverseBytes64(v[2]),
		bits.ReverseBytes64(v[3]),
	)
}

// storeLanes is the inverse of loadLanes.
func storeLanes(v *[laneCount]uint64, a, b, c, d uint64) {
	a, b, c, d = transpose(a, b, c, d)
	v[0] = bits.ReverseBytes64(a)
	v[1] = bits.ReverseBytes64(b)
	v[2] = bits.ReverseBytes64(c)
	v[3] = bits.ReverseBytes64(d)
}

// transpose exchanges rows and columns of the 4 x 4 matrix of lanes whose rows are p, q, r, s:
// first single lanes between neighboring rows, then pairs of lanes between the upper and the lower
// two rows. The leftmost lane is the highest.
//
//	p  0 1 2 3      0 4 2 6      0 4 8 c
//	q  4 5 6 7  ->  1 5 3 7  ->  1 5 9 d
//	r  8 9 a b      8 c a e      2 6 a e
//	s  c d e f      9 d b f      3 7 b f
func transpose(p, q, r, s uint64) (a, b, c, d uint64) {
	const even = 0xffff_0000_ffff_0000 // lanes 0 and 2 of a row
	p, q = (p&even)|((q>>16)&^even), ((p<<16)&even)|(q&^even)
	r, s = (r&even)|((s>>16)&^even), ((r<<16)&even)|(s&^even)

	const upper = 0xffff_ffff_0000_0000 // lanes 0 and 1 of a row
	return (p & upper) | (r >> 32),
		(q & upper) | (s >> 32),
		(p << 32) | (r &^ upper),
		(q << 32) | (s &^ upper)
}
