package peers

import (
	"crypto/rand"
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/randflake/randflake"
)

// published is the algorithm that is published for these IDs, written down from its description
// as plainly as can be: a mutex around clock and counter, and the cipher straight from the paper
// (Dinu et al., Design Strategies for ARX with Provable Bounds: Sparx and LAX, 2016). It has all nodes
// and goes on to the next one when a sequence is used up, so that the limit of one node does not hide
// what an ID costs.
type published struct {
	cipher sparx

	mu     sync.Mutex
	second int64
	count  uint64 // IDs made in that second: node and sequence
}

var errPublishedExhausted = errors.New("peers: the second's nodes and sequences are used up")

func (p *published) next() (uint64, error) {
	raw, err := p.raw()
	return p.cipher.encrypt(raw), err
}

func (p *published) raw() (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now().Unix(); now > p.second {
		p.second, p.count = now, 0
	}
	const perSecond = 1 << (randflake.NodeBits + randflake.SequenceBits)
	if p.count == perSecond {
		return 0, errPublishedExhausted
	}
	raw := uint64(p.second-randflake.Epoch)*perSecond + p.count
	p.count++
	return raw, nil
}

func openPublished() (Maker, error) {
	var key [16]byte
	rand.Read(key[:])
	p := &published{cipher: newSparx(key)}
	return Maker{Source: func() Source {
		return Source{Next: func() (high, low uint64, err error) {
			id, err := p.next()
			return 0, id, err
		}}
	}}, nil
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
