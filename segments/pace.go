package segments

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A block lasts lasting at the pace at which numbers are taken, and the next one is fetched when what is left lasts
// margin times as long as the slowest of the space's last calls took. A pace that is not known yet grows by no more than
// growth from block to block.
const (
	lasting = 10 * time.Second
	margin  = 5
	growth  = 16
)

// calls remembers how long the last calls of a space took. It serves all counters of the space.
type calls struct {
	mu   sync.Mutex
	took [64]time.Duration // of 64, the slowest is about the 99th percentile
	next int
}

func (c *calls) add(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[c.next%len(c.took)] = took
	c.next++
}

func (c *calls) slowest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Max(c.took[:])
}

// pace returns numbers a second. It takes a while of less than a microsecond for one.
func pace(numbers uint64, took time.Duration) float64 {
	return float64(numbers) / max(took, time.Microsecond).Seconds()
}

// lowMark returns how many of a block's numbers are to be given before the next block is fetched.
func lowMark(count uint64, pace float64, slowest time.Duration) uint64 {
	ahead := pace * margin * slowest.Seconds()
	return count - 1 - uint64(min(ahead, float64(count-1)))
}

// rest returns how long to wait after so many failures in a row before the space is asked again.
func rest(failures int) time.Duration {
	longest := min(50*time.Millisecond<<min(failures, 10), 10*time.Second)
	return longest/2 + rand.N(longest/2)
}
