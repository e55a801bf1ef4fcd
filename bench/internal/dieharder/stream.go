package dieharder

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"github.com/randflake/randflake"
)

const (
	secondShift = randflake.NodeBits + randflake.SequenceBits

	start = 63_072_000<<secondShift | 42<<randflake.SequenceBits // two years after the epoch, node 42
)

// A stream is the raw values of one node, second after second, each with all its sequence numbers,
// encrypted: the most orderly input that the cipher ever gets. A Generator makes the same IDs, but in
// no order that could be had again, since each processor takes blocks of its own; so the values are
// counted here, in order, and given to Cipher.EncryptSlice.
//
// As an io.Reader it has the bytes of "randflake new --format binary": 8 to an ID, little-endian.
type stream struct {
	cipher *randflake.Cipher // nil leaves the values as they are
	next   uint64
	buffer [512]uint64
	bytes  []byte // what is left of the buffer
	kept   [8 * 512]byte
}

// streamOf returns the IDs under the key of a seed.
func streamOf(seed uint64) *stream {
	key := keyOf(seed)
	secret, err := randflake.SecretFromBytes(key[:])
	if err != nil {
		panic(err) // nobody draws the zero key
	}
	return &stream{cipher: randflake.NewCipher(secret), next: start}
}

// rawStream returns the same values before encryption: the negative control.
func rawStream() *stream { return &stream{next: start} }

// fill fills dst with the next values.
func (s *stream) fill(dst []uint64) {
	for i := range dst {
		dst[i] = s.next
		s.next++
		if s.next&randflake.MaxSequence == 0 { // the same node, a second later
			s.next += 1<<secondShift - 1<<randflake.SequenceBits
		}
	}
	if s.cipher != nil {
		s.cipher.EncryptSlice(as[randflake.ID](dst), as[randflake.Raw](dst))
	}
}

// as returns integers as IDs or raw values, in the same memory.
func as[T randflake.ID | randflake.Raw](values []uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// Read implements io.Reader. The stream does not end.
func (s *stream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.bytes) == 0 {
			s.fill(s.buffer[:])
			for i, v := range s.buffer {
				binary.LittleEndian.PutUint64(s.kept[8*i:], v)
			}
			s.bytes = s.kept[:]
		}
		copied := copy(p[n:], s.bytes)
		n, s.bytes = n+copied, s.bytes[copied:]
	}
	return n, nil
}

// keyOf returns the secret of a seed, which anybody can know.
func keyOf(seed uint64) (key [16]byte) {
	random := rand.New(rand.NewPCG(seed, 4))
	binary.LittleEndian.PutUint64(key[:8], random.Uint64())
	binary.LittleEndian.PutUint64(key[8:], random.Uint64())
	return key
}

// A description is what another program needs to make the same stream.
type description struct {
	Seed   uint64 `csv:"seed"`
	Secret string `csv:"secret"`
	Start  string `csv:"first_raw_value"`
}

// describe returns the description of the stream of a seed.
func describe(seed uint64) description {
	key := keyOf(seed)
	return description{seed, hex.EncodeToString(key[:]), fmt.Sprintf("%016x", uint64(start))}
}
