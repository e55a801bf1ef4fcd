package randflake

import "runtime"

// A shard belongs to one processor. It has a batch of IDs, made ahead, and the rest of a run of raw
// values, claimed from the cursor at once, from which it makes further batches. Only its owner
// reads and writes it: see shard_pin.go and shard_pool.go.
type shard struct {
	ids       [batchSize]uint64 // the batch; first, so that kernels write whole cache lines
	lock      ownerLock         // has no size in shard_pin.go; as the last field it would be padded
	claimedAt int64             // the second by the clock when the run was claimed; IDs may carry a later one
	left      uint64            // IDs left in the batch, ids[:left]; Generate takes the last one
	nextRaw   uint64            // the first raw value left in the run
	runLeft   uint64            // raw values left in the run
	countedTo uint64            // IDs of the run are counted if their raw values are below it

	// A cache line between this shard and the next, and 24 bytes up to a multiple of a line.
	_ [64 + 24]byte
}

// batchSize is the most IDs that are encrypted at once.
const batchSize = 64

// next returns an ID for the second now. It reports false, without an ID, if that takes a new run
// and now is not fresh: it is the published second, not read from the clock during this call.
func (s *shard) next(st *state, now int64, fresh bool) (ID, bool, error) {
	usedUp := s.left == 0 && s.runLeft == 0
	if s.claimedAt != now || usedUp {
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

// claim claims a new run from the cursor. What is left of the old run is lost.
//
// Only here a shard adds to the generator's count: the IDs of the old run that it handed out, and
// the first ID of the new run, so that a generator that makes a few does not look idle.
func (s *shard) claim(st *state, now int64) error {
	first, n, err := st.cursor.claim(now, st.runLength, st.share)
	if err != nil {
		return err
	}
	// Of the old run: made, less those left in the batch, less those counted. 0 for a new shard.
	handedOut := s.nextRaw - s.left - s.countedTo
	st.handedOut.Add(handedOut + 1)
	s.claimedAt = now
	s.left = 0
	s.nextRaw = first
	s.runLeft = n
	s.countedTo = first + 1
	return nil
}

// fill encrypts the next batch of the run.
func (s *shard) fill(c *Cipher) {
	n := min(s.runLeft, active.batchLength())
	encryptRun(c.keys(), s.ids[:n], s.nextRaw)
	s.left = n
	s.nextRaw += n
	s.runLeft -= n
}

// count returns how many shards there are, in either form of shards.
func (s *shards) count() int { return len(s.list) }

// runLength returns how many raw values a shard claims at once: a small part of a processor's share
// of a second, as the rest of a run is lost when the second ends. With long runs processors rarely
// meet at the cursor.
func runLength(nodes uint64, shards int) uint64 {
	const (
		longest = 4096
		parts   = 64 // of a processor's share of a second
	)
	second := nodes << sequenceBits
	run := second / (parts * uint64(shards))
	batches := run / batchSize
	return min(max(batches*batchSize, batchSize), longest)
}

// processors returns how many shards can be in use at once.
func processors() int { return runtime.GOMAXPROCS(0) }
