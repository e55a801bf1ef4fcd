//go:build gc && !purego && !race

package randflake

import "github.com/randflake/randflake/internal/pin"

// A goroutine that is pinned to its P, a processor of Go's scheduler, has the P's shard to itself.

// An ownerLock does nothing: pinning is enough. Its methods let go vet see copies of a shard.
type ownerLock struct{}

func (ownerLock) Lock()   {}
func (ownerLock) Unlock() {}

// shards are one shard for each P. The zero value has none.
type shards struct{ list []shard }

func newShards(n int) shards { return shards{make([]shard, n)} }

// pin returns the shard of the current P, or nil when the P has none. Either way unpin must follow,
// with nothing between them that blocks or allocates.
func (s *shards) pin() *shard {
	p := pin.Pin()
	if uint(p) >= uint(len(s.list)) {
		return nil
	}
	return &s.list[p]
}

func (s *shards) unpin(*shard) { pin.Unpin() }
