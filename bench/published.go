package main

import (
	"crypto/rand"
	"errors"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
)

// The algorithm is that of gosuda.org/randflake/v2, written down from its description as plainly as
// can be, with the cipher straight from the paper (Dinu et al., Design Strategies for ARX with
// Provable Bounds: Sparx and LAX, 2016). It has all nodes and goes on to the next one when a sequence
// is used up, so that the limit of one node does not hide what an ID costs.

const publishedPerSecond = 1 << (17 + 17)

var (
	errPublishedExhausted = errors.New("bench: the second's nodes and sequences are used up")
	errPublishedBackward  = errors.New("bench: the clock went back")
)

// published makes raw values: second and sequence are one word, which one compare-and-swap changes.
// Nodes are part of that word here, so the seconds are counted from the start to leave it room for
// them.
type published struct {
	start int64
	state atomic.Uint64 // seconds since start, and 35 bits for the number of IDs made in the second
}

func (p *published) raw() (uint64, error) {
	const countBits = 17 + 17 + 1
	for {
		state := p.state.Load() // before the clock is read: a reading that is late fails to swap
		now := time.Now().Unix()
		second := p.start + int64(state>>countBits)
		count := state & (1<<countBits - 1)
		switch {
		case now < second:
			return 0, errPublishedBackward
		case now > second:
			count = 0
		case count == publishedPerSecond:
			return 0, errPublishedExhausted
		}
		if p.state.CompareAndSwap(state, uint64(now-p.start)<<countBits|(count+1)) {
			return uint64(now-randflake.Epoch)*publishedPerSecond + count, nil
		}
	}
}

func openPublished() func() next {
	var key [16]byte
	rand.Read(key[:])
	cipher := newSparx(key)
	p := &published{start: time.Now().Unix()}
	return shared(func() (high, low uint64, err error) {
		raw, err := p.raw()
		return 0, cipher.encrypt(raw), err
	})
}

// sparx are the round keys of SPARX-64/128, six words for each of two branches in eight steps, and
// four words at the end.
type sparx [17][6]uint16

func newSparx(key [16]byte) (keys sparx) {
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	for i := range keys {
		copy(keys[i][:], k[:6])
		k[0], k[1] = speckey(k[0], k[1])
		k[2] += k[0]
		k[3] += k[1]
		k[7] += uint16(i + 1)
		k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
	}
	return keys
}

// speckey is the round of the cipher without its key.
func speckey(x, y uint16) (uint16, uint16) {
	x = bits.RotateLeft16(x, -7) + y
	return x, bits.RotateLeft16(y, 2) ^ x
}

func (keys *sparx) encrypt(raw uint64) uint64 {
	var x [4]uint16
	for i := range x {
		x[i] = bits.ReverseBytes16(uint16(raw >> (16 * i)))
	}
	for step := range 8 {
		for branch := range 2 {
			k := &keys[2*step+branch]
			a, b := x[2*branch], x[2*branch+1]
			for round := range 3 {
				a, b = speckey(a^k[2*round], b^k[2*round+1])
			}
			x[2*branch], x[2*branch+1] = a, b
		}
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x = [4]uint16{x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]}
	}
	var id uint64
	for i := range x {
		id |= uint64(bits.ReverseBytes16(x[i]^keys[16][i])) << (16 * i)
	}
	return id
}
