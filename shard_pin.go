//go:build gc && !purego && !race

package randflake

import _ "unsafe" // for go:linkname

// Pinned to its processor (P), a goroutine can't be preempted, so it has that P's shard to itself.
// The runtime pledges to keep these two functions: https://go.dev/issue/67401.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// An ownerLock is nothing: who is pinned, or has a Local, has its hand to itself.
type ownerLock struct{}

func (ownerLock) Lock()   {}
func (ownerLock) Unlock() {}

// shards are one shard for each P. The zero value has none.
type shards struct{ list []shard }

func newShards(n int) shards { return shards{make([]shard, n)} }

// pin returns the shard of the current P, or nil when there is none for it. Either way unpin must
// follow, with nothing between them that blocks or allocates.
func (s *shards) pin() *shard {
	if p := procPin(); uint(p) < uint(len(s.list)) {
		return &s.list[p]
	}
	return nil
}

func (s *shards) unpin(*shard) { procUnpin() }
