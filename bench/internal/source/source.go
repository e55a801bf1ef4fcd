// Package source makes what the tests of randomness look at: IDs in the order in which one node makes
// them, and the negative controls.
package source

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

// An Encrypter encrypts each value of src into dst, which may be the same slice.
type Encrypter interface {
	EncryptSlice(dst, src []uint64)
}

// A Stream is the raw values of one node, second after second, each with all its sequence numbers,
// encrypted: the most orderly input that the cipher ever gets. A Generator makes the same IDs, but in
// no order that could be had again, since each processor takes blocks of its own; so the values are
// counted here, in order, and given to Cipher.EncryptSlice.
//
// As an io.Reader it has the bytes of "randflake new --format binary": 8 to an ID, little-endian.
type Stream struct {
	cipher Encrypter
	next   uint64
	buffer [512]uint64
	bytes  []byte // what is left of the buffer
	kept   [8 * 512]byte
}

// IDs returns the stream under the key of a seed.
func IDs(seed uint64) *Stream { return Encrypted(Library(Key(seed))) }

// Raw returns the same values before encryption: a negative control.
func Raw() *Stream { return Encrypted(identity{}) }

// Encrypted returns the stream under a cipher.
func Encrypted(cipher Encrypter) *Stream { return &Stream{cipher: cipher, next: start} }

// Library returns the library's cipher under a key.
func Library(key [16]byte) Encrypter {
	secret, err := randflake.SecretFromBytes(key[:])
	if err != nil {
		panic(err) // nobody draws the zero key
	}
	return library{randflake.NewCipher(secret)}
}

type library struct{ cipher *randflake.Cipher }

func (l library) EncryptSlice(dst, src []uint64) {
	l.cipher.EncryptSlice(as[randflake.ID](dst), as[randflake.Raw](src))
}

// as returns integers as IDs or raw values, in the same memory.
func as[T randflake.ID | randflake.Raw](values []uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

type identity struct{}

func (identity) EncryptSlice(dst, src []uint64) { copy(dst, src) }

// Fill fills dst with the next values.
func (s *Stream) Fill(dst []uint64) {
	for i := range dst {
		dst[i] = s.next
		s.next++
		if s.next&randflake.MaxSequence == 0 { // the same node, a second later
			s.next += 1<<secondShift - 1<<randflake.SequenceBits
		}
	}
	s.cipher.EncryptSlice(dst, dst)
}

// Read implements io.Reader. The stream does not end.
func (s *Stream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.bytes) == 0 {
			s.Fill(s.buffer[:])
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

// Key returns the secret of a seed, which anybody can know.
func Key(seed uint64) [16]byte { return RandomKey(rand.New(rand.NewPCG(seed, 4))) }

// RandomKey draws a key.
func RandomKey(random *rand.Rand) (key [16]byte) {
	binary.LittleEndian.PutUint64(key[:8], random.Uint64())
	binary.LittleEndian.PutUint64(key[8:], random.Uint64())
	return key
}

// A Description is what another program needs to make the same stream.
type Description struct {
	Seed   uint64 `csv:"seed"`
	Secret string `csv:"secret"`
	Start  string `csv:"first_raw_value"`
}

// Describe returns the description of the stream of a seed.
func Describe(seed uint64) Description {
	key := Key(seed)
	return Description{seed, hex.EncodeToString(key[:]), fmt.Sprintf("%016x", uint64(start))}
}
