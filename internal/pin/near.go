//go:build gc && !purego && !race

package pin

// Near returns the number of the P that the calling goroutine runs on, from 0 up to GOMAXPROCS. The goroutine may move
// before Near returns, so the number tells where others are unlikely to be at work, and no more.
func Near() int {
	p := Pin()
	Unpin()
	return p
}
