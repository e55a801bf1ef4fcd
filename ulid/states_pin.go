//go:build gc && !purego && !race

package ulid

import (
	"runtime"
	_ "unsafe" // for go:linkname
)

// Pinned to its processor (P), a goroutine can't be preempted, so it has that P's state to itself.
// The runtime pledges to keep these two functions: https://go.dev/issue/67401.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// processors returns how many processors can have a state of their own.
func processors() int { return runtime.GOMAXPROCS(0) }

// pinnedStates are one state for each P.
type pinnedStates []ownedState

// pin returns the state of the current P, to which it pins the caller, or nil when there is none for it. Unless
// it is nil, unpin must follow, with nothing between them that blocks or allocates.
func (s pinnedStates) pin() *ownedState {
	if len(s) == 0 {
		return nil
	}
	if p := procPin(); uint(p) < uint(len(s)) {
		return &s[p]
	}
	procUnpin()
	return nil
}

func (pinnedStates) unpin() { procUnpin() }
