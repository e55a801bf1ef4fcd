package ulid

import (
	"encoding/binary"
	"math/bits"

	"github.com/randflake/randflake/internal/vmgen"
)

// A state makes IDs for one goroutine at a time. Each new millisecond starts at random bits, 80 or 74, and
// continues in random steps of 1 to 2^32.
type state struct {
	ms       int64  // of the newest ID, or noTime
	hi, lo   uint64 // the newest ID, as 128 bits
	hold     bool   // whether to stay in ms when the clock steps back behind it
	version7 bool   // whether IDs have the version and variant of a UUID
	random   func([]byte)

	machine vmgen.Generation // stale in a copy of the machine, where all of this is the original's, too
	left    uint             // random bytes not used yet, a multiple of 4: buffer[:left]
	buffer  [bufferSize]byte
}

// noTime is the time of a state that has made no ID yet.
const noTime = -1

// The halves of an ID. Without version7 the bits of version and variant are random, too. (RFC 9562, sections 4.1 and 5.7)
//
//	hi    milliseconds (48) | version (4) | random (12)
//	lo    variant (2) | random (62)
const (
	versionBits uint64 = 0xf << 12
	version     uint64 = 7 << 12
	variantBits uint64 = 3 << 62
	variant     uint64 = 2 << 62
)

// bufferSize is how many random bytes a state reads at once.
const bufferSize = 512

func newState(random func([]byte), hold, version7 bool) *state {
	return &state{ms: noTime, random: random, hold: hold, version7: version7, machine: vmgen.Now()}
}

// next sets id to a new ID for the millisecond ms, which must be in range. If the last ID has the
// same millisecond, the new ID is larger, unless there is no room above it. Returning 16 bytes
// would take longer than making them: they are written as halves and copied as a whole.
func (s *state) next(ms int64, id *ID) {
	if ms > s.ms || ms < s.ms && !s.hold {
		s.begin(ms)
	} else {
		s.step()
	}
	binary.BigEndian.PutUint64(id[:8], s.hi)
	binary.BigEndian.PutUint64(id[8:], s.lo)
}

// fill sets each ID of dst by next.
func (s *state) fill(ms int64, dst []ID) {
	for i := range dst {
		s.next(ms, &dst[i])
	}
}

// begin moves to a random value of a millisecond.
func (s *state) begin(ms int64) {
	s.ms = ms
	s.hi = uint64(ms)<<16 | s.word()>>16
	s.lo = s.word()<<32 | s.word()
	if s.version7 {
		s.hi = s.hi&^versionBits | version
		s.lo = s.lo&^variantBits | variant
	}
}

// step adds 1 to 2^32 to the entropy. If it has no room for that, the state starts again.
func (s *state) step() {
	entropy := uint64(0xffff) // where it is in the first half
	lo, carry := bits.Add64(s.lo, 1+s.word(), 0)
	if s.version7 {
		entropy &^= versionBits
		carry = lo >> 62 & 1 // out of the 62 bits below the variant, 10 in binary: it makes that 11
		lo = lo&^variantBits | variant
	}
	if carry == 1 && s.hi&entropy == entropy { // the first half is full
		s.restart()
		return
	}
	s.hi, s.lo = s.hi+carry, lo
}

// restart moves to another random value of the millisecond, or of the next one if all IDs have to grow.
// (After the last of 2^48 milliseconds the time wraps.)
func (s *state) restart() {
	if s.hold {
		s.ms++
	}
	s.begin(s.ms)
}

// word returns 32 random bits and erases them from the buffer, so each bit is used in one ID only.
func (s *state) word() uint64 {
	if s.left == 0 {
		s.random(s.buffer[:])
		s.left = bufferSize
	}
	s.left -= 4
	word := s.buffer[s.left%bufferSize:][:4] // avoids a bounds check
	random := binary.LittleEndian.Uint32(word)
	binary.LittleEndian.PutUint32(word, 0)
	return uint64(random)
}

// renewIfCopied reports whether the machine was copied since the random bytes were read. Then the
// original may make the same IDs as this machine, so the state starts again with other bytes: make
// the IDs anew.
func (s *state) renewIfCopied() bool {
	if !s.machine.Stale() {
		return false
	}
	s.machine = vmgen.Now()
	s.left = 0
	s.restart()
	return true
}
