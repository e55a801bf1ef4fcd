//go:build gc && !purego && !race

package randflake

import _ "unsafe" // for go:linkname

// Pinned to its processor (P), a goroutine can't be preempted, so it has that P's shard to itself.
// The runtime pledges to keep these two functions: https://go.dev/issue/67401.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

//lint:ignore U1000 the lock of shard_pool.go
type shardLock struct{}

// shards are one shard for each P. The zero value has none.
type shards struct{ ofP []shard }

func newShards(n int) shards { return shards{make([]shard, n)} }

// pin returns the shard of the current P, or nil when there is none for it. Either way unpin must
// follow, with nothing between them that blocks or allocates.
func (s *shards) pin() *shard {
	if p := procPin(); uint(p) < uint(len(s.ofP)) {
		return &s.ofP[p]
	}
	return nil
}

func (s *shards) unpin(*shard) { procUnpin() }

// count returns how many Ps have a shard.
func (s *shards) count() int { return len(s.ofP) }

// issued returns how many IDs the shards have handed out, to within a block each.
func (s *shards) issued() (n uint64) {
	for p := range s.ofP {
		n += s.ofP[p].issued.Load()
	}
	return n
}
