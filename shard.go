package randflake

import "runtime"

// A shard is one processor's: a hand of IDs to give out next, and a run of raw values, claimed from the cursor in one
// go, from which to make more of them, block by block.
type shard struct {
	hand
	raw uint64   // the first raw value left in the run
	run uint64   // raw values left in the run, claimed in the hand's second
	_   [88]byte // keeps the next shard off this one's cache lines, and has it begin one
}

// next returns an ID for the second now, and its raw value. It reports false when it has none and would have to claim a
// run, unless fresh says that now was read just before.
func (s *shard) next(st *state, now int64, fresh bool) (id ID, raw Raw, ok bool, err error) {
	if s.second != now || s.left() == 0 {
		first, n, err := s.claim(st, now, fresh)
		if n == 0 {
			return 0, 0, false, err
		}
		s.fill(st.cipher.keys(), first, n)
	}
	id, raw = s.take()
	return id, raw, true, nil
}

// claim takes the raw values of a block from the run, and a new run from the cursor as need be. There are none when
// that would be needed and now was not read just before.
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
	first, n = s.raw, min(s.run, active.blockLength())
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

// runLength returns how many raw values a shard claims at once. Long runs keep processors from meeting at the cursor;
// but what is left of a run when its second ends is lost, so it is a small part of what each of them may expect of a
// second.
func runLength(nodes uint64, shards int) uint64 {
	const longest = 4096
	capacity := nodes << SequenceBits
	run := capacity / (64 * uint64(shards))
	return min(max(run/blockSize*blockSize, blockSize), longest)
}

// processors returns how many shards can be in use at once.
func processors() int { return runtime.GOMAXPROCS(0) }
