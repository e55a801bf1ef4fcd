package peers

import (
	crand "crypto/rand"
	"encoding/binary"

	"github.com/google/uuid"
)

// random returns what people use who want IDs that nobody can guess.
func random() []Peer {
	const (
		limit = "none"
		lucky = "122 random bits: an even chance of a repeat among 2.7 · 10^18"
	)
	return []Peer{{
		Name: "UUID v4", Package: "github.com/google/uuid, NewRandom",
		Kind: Random, Bits: 128, Limit: limit, Unpredictable: "yes", Sortable: "no", Unique: lucky,
		Featured: true, Open: each(googleV4),
	}, {
		Name: "UUID v4 pooled", Package: "github.com/google/uuid, NewRandom after EnableRandPool",
		Kind: Random, Bits: 128, Limit: limit, Unpredictable: "yes, but the pool stays in memory", Sortable: "no", Unique: lucky,
		Open: openPooled,
	}, {
		Name: "crypto/rand 16 bytes", Package: "crypto/rand, Read",
		Kind: Random, Bits: 128, Limit: limit, Unpredictable: "yes", Sortable: "no",
		Unique: "128 random bits: an even chance of a repeat among 2.2 · 10^19",
		Open:   openCrypto(16),
	}, {
		Name: "crypto/rand 8 bytes", Package: "crypto/rand, Read",
		Kind: Random, Bits: 64, Limit: limit, Unpredictable: "yes", Sortable: "no",
		Unique: "they are not: an even chance of a repeat among 5.1 · 10^9",
		Open:   openCrypto(8),
	}}
}

func googleV4() (high, low uint64, err error) {
	id, err := uuid.NewRandom()
	high, low = ends(id[:])
	return high, low, err
}

// openPooled turns the pool on for all of the process, until it is closed.
func openPooled() (Maker, error) {
	uuid.EnableRandPool()
	return Maker{
		Source: func() Source { return Source{Next: googleV4} },
		Close:  uuid.DisableRandPool,
	}, nil
}

// openCrypto returns an Open of sources that read so many bytes, 8 or 16.
func openCrypto(size int) func() (Maker, error) {
	return func() (Maker, error) {
		return Maker{Source: func() Source {
			id := new(line).rest[:size]
			return Source{Next: func() (high, low uint64, err error) {
				_, err = crand.Read(id)
				return uint64(size-8) * binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[size-8:]), err
			}}
		}}, nil
	}
}
