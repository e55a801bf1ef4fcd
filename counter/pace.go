package counter

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// At the current pace a run lasts for the duration lasting. The next run is fetched while the rest still lasts margin
// times as long as the slowest of the space's last calls. A run is at most growth times as large as the one before,
// since a burst is not a pace.
const (
	lasting = 10 * time.Second
	margin  = 5
	growth  = 16
)

// calls remembers how long the last calls of a space took, for all counters of the space.
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

// A mark is how many numbers had been issued at a time.
type mark struct {
	at     time.Time
	issued uint64
}

// pace returns how many numbers a second were issued since.
func (m mark) pace(now mark) float64 {
	return float64(now.issued-m.issued) / max(now.at.Sub(m.at), time.Microsecond).Seconds()
}

// runLength returns how many numbers to take at a pace, after a run of last numbers.
func (c *Counter) runLength(pace float64, last uint64) uint64 {
	want := min(pace*lasting.Seconds(), float64(max(last, 1))*growth, float64(c.most))
	return max(uint64(want), c.least)
}

// lowMark returns how many of a run's numbers are to be given before the next run is fetched.
func lowMark(count uint64, pace float64, slowest time.Duration) uint64 {
	ahead := pace * margin * slowest.Seconds()
	return count - 1 - uint64(min(ahead, float64(count-1)))
}

// rest returns how long to wait before the next attempt, after a number of failures in a row.
func rest(failures int) time.Duration {
	longest := min(50*time.Millisecond<<min(failures, 10), 10*time.Second)
	return longest/2 + rand.N(longest/2)
}
