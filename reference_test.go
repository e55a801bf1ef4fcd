package randflake

import "math/bits"

// referenceCipher is SPARX-64/128 and its use for IDs written down from the paper and the format,
// as plainly as can be. It shares no code with the library: it is the oracle of the tests.
type referenceCipher struct {
	keys [17][6]uint16
}

func newReferenceCipher(key [16]byte) *referenceCipher {
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	c := new(referenceCipher)
	for i := range c.keys {
		copy(c.keys[i][:], k[:])
		k[0] = bits.RotateLeft16(k[0], 9)
		k[0] += k[1]
		k[1] = bits.RotateLeft16(k[1], 2)
		k[1] ^= k[0]
		k[2] += k[0]
		k[3] += k[1]
		k[7] += uint16(i + 1)
		k6, k7 := k[6], k[7]
		for j := 7; j >= 2; j-- {
			k[j] = k[j-2]
		}
		k[0], k[1] = k6, k7
	}
	return c
}

func (c *referenceCipher) encrypt(raw uint64) uint64 {
	x := wordsOf(raw)
	for step := range 8 {
		for branch := range 2 {
			for round := range 3 {
				x[2*branch] ^= c.keys[2*step+branch][2*round]
				x[2*branch+1] ^= c.keys[2*step+branch][2*round+1]
				x[2*branch] = bits.RotateLeft16(x[2*branch], -7)
				x[2*branch] += x[2*branch+1]
				x[2*branch+1] = bits.RotateLeft16(x[2*branch+1], 2)
				x[2*branch+1] ^= x[2*branch]
			}
		}
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x[2] ^= x[0] ^ t
		x[3] ^= x[1] ^ t
		x[0], x[1], x[2], x[3] = x[2], x[3], x[0], x[1]
	}
	for i := range x {
		x[i] ^= c.keys[16][i]
	}
	return valueOf(x)
}

func (c *referenceCipher) decrypt(id uint64) uint64 {
	x := wordsOf(id)
	for i := range x {
		x[i] ^= c.keys[16][i]
	}
	for step := 7; step >= 0; step-- {
		x[0], x[1], x[2], x[3] = x[2], x[3], x[0], x[1]
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x[2] ^= x[0] ^ t
		x[3] ^= x[1] ^ t
		for branch := range 2 {
			for round := 2; round >= 0; round-- {
				x[2*branch+1] ^= x[2*branch]
				x[2*branch+1] = bits.RotateLeft16(x[2*branch+1], -2)
				x[2*branch] -= x[2*branch+1]
				x[2*branch] = bits.RotateLeft16(x[2*branch], 7)
				x[2*branch] ^= c.keys[2*step+branch][2*round]
				x[2*branch+1] ^= c.keys[2*step+branch][2*round+1]
			}
		}
	}
	return valueOf(x)
}

// wordsOf returns the big-endian words of the value's little-endian bytes.
func wordsOf(v uint64) (x [4]uint16) {
	for i := range x {
		low, high := byte(v>>(16*i)), byte(v>>(16*i+8))
		x[i] = uint16(low)<<8 | uint16(high)
	}
	return x
}

func valueOf(x [4]uint16) (v uint64) {
	for i, word := range x {
		v |= uint64(word>>8)<<(16*i) | uint64(word&0xff)<<(16*i+8)
	}
	return v
}
