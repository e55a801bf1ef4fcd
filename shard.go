package randflake

import "runtime"

// A shard belongs to one processor. It has a batch of IDs, made ahead, and the rest of a run of raw values,
// claimed from the cursor at once, from which it makes further batches. Only its owner reads and writes it.
type shard struct {
	ids       [batchSize]uint64 // the batch; first, so that the kernels write whole cache lines
	lock      ownerLock         // empty where owners need none: not the last field, which would take room
	claimedAt int64             // the second by the clock when the run was claimed; its IDs may have a later one
	left      uint64            // IDs left in the batch, ids[:left]
	raw       uint64            // the first raw value left in the run
	run       uint64            // raw values left in the run
	uncounted uint64            // the first raw value of the run whose ID is not counted yet
	_         [88]byte          // keeps the next shard off this one's cache lines, and has it begin one
}

// batchSize is the most IDs that are encrypted at once.
const batchSize = 64

// next returns an ID for the second now. It reports false if that takes a new run and now is not fresh: it comes
// from the timer, not from the clock during this call of the generator.
func (s *shard) next(st *state, now int64, fresh bool) (id ID, ok bool, err error) {
	if s.claimedAt != now || s.run == 0 && s.left == 0 {
		if !fresh {
			return 0, false, nil
		}
		if err := s.claim(st, now); err != nil {
			return 0, false, err
		}
	}
	if s.left == 0 {
		s.fill(st.cipher)
	}
	s.left--
	return ID(s.ids[s.left]), true, nil
}

// claim claims a new run from the cursor. What is left of the old one is lost.
//
// The count of IDs is the generator's, so a shard adds to it only here: the IDs of the old run that it handed out, and
// at once the ID for which the new run is claimed, so that a generator that makes a few is not taken for an idle one.
func (s *shard) claim(st *state, now int64) error {
	first, n, err := st.cursor.claim(st.bounds, now, st.runLength, st.share)
	if err != nil {
		return err
	}
	handedOut := s.raw - s.left - s.uncounted // all that were made of the old run, except those left in the batch
	st.claimed.Add(handedOut + 1)
	s.claimedAt = now
	s.left = 0
	s.raw = first
	s.run = n
	s.uncounted = first + 1
	return nil
}

// fill encrypts the next batch of the run.
func (s *shard) fill(c *Cipher) {
	n := min(s.run, active.batchLength())
	encryptRun(c.keys(), s.ids[:n], s.raw)
	s.left = n
	s.raw += n
	s.run -= n
}

// count returns how many shards there are.
func (s *shards) count() int { return len(s.list) }

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
