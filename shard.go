package randflake

import "errors"

// A shard belongs to one processor. It has a batch of IDs, made ahead, and the rest of a run of raw
// values, claimed from the cursor at once, from which it makes further batches. Only its owner
// reads and writes it: see shard_pin.go and shard_pool.go.
type shard struct {
	ids       [batchSize]uint64 // the batch; first, so that kernels write whole cache lines
	lock      ownerLock         // for shard_pool.go; in shard_pin.go of no size, and padded if it came last
	claimedAt int64             // the clock's second when the run was claimed; that in IDs may be later
	left      uint64            // IDs left in the batch, ids[:left]; Generate takes the last one
	nextRaw   uint64            // the first raw value left in the run
	runLeft   uint64            // raw values left in the run
	uncounted uint64            // IDs of the run that the generator's count lacks, handed out or not

	// A cache line between this shard and the next, and 24 bytes: if the lock has no size, a shard
	// is then a multiple of a line.
	_ [64 + 24]byte
}

// batchSize is the most IDs that a shard encrypts at once.
const batchSize = 64

// errNotFresh: the shard needs a new run, and the second was not read from the clock during the
// call. The published one may be late.
var errNotFresh = errors.New("randflake: want a second that was read from the clock")

// next returns an ID for the second now, or why there is none. fresh says that now was read from
// the clock during the call.
func (s *shard) next(g *Generator, st *state, now int64, fresh bool) (ID, error) {
	usedUp := s.left == 0 && s.runLeft == 0
	if s.claimedAt != now || usedUp {
		if !fresh {
			return 0, errNotFresh
		}
		if err := s.claim(g, st, now); err != nil {
			return 0, err
		}
	}
	if s.left == 0 {
		s.fill(g.cipher)
	}
	s.left--
	return ID(s.ids[s.left]), nil
}

// claim claims a new run from the cursor. What is left of the old run is lost.
//
// Only here a shard adds to the generator's count: the first ID of the new run, so that a generator
// that makes a few does not look idle, and the other IDs of the old run that it handed out. Those
// of a shard's last run are never added, as only the owner may read a shard: when another lease is
// in force, the shards are new.
func (s *shard) claim(g *Generator, st *state, now int64) error {
	first, n, err := st.cursor.claim(now, st.runLength, st.share)
	if err != nil {
		return err
	}
	handedOut := s.uncounted - s.runLeft - s.left // 0 for a new shard
	g.handedOut.Add(handedOut + 1)
	s.claimedAt = now
	s.left = 0
	s.nextRaw = first
	s.runLeft = n
	s.uncounted = n - 1
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

// runLength returns how many raw values a shard claims at once: a small part of a processor's share
// of a second, as the rest of a run is lost when the second ends. With long runs processors rarely
// meet at the cursor.
func runLength(nodes uint64, shards int) uint64 {
	const (
		longest = 4096
		parts   = 64 // of a processor's share of a second
	)
	valuesPerSecond := nodes << sequenceBits
	run := valuesPerSecond / (parts * uint64(shards))
	batches := run / batchSize
	return min(max(batches*batchSize, batchSize), longest)
}
