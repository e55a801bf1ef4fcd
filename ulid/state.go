package ulid

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/randflake/randflake/internal/coarse"
)

// An ownedState has at most one owner, the goroutine that locked it. The state of a P is also used without the lock, by
// a goroutine that is pinned to that P while owned is false.
type ownedState struct {
	state
	owned atomic.Bool
	lock  sync.Mutex
	_     [64]byte // keeps the next state out of the cache lines of this one
}

// newStates returns n states.
func newStates(n int, random func([]byte)) pinnedStates {
	list := make(pinnedStates, n)
	for i := range list {
		list[i].state = newState(random, false)
	}
	return list
}

// take returns an ID from the state of the caller's processor. It returns false if the state is owned or has too few
// random bytes, or if the cached time is not valid.
func (p pinnedStates) take() (id ID, ok bool) {
	s := p.pin()
	if s == nil {
		return ID{}, false
	}
	ms := coarse.Milliseconds.Published()
	if ms != 0 && uint64(ms) < endTime && s.left >= longestStep && !s.owned.Load() {
		var err error
		id, err = s.next(ms)
		ok = err == nil
	}
	p.unpin()
	coarse.Milliseconds.MarkUsed()
	return id, ok
}

// own returns the state of the caller's processor, or the shared state, for the caller's exclusive use. The caller must
// call release afterwards.
func (g *Generator) own() *ownedState {
	if len(g.states) == 0 {
		g.shared.lock.Lock()
		return &g.shared
	}
	return g.ownPinned()
}

func (g *Generator) ownPinned() *ownedState {
	for {
		s := g.states.pin()
		if s == nil {
			g.shared.lock.Lock()
			return &g.shared
		}
		owned := s.lock.TryLock()
		if owned {
			s.owned.Store(true) // no other goroutine uses it: the caller is pinned to its P
		}
		g.states.unpin()
		if owned {
			return s
		}
		s.lock.Lock()
		//lint:ignore SA2001 this waits for the owner
		s.lock.Unlock()
	}
}

func (s *ownedState) release() {
	if s.owned.Load() {
		s.owned.Store(false)
	}
	s.lock.Unlock()
}

// noTime is the time of a state that has made no ID yet.
const noTime = -1

// A state makes IDs for one goroutine at a time. Each new millisecond starts at 80 random bits, and continues in random
// steps of 1 to 2^32.
type state struct {
	ms     int64  // of the newest ID, or noTime
	hi, lo uint64 // the newest ID, as 128 bits
	hold   bool   // whether to stay in ms when the clock steps back behind it
	random func([]byte)
	left   uint // random bytes not used yet, a multiple of 4: buffer[:left]
	buffer [bufferSize]byte
}

// bufferSize is how many random bytes a state reads at once.
const bufferSize = 512

// longestStep is the maximum number of random bytes that an ID takes.
const longestStep = 12

func newState(random func([]byte), hold bool) state {
	return state{ms: noTime, random: random, hold: hold}
}

// next returns a new ID for the millisecond ms, which must be in range. If the last ID has the same millisecond, the
// new ID is larger, or the error is ErrMonotonicOverflow.
func (s *state) next(ms int64) (ID, error) {
	if ms > s.ms || ms < s.ms && !s.hold {
		s.begin(ms)
	} else if !s.step() {
		return ID{}, ErrMonotonicOverflow
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], s.hi)
	binary.BigEndian.PutUint64(id[8:], s.lo)
	return id, nil
}

// fill fills dst by next.
func (s *state) fill(dst []ID, ms int64) (n int, err error) {
	for n < len(dst) {
		id, err := s.next(ms)
		if err != nil {
			return n, err
		}
		dst[n] = id
		n++
	}
	return n, nil
}

// begin moves to a random value of another millisecond.
func (s *state) begin(ms int64) {
	s.ms = ms
	s.hi = uint64(ms)<<16 | s.word()>>16
	s.lo = s.word()<<32 | s.word()
}

// step adds 1 to 2^32, and reports whether the result is still within the 80 bits of entropy.
func (s *state) step() bool {
	lo, carry := bits.Add64(s.lo, 1+s.word(), 0)
	if carry == 1 && s.hi&0xffff == 0xffff {
		return false
	}
	s.hi, s.lo = s.hi+carry, lo
	return true
}

// word returns 32 random bits and erases them from the buffer, so each bit is used in one ID only.
func (s *state) word() uint64 {
	if s.left == 0 {
		s.random(s.buffer[:])
		s.left = bufferSize
	}
	s.left -= 4
	word := s.buffer[s.left%bufferSize:][:4] // avoids a bounds check
	bits := binary.LittleEndian.Uint32(word)
	binary.LittleEndian.PutUint32(word, 0)
	return uint64(bits)
}
