//go:build gc && !purego && !race

package ulid

import (
	"runtime"

	"github.com/randflake/randflake/internal/pin"
)

// processors returns the number of processors that can have a state of their own.
func processors() int { return runtime.GOMAXPROCS(0) }

// pinnedStates are one state for each P.
type pinnedStates []ownedState

// pin pins the caller to the current P and returns that P's state. If the P has no state, pin returns nil and does not
// pin. Otherwise the caller must call unpin, and must not block or allocate before that.
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
