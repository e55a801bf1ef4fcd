package peers

import (
	"crypto/aes"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Yardstick is the peer that the others' cost is told in.
const Yardstick = "math/rand/v2"

// scale returns what IDs are made of, or might be taken for, to compare cost with.
func scale() []Peer {
	return []Peer{{
		Name: Yardstick, Package: "math/rand/v2, Uint64",
		Kind: Scale, Featured: true,
		Open: each(func() (high, low uint64, err error) { return 0, rand.Uint64(), nil }),
	}, {
		Name: "time.Now", Package: "time, Now",
		Kind: Scale,
		Open: each(func() (high, low uint64, err error) { return 0, uint64(time.Now().UnixNano()), nil }),
	}, {
		Name: "atomic counter", Package: "sync/atomic, Uint64.Add, one for all",
		Kind: Scale, Bits: 64, Limit: "none", Unpredictable: "no", Sortable: "yes", Unique: "it counts, in one process",
		Open: openCounter,
	}, {
		Name: "AES-128", Package: "crypto/aes, one block of 128 bits",
		Kind: Scale, Bits: 128, Limit: "none: as often as there is a number to encrypt", Unpredictable: "yes", Sortable: "no",
		Unique: "a permutation: if the numbers are", Open: openAES,
	}, {
		Name: "the loop", Package: "a function that counts, called as all others are",
		Kind: Scale, Open: openLoop,
	}}
}

func openCounter() (Maker, error) {
	var counter atomic.Uint64
	return Maker{Source: func() Source {
		return Source{Next: func() (high, low uint64, err error) { return 0, counter.Add(1), nil }}
	}}, nil
}

func openAES() (Maker, error) {
	key := make([]byte, 16)
	crand.Read(key)
	block, err := aes.NewCipher(key)
	return counting(func(counter *line) Source {
		text := counter.rest[:16]
		return Source{Next: func() (high, low uint64, err error) {
			counter.n++
			binary.BigEndian.PutUint64(text[8:], counter.n)
			clear(text[:8])
			block.Encrypt(text, text)
			high, low = ends(text)
			return high, low, nil
		}}
	}), err
}

func openLoop() (Maker, error) {
	return counting(func(counter *line) Source {
		return Source{Next: func() (high, low uint64, err error) {
			counter.n++
			return 0, counter.n, nil
		}}
	}), nil
}

// A line is a source's own memory: cache lines that no other source writes to.
type line struct {
	n    uint64
	rest [120]byte
}

// counting returns a maker of sources that count, each within a range of its own.
func counting(source func(counter *line) Source) Maker {
	var sources uint64
	return Maker{Source: func() Source {
		counter := &line{n: sources << 48}
		sources++
		return source(counter)
	}}
}
