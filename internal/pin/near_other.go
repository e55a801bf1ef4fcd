//go:build !gc || purego || race

// Package pin keeps a goroutine on its processor (P), where the runtime allows it.
package pin

import (
	"math/rand/v2"
	"runtime"
)

// Near returns a random number below GOMAXPROCS, in place of the number of a P.
func Near() int { return rand.IntN(runtime.GOMAXPROCS(0)) }
