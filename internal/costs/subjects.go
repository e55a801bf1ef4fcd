package costs

import (
	"crypto/aes"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/backends"
)

// A subject is one thing whose cost is measured.
type subject struct {
	backend string // or empty, where none matters
	name    string
	single  bool        // one call makes one ID, so that percentiles mean something
	do      func(n int) // does it n times
}

// unit is the name of the subject that all others are compared with.
const unit = "rand.Int64"

// inBulk is how many IDs or blocks a call has where it has many.
const inBulk = 1024

// sink takes what a loop makes, so that the compiler has to make it.
var sink struct {
	number int64
	word   uint64
	id     randflake.ID
	time   time.Time
}

// subjects returns what is measured. Loops are of one form, so that what they cost themselves, the subject "an empty loop", is in
// all of them alike. Each backend has a generator of its own, with the lease of all nodes: no second's IDs are used up.
func subjects() ([]subject, error) {
	list := []subject{
		{name: "an empty loop", do: func(n int) {
			for i := range n {
				sink.number = int64(i)
			}
		}},
		{name: unit, single: true, do: func(n int) {
			for range n {
				sink.number = rand.Int64()
			}
		}},
		{name: "time.Now", single: true, do: func(n int) {
			for range n {
				sink.time = time.Now()
			}
		}},
		aesBlock(),
		copying(),
	}
	secret := randflake.NewSecret()
	c := randflake.NewCipher(secret)
	list = append(list, subject{name: "Encrypt", single: true, do: func(n int) {
		for i := range n {
			sink.id = c.Encrypt(randflake.Raw(i))
		}
	}})
	start := time.Now().Truncate(time.Second)
	lease := randflake.Lease{LastNode: randflake.MaxNode, Start: start, End: start.Add(24 * time.Hour)}
	for _, name := range backends.Names {
		g, err := randflake.New(secret, lease)
		if err != nil {
			return nil, err
		}
		for _, s := range ofGenerator(g, c) {
			s.backend = name
			list = append(list, s)
		}
	}
	return list, nil
}

func aesBlock() subject {
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		panic(err) // never: the length is right
	}
	data := make([]byte, block.BlockSize())
	return subject{name: "an AES block", single: true, do: func(n int) {
		for range n {
			block.Encrypt(data, data)
		}
	}}
}

// copying is the least that something in bulk can cost, whatever computes it: eight bytes are read and written.
func copying() subject {
	from, to := make([]uint64, inBulk), make([]uint64, inBulk)
	return subject{name: "8 bytes copied in bulk", do: func(n int) {
		for ; n > 0; n -= inBulk {
			copy(to[:min(n, inBulk)], from)
		}
		sink.word = to[0]
	}}
}

// ofGenerator are the subjects that the backend has a part in. A clock that goes back meanwhile is no reason to fail: the error costs
// less than an ID, but a call in a million of them doesn't show.
func ofGenerator(g *randflake.Generator, c *randflake.Cipher) []subject {
	local := g.Local()
	ids, raws := make([]randflake.ID, inBulk), make([]randflake.Raw, inBulk)
	return []subject{
		{name: "Generate", single: true, do: func(n int) {
			for range n {
				sink.id, _ = g.Generate()
			}
		}},
		{name: "Local", single: true, do: func(n int) {
			for range n {
				sink.id, _ = local.Generate()
			}
		}},
		{name: "Fill", do: func(n int) {
			for ; n > 0; n -= inBulk {
				g.Fill(ids[:min(n, inBulk)])
			}
		}},
		{name: "EncryptSlice", do: func(n int) {
			for ; n > 0; n -= inBulk {
				c.EncryptSlice(ids[:min(n, inBulk)], raws[:min(n, inBulk)])
			}
		}},
		{name: "DecryptSlice", do: func(n int) {
			for ; n > 0; n -= inBulk {
				c.DecryptSlice(raws[:min(n, inBulk)], ids[:min(n, inBulk)])
			}
		}},
	}
}
