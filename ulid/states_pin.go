//go:build gc && !purego && !race

package ulid

import (
	"runtime"

	"github.com/randflake/randflake/internal/pin"
)

// processors returns how many processors can have a state of their own.
func processors() int { return runtime.GOMAXPROCS(0) }

// pinnedStates are one state for each P.
type pinnedStates []ownedState

// pin returns the state of the current P, to which it pins the caller, or nil when there is none for it. Unless it is
// nil, unpin must follow, with nothing between them that blocks or allocates.
func (s pinnedStates) pin() *ownedState {
	if len(s) == 0 {
		return nil
	}
	if p := pin.Pin(); uint(p) < uint(len(s)) {
		return &s[p]
	}
	pin.Unpin()
	return nil
}

func (pinnedStates) unpin() { pin.Unpin() }
