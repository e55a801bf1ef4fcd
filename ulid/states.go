package ulid

import (
	"sync"
	"sync/atomic"

	"github.com/randflake/randflake/internal/coarse"
)

// An ownedState has at most one owner, the goroutine that locked it. The state of a P is also used without the lock, by
// a goroutine that is pinned to that P while owned is false.
type ownedState struct {
	state
	owned atomic.Bool
	lock  sync.Mutex
	_     [64]byte // keeps the next state out of the cache lines of this one
}

// newStates returns n states.
func newStates(n int, random func([]byte)) pinnedStates {
	list := make(pinnedStates, n)
	for i := range list {
		list[i].state = newState(random, false)
	}
	return list
}

// take returns an ID from the state of the caller's processor. It returns false if the state is owned or has too few
// random bytes, or if the cached time is not valid.
func (p pinnedStates) take() (id ID, ok bool) {
	s := p.pin()
	if s == nil {
		return ID{}, false
	}
	ms := coarse.Milliseconds.Published()
	if ms != 0 && uint64(ms) < endTime && s.left >= longestStep && !s.owned.Load() {
		var err error
		id, err = s.next(ms)
		ok = err == nil
	}
	p.unpin()
	coarse.Milliseconds.MarkUsed()
	return id, ok
}

// own returns the state of the caller's processor, or the shared state, for the caller's exclusive use. The caller must
// call release afterwards.
func (g *Generator) own() *ownedState {
	if len(g.states) == 0 {
		g.shared.lock.Lock()
		return &g.shared
	}
	return g.ownPinned()
}

func (g *Generator) ownPinned() *ownedState {
	for {
		s := g.states.pin()
		if s == nil {
			g.shared.lock.Lock()
			return &g.shared
		}
		owned := s.lock.TryLock()
		if owned {
			s.owned.Store(true) // no other goroutine uses it: the caller is pinned to its P
		}
		g.states.unpin()
		if owned {
			return s
		}
		s.lock.Lock()
		//lint:ignore SA2001 this waits for the owner
		s.lock.Unlock()
	}
}

func (s *ownedState) release() {
	if s.owned.Load() {
		s.owned.Store(false)
	}
	s.lock.Unlock()
}
