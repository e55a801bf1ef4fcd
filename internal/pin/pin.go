//go:build gc && !purego && !race

// Package pin keeps a goroutine on its processor (P).
package pin

import _ "unsafe" // for go:linkname

// Pin pins the calling goroutine to its P and returns the number of that: until Unpin the goroutine
// can't be preempted, so it has what belongs to the P to itself. In between nothing may block or
// allocate. The runtime pledges to keep these two functions: https://go.dev/issue/67401.
//
//go:linkname Pin runtime.procPin
func Pin() int

// Unpin ends what Pin began.
//
//go:linkname Unpin runtime.procUnpin
func Unpin()
