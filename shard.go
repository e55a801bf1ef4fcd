package randflake

import (
	"runtime"
	"sync/atomic"
)

// A shard belongs to one processor. It has a batch of IDs to hand out next, and the rest of a run of raw values,
// claimed from the cursor at once, from which it makes further batches.
type shard struct {
	batch
	raw uint64   // the first raw value left in the run
	run uint64   // raw values left in the run, claimed in the batch's second
	_   [96]byte // keeps the next shard off this one's cache lines, and has it begin one
}

// next returns an ID for the second now. It reports false if that takes a new run and now is not fresh: it comes
// from the timer, not from the clock during this call of the generator.
func (s *shard) next(st *state, now int64, fresh bool) (id ID, ok bool, err error) {
	for s.second != now || s.left() == 0 {
		first, n, err := s.claim(st, now, fresh)
		if n == 0 {
			return 0, false, err
		}
		s.fill(st.cipher, first, n)
	}
	return s.take(), true, nil
}

// claim takes the raw values of a batch from the run. If the run is used up it claims a new one from the cursor, or
// returns none if now is not fresh.
func (s *shard) claim(st *state, now int64, fresh bool) (first, n uint64, err error) {
	if s.second != now {
		s.drop() // made for another second, like the run
		s.run = 0
	}
	if s.run == 0 {
		if !fresh {
			return 0, 0, nil
		}
		s.raw, s.run, err = st.cursor.claim(st.bounds, now, st.runLength, st.share)
		if err != nil {
			return 0, 0, err
		}
		s.second = now
	}
	first, n = s.raw, min(s.run, active.batchLength())
	s.raw += n
	s.run -= n
	return first, n, nil
}

// count returns how many shards there are.
func (s *shards) count() int { return len(s.list) }

// issued returns how many IDs the shards have handed out.
func (s *shards) issued() (n uint64) {
	for i := range s.list {
		n += s.list[i].issued()
	}
	return n
}

// runLength returns how many raw values a shard claims at once. With long runs processors rarely meet at the cursor.
// But the rest of a run is lost when its second ends, so a run is a small part of a processor's share of a second.
func runLength(nodes uint64, shards int) uint64 {
	const longest = 4096
	capacity := nodes << sequenceBits
	run := capacity / (64 * uint64(shards))
	return min(max(run/batchSize*batchSize, batchSize), longest)
}

// processors returns how many shards can be in use at once.
func processors() int { return runtime.GOMAXPROCS(0) }

// batchSize is the most IDs that are encrypted at once.
const batchSize = 64

// A batch holds IDs made ahead. Only its owner, a P, writes to it; any goroutine may read how many IDs it
// has handed out. That count and the number of IDs left share one word, so that a reader sees both as of one moment.
type batch struct {
	ids    [batchSize]uint64 // first, so that the kernels write whole cache lines of a shard
	lock   ownerLock         // empty where owners need none: not the last field, which would take room
	second int64             // what the clock said when the raw values were claimed
	word   uint64            // all IDs made and not dropped << leftBits | those of them that are left, ids[:left]
}

const leftBits = 8 // left is the lowest byte, for speed

// left returns how many IDs the batch has.
func (b *batch) left() uint8 { return uint8(b.word) }

// take returns the last ID. The batch must not be empty.
func (b *batch) take() ID {
	b.word--
	return ID(b.ids[b.left()])
}

// fill replaces the IDs by n new ones, from the raw values first, first+1, ...
func (b *batch) fill(c *Cipher, first, n uint64) {
	encryptRun(c.keys(), b.ids[:n], first)
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
