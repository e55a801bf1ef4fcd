//go:build !gc || purego || race

package randflake

import "sync"

// Without the runtime's pinning, a sync.Pool hands out shards: whoever got one has it to itself
// until it is put back. A shard that the pool drops takes its claimed values with it, which wastes
// them and repeats none.

// shards are as many shards as there are goroutines that need one at once. The zero value has none.
type shards struct {
	pool *sync.Pool
	n    int
}

func newShards(n int) shards {
	return shards{&sync.Pool{New: func() any { return new(shard) }}, n}
}

// pin returns a shard, or nil when there is none. Either way unpin must follow.
func (s *shards) pin() *shard {
	if s.pool == nil {
		return nil
	}
	return s.pool.Get().(*shard)
}

func (s *shards) unpin(sh *shard) {
	if sh != nil {
		s.pool.Put(sh)
	}
}

// count returns how many shards are expected to be in use at once.
func (s *shards) count() int { return s.n }
