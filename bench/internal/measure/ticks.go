package measure

import (
	"math"
	"slices"
	"time"
)

// TicksPerNanosecond compares Ticks with the system's clock, for 50 ms.
func TicksPerNanosecond() float64 {
	start, from := time.Now(), Ticks()
	for time.Since(start) < 50*time.Millisecond {
	}
	return float64(Ticks()-from) / float64(time.Since(start))
}

// Resolution returns by how many ticks the clock moves at least, and how many a reading takes, as a
// median of a hundred times a hundred.
func Resolution() (step, reading float64) {
	readings := make([]float64, 100)
	step = math.Inf(1)
	for i := range readings {
		first := Ticks()
		last := first
		for range 100 {
			now := Ticks()
			if now > last {
				step = min(step, float64(now-last))
			}
			last = now
		}
		readings[i] = float64(last-first) / 100
	}
	slices.Sort(readings)
	return step, readings[len(readings)/2]
}
