//go:build !gc || purego || race

package ulid

// Without pinning to a P, all goroutines share one state.

func processors() int { return 0 }

type pinnedStates []ownedState

func (pinnedStates) pin() *ownedState { return nil }

func (pinnedStates) unpin() {}
