//go:build !gc || purego || race

package randflake

import (
	"sync"
	"sync/atomic"
)

// Without the runtime's pinning, a goroutine gets its shard from a sync.Pool, which has a list for
// each P. Two goroutines may get the same shard, so each locks it. The pool may drop its pointers
// at any time; the shards themselves stay in the list.

// An ownerLock is held by the goroutine that uses a shard.
type ownerLock = sync.Mutex

// shards are one shard for each P. The zero value has none.
type shards struct {
	list []shard
	free *sync.Pool // of *shard, from list
}

func newShards(n int) shards {
	list := make([]shard, n)
	var made atomic.Uint32
	next := func() any { return &list[made.Add(1)%uint32(n)] }
	return shards{list, &sync.Pool{New: next}}
}

// pin returns a shard for the caller alone, or nil when there is none. Either way unpin must
// follow.
func (s *shards) pin() *shard {
	if s.free == nil {
		return nil
	}
	sh := s.free.Get().(*shard)
	sh.lock.Lock()
	return sh
}

// unpin gives back what pin returned.
func (s *shards) unpin(sh *shard) {
	if sh != nil {
		sh.lock.Unlock()
		s.free.Put(sh)
	}
}
