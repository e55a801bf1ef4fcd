package source

import "math/bits"

// AllSteps is how many steps SPARX-64/128 has.
const AllSteps = 8

// Reduced is SPARX-64/128 cut short after some of its steps, written down from the paper: with few of
// them a negative control. It shares no code with the library.
type Reduced struct {
	keys  [2*AllSteps + 1][6]uint16
	steps int
}

// NewReduced returns the cipher of a key with at most AllSteps steps.
func NewReduced(key [16]byte, steps int) *Reduced {
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	r := &Reduced{steps: steps}
	for i := range r.keys {
		copy(r.keys[i][:], k[:])
		k[0] = bits.RotateLeft16(k[0], 9) + k[1]
		k[1] = bits.RotateLeft16(k[1], 2) ^ k[0]
		k[2] += k[0]
		k[3] += k[1]
		k[7] += uint16(i + 1)
		k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
	}
	return r
}

// EncryptSlice implements Encrypter.
func (r *Reduced) EncryptSlice(dst, src []uint64) {
	for i, v := range src {
		dst[i] = r.encrypt(v)
	}
}

func (r *Reduced) encrypt(v uint64) uint64 {
	v = bits.ReverseBytes64(v) // the words are big-endian, the value is not
	x := [4]uint16{uint16(v >> 48), uint16(v >> 32), uint16(v >> 16), uint16(v)}
	for step := range r.steps {
		x[0], x[1] = threeRounds(&r.keys[2*step], x[0], x[1])
		x[2], x[3] = threeRounds(&r.keys[2*step+1], x[2], x[3])
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x = [4]uint16{x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]}
	}
	v = 0
	for i, word := range x {
		v = v<<16 | uint64(word^r.keys[2*r.steps][i])
	}
	return bits.ReverseBytes64(v)
}

func threeRounds(k *[6]uint16, x, y uint16) (uint16, uint16) {
	for round := 0; round < len(k); round += 2 {
		x ^= k[round]
		y ^= k[round+1]
		x = bits.RotateLeft16(x, -7) + y
		y = bits.RotateLeft16(y, 2) ^ x
	}
	return x, y
}
