package counter

import "sync/atomic"

// A run is what one call of the space took: count numbers, which a handle gives one after the other. Each
// caller adds to given, and gets the number of the index that it found there.
//
//	index   0                     low                  count
//	        | ■ ■ ■ ■ ■ ■ ■ □ □ □ □ □ □ □ □ □ □ □ □ □ □ |   | □ □ □ □   the next run, once it is fetched
//	                        ^     ^
//	                     given    who gets this number has the next run fetched
//
// While a call of the space is under way, callers have the numbers from low on. Who finds given at count or
// beyond it gets none. It fills two cache lines.
type run struct {
	given atomic.Uint64
	_     [56]byte // given is written to, and what follows is only read

	first int64
	step  int64
	low   uint64
	count uint64
	_     [32]byte
}

func (r *run) number(i uint64) int64 { return r.first + int64(i)*r.step }

// issued returns how many of the run's numbers were given.
func (r *run) issued() uint64 { return min(r.given.Load(), r.count) }

// closed is what given is set to in a run that gives no more numbers. It is beyond the count of every run.
const closed = 1 << 62

// close makes the run give no more numbers, and returns how many were given.
func (r *run) close() uint64 {
	given := r.given.Swap(closed)
	return min(given, r.count)
}

// take fills dst with numbers of the run. It returns how many there were, and whether the one at the low mark
// was among them.
func (r *run) take(dst []int64) (n int, low bool) {
	end := r.given.Add(uint64(len(dst)))
	first := end - uint64(len(dst))
	end = min(end, r.count)
	for i := first; i < end; i++ {
		dst[n] = r.number(i)
		n++
	}
	return n, first <= r.low && r.low < end
}
