//go:build gc && !purego && !race

package randflake

import "github.com/randflake/randflake/internal/pin"

// An ownerLock does nothing: a batch is used only by the goroutine that is pinned to its P.
type ownerLock struct{}

func (ownerLock) Lock()   {}
func (ownerLock) Unlock() {}

// shards are one shard for each P. The zero value has none.
type shards struct{ list []shard }

func newShards(n int) shards { return shards{make([]shard, n)} }

// pin returns the shard of the current P, or nil when there is none for it. Either way unpin must follow, with nothing
// between them that blocks or allocates.
func (s *shards) pin() *shard {
	p := pin.Pin()
	if uint(p) >= uint(len(s.list)) {
		return nil
	}
	return &s.list[p]
}

func (s *shards) unpin(*shard) { pin.Unpin() }
