package randflake

import "sync/atomic"

// blockSize is how many IDs are encrypted in one go, at most.
const blockSize = 64

// A hand is a block of IDs made ahead. Only its owner, a P or a Local, writes to it, so only the counts, which any
// goroutine may read, are atomic. They are not on left's cache line: there they made Generate take a tenth longer.
type hand struct {
	second int64     // what the clock said when the raw values were claimed
	left   uintptr   // IDs left: ids[:left]
	first  uint64    // the raw value of ids[0], after which the others come in order
	lock   ownerLock // empty where owners need none
	ids    [blockSize]uint64

	made    atomic.Uint64 // IDs, those left included
	dropped atomic.Uint64 // IDs of made that were never handed out
}

// fill makes n IDs from the raw values from first on. What was left is dropped.
func (h *hand) fill(keys *roundKeys, first, n uint64) {
	h.drop()
	encryptRun(keys, h.ids[:n], first)
	h.first = first
	h.left = uintptr(n)
	h.made.Store(h.made.Load() + n)
}

// drop gives up what is left.
func (h *hand) drop() {
	if h.left > 0 {
		h.dropped.Store(h.dropped.Load() + uint64(h.left))
		atomic.StoreUintptr(&h.left, 0)
	}
}

// issued returns how many IDs the owner has handed out. Any goroutine may call it: left is a word, so what is read is a
// value that it really had. The three words are read in an order in which the result is never too large: made before
// left, as fill writes left first, and left before dropped.
func (h *hand) issued() uint64 {
	h.lock.Lock()
	defer h.lock.Unlock()
	made := h.made.Load()
	left := atomic.LoadUintptr(&h.left)
	return made - uint64(left) - h.dropped.Load()
}
