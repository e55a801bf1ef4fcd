package ranges

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"

	"github.com/randflake/randflake"
)

// A kind is a way to choose keys. Its keys returns a function that gives the first 64 bits of the key of row i, with
// rate rows a second.
type kind struct {
	name string
	keys func(random *rand.Rand) func(i uint64) uint64
}

const rate = 50_000

// millis is when row i comes.
func millis(i uint64) uint64 { return i * 1000 / rate }

const own = "randflake ID"

func kinds() []kind {
	plain := func(key func(i uint64) uint64) func(*rand.Rand) func(uint64) uint64 {
		return func(*rand.Rand) func(uint64) uint64 { return key }
	}
	return []kind{
		{own, randflakes},
		{"UUID version 4", func(r *rand.Rand) func(uint64) uint64 { return func(uint64) uint64 { return r.Uint64() } }},
		{"sequence, bits reversed (Spanner)", plain(func(i uint64) uint64 { return bits.Reverse64(i) >> 1 })},
		{"`AUTO_RANDOM(5)` (TiDB)", func(r *rand.Rand) func(uint64) uint64 {
			return func(i uint64) uint64 { return r.Uint64N(32)<<58 | i }
		}},
		{"sequence in 16 hash buckets (CockroachDB)", func(r *rand.Rand) func(uint64) uint64 {
			return func(i uint64) uint64 { return r.Uint64N(16)<<60 | i }
		}},
		{"UUID version 7", func(r *rand.Rand) func(uint64) uint64 {
			return func(i uint64) uint64 { return millis(i)<<16 | 7<<12 | r.Uint64N(1<<12) }
		}},
		{"snowflake, 64 workers", func(r *rand.Rand) func(uint64) uint64 {
			return func(i uint64) uint64 { return millis(i)<<22 | r.Uint64N(64)<<12 | i*1000%rate/1000 }
		}},
		{"sequence", plain(func(i uint64) uint64 { return i })},
	}
}

// randflakes makes IDs of one node as the library does, with a secret from the seed.
func randflakes(random *rand.Rand) func(uint64) uint64 {
	key := binary.LittleEndian.AppendUint64(nil, random.Uint64())
	secret, err := randflake.SecretFromBytes(binary.LittleEndian.AppendUint64(key, random.Uint64()))
	if err != nil {
		panic(err) // a random key is never all zeros
	}
	cipher := randflake.NewCipher(secret)
	return func(i uint64) uint64 {
		raw := (i/rate)<<(randflake.NodeBits+randflake.SequenceBits) | i%rate
		return uint64(cipher.Encrypt(randflake.Raw(raw)))
	}
}
