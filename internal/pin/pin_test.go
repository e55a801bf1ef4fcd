//go:build gc && !purego && !race

package pin

import (
	"testing"
)

// BenchmarkPin is what Generate can't do without: to be pinned to a processor and released.
func BenchmarkPin(b *testing.B) {
	for b.Loop() {
		pinAndUnpin()
	}
}

//go:noinline
func pinAndUnpin() {
	Pin()
	Unpin()
}
