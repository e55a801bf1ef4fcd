package randflake

import (
	"sync/atomic"
)

// batchSize is the most IDs that are encrypted at once.
const batchSize = 64

// A batch holds IDs made ahead. Only its owner, a P, writes to it; any goroutine may read how many IDs it
// has handed out. That count and the number of IDs left share one word, so that a reader sees both as of one moment.
type batch struct {
	ids    [batchSize]uint64 // first, so that the kernels write whole cache lines of a shard
	second int64             // what the clock said when the raw values were claimed
	word   uint64            // all IDs made and not dropped << leftBits | those of them that are left, ids[:left]
	first  uint64            // the first of the raw values, which come in order
	lock   ownerLock         // empty where owners need none

	skipped [batchSize]uint8 // how many raw values were left out before that of each ID; see ring
}

const leftBits = 8 // left is the lowest byte, for speed

// left returns how many IDs the batch has.
func (b *batch) left() uint8 { return uint8(b.word) }

// take returns the last ID. The batch must not be empty.
func (b *batch) take() ID {
	b.word--
	return ID(b.ids[b.left()])
}

// fill replaces the IDs by n new ones, from the raw values first, first+1, ... If the secret has several keys there may
// be fewer, and even none.
func (b *batch) fill(c *Cipher, first, n uint64) {
	if r := c.ring(); r != nil {
		n = uint64(r.encryptBatch(b.ids[:n], first, b.skipped[:]))
	} else {
		encryptRun(c.keys(), b.ids[:n], first)
	}
	b.first = first
	atomic.StoreUint64(&b.word, (b.count()+n)<<leftBits|n) // in one piece on 32-bit machines, too
}

// drop discards the IDs left.
func (b *batch) drop() { atomic.StoreUint64(&b.word, b.count()<<leftBits) }

// issued returns how many IDs the owner has handed out. Any goroutine may call it.
func (b *batch) issued() uint64 {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.count()
}

// count is issued for a caller that holds the lock.
func (b *batch) count() uint64 {
	word := atomic.LoadUint64(&b.word)
	return word>>leftBits - word&(1<<leftBits-1)
}
