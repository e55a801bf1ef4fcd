package client

import (
	"slices"
	"time"
)

// maxAge bounds how long IDs are kept: a copy of a running machine has the same ones as its
// original, and returns them a second time.
const maxAge = 5 * time.Minute

// A stock is IDs that were made and not used yet, in the order in which they were made.
type stock[I ID] []batch[I]

// A batch is what is left of the IDs of one call.
type batch[I ID] struct {
	asked time.Time // when the call began
	ids   []I
}

func (s *stock[I]) add(asked time.Time, ids []I) { *s = append(*s, batch[I]{asked, ids}) }

// take moves IDs to dst, as many as there are, and drops those that are too old now. left is how many stay.
func (s *stock[I]) take(dst []I, now time.Time) (n, left int) {
	*s = slices.DeleteFunc(*s, func(b batch[I]) bool { return b.age(now) > maxAge })
	for i := range *s {
		b := &(*s)[i]
		k := copy(dst[n:], b.ids)
		b.ids = b.ids[k:]
		n += k
		left += len(b.ids)
	}
	*s = slices.DeleteFunc(*s, func(b batch[I]) bool { return len(b.ids) == 0 })
	return n, left
}

// age returns how old a batch is, by the monotonic clock or the wall clock, whichever says more. The
// monotonic clock stands still in a machine that is stopped, and the wall clock may be set.
func (b *batch[I]) age(now time.Time) time.Duration {
	byWallClock := now.Round(0).Sub(b.asked).Abs()
	return max(now.Sub(b.asked), byWallClock)
}
