package randflake

import "runtime"

// A shard belongs to one processor. It has a batch of IDs to hand out next, and the rest of a run of raw values,
// claimed from the cursor at once, from which it makes further batches.
type shard struct {
	batch
	raw uint64   // the first raw value left in the run
	run uint64   // raw values left in the run, claimed in the batch's second
	_   [88]byte // keeps the next shard off this one's cache lines, and has it begin one
}

// next returns an ID for the second now. It reports false if that takes a new run and now is not fresh, which means read
// from the clock during this call of the generator.
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
	capacity := nodes << SequenceBits
	run := capacity / (64 * uint64(shards))
	return min(max(run/batchSize*batchSize, batchSize), longest)
}

// processors returns how many shards can be in use at once.
func processors() int { return runtime.GOMAXPROCS(0) }
