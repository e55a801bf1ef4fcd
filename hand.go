package randflake

import (
	"sync/atomic"
)

// blockSize is how many IDs are encrypted in one go, at most.
const blockSize = 64

// A hand is a block of IDs made ahead. Only its owner, a P or a Local, writes to it; any goroutine may read how many IDs
// it has handed out. That is in the same word as what it has left, so that a count is right while the owner goes on.
type hand struct {
	second int64     // what the clock said when the raw values were claimed
	word   uint64    // all IDs made and not dropped << leftBits | those of them that are left, ids[:left]
	first  uint64    // the raw value of ids[0], after which the others come in order
	lock   ownerLock // empty where owners need none
	ids    [blockSize]uint64
}

const leftBits = 8 // left is the lowest byte, for speed

// left returns how many IDs the hand has.
func (h *hand) left() uint8 { return uint8(h.word) }

// take hands out the last of the IDs, of which there is one at least, and its raw value.
func (h *hand) take() (ID, Raw) {
	i := h.left() - 1
	h.word--
	return ID(h.ids[i]), Raw(h.first + uint64(i))
}

// fill makes n IDs from the raw values from first on. What was left is dropped.
func (h *hand) fill(keys *roundKeys, first, n uint64) {
	encryptRun(keys, h.ids[:n], first)
	h.first = first
	atomic.StoreUint64(&h.word, (h.count()+n)<<leftBits|n)
}

// drop gives up what is left.
func (h *hand) drop() { atomic.StoreUint64(&h.word, h.count()<<leftBits) }

// issued returns how many IDs the owner has handed out. Any goroutine may call it.
func (h *hand) issued() uint64 {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.count()
}

// count is issued for who holds the lock.
func (h *hand) count() uint64 {
	word := atomic.LoadUint64(&h.word)
	return word>>leftBits - word&(1<<leftBits-1)
}
