package randflake

import (
	"runtime"
	"sync/atomic"
)

// blockSize is how many IDs a shard encrypts at a time, at most.
const blockSize = 64

// A shard holds the IDs that one processor hands out next: a block of encrypted ones, and a run of
// raw values, claimed from the cursor in one go, from which to encrypt the next blocks. Only its
// owner touches it, so nothing here is atomic but the count, which everybody may read. That one is
// not on left's cache line: there it made Generate take a tenth longer.
type shard struct {
	second  int64  // what the clock said when the run was claimed
	left    uint   // IDs left in block: block[:left]
	raw     uint64 // the first raw value left in the run
	run     uint64 // raw values left in the run
	counted uint   // left, when issued was last brought up to date
	//lint:ignore U1000 empty where shards are pinned
	lock   shardLock
	block  [blockSize]uint64 // encrypted IDs
	issued atomic.Uint64     // IDs handed out, to within a block
	_      [80]byte          // keeps the next shard off this one's cache lines
}

// take returns an ID for the second now. It reports false when it has none and would have to claim
// a run, unless fresh says that now was read just before.
func (s *shard) take(st *state, now int64, fresh bool) (id ID, ok bool, err error) {
	s.count()
	if s.second != now {
		s.left, s.counted, s.run = 0, 0, 0 // made for another second: dropped
	}
	if s.left == 0 {
		if s.run == 0 {
			if !fresh {
				return 0, false, nil
			}
			s.raw, s.run, err = st.cursor.claim(st.bounds, now, st.runLength, st.share)
			if err != nil {
				return 0, false, err
			}
			s.second = now
		}
		s.refill(st.cipher.keys)
	}
	s.left--
	return ID(s.block[s.left]), true, nil
}

// refill encrypts the next block of the run.
func (s *shard) refill(keys *roundKeys) {
	n := min(s.run, active.blockLength())
	encryptRun(keys, s.block[:n], s.raw)
	s.raw += n
	s.run -= n
	s.left, s.counted = uint(n), uint(n)
}

// count counts the IDs that were handed out since it was last called. It is called once a block, as a
// write that everybody may see takes as long as making a few IDs.
func (s *shard) count() {
	s.issued.Store(s.issued.Load() + uint64(s.counted-s.left))
	s.counted = s.left
}

// runLength returns how many raw values a shard claims at once. Long runs keep processors from
// meeting at the cursor; but what is left of a run when its second ends is lost, so it is a small
// part of what each of them may expect of a second.
func runLength(nodes uint64, shards int) uint64 {
	const longest = 4096
	capacity := nodes << SequenceBits
	run := capacity / (64 * uint64(shards))
	return min(max(run/blockSize*blockSize, blockSize), longest)
}

// processors returns how many shards can be in use at once.
func processors() int { return runtime.GOMAXPROCS(0) }
