package counter

import "sync/atomic"

// A run is what one fetch took: count numbers, which a handle gives out one after the other. Each
// caller adds 1 to given, and gets the number at the index that given had before.
//
//	index   0                     low                  count
//	        | ■ ■ ■ ■ ■ ■ ■ □ □ □ □ □ □ □ □ □ □ □ □ □ □ |   | □ □ □ □   the next run, once it is fetched
//	                        ^     ^
//	                     given    the caller who gets this number has the next run fetched
//
// While the next run is fetched, callers get the numbers from low on. A caller who finds given at
// count or beyond gets none. A run fills two cache lines.
type run struct {
	given atomic.Uint64
	_     [56]byte // given is written to, and what follows is only read

	first int64  // the number at index 0
	step  int64  // from one number to the next
	low   uint64 // an index: the low mark
	count uint64 // of numbers
	_     [32]byte
}

func (r *run) number(i uint64) int64 { return r.first + int64(i)*r.step }

// issued returns how many of the run's numbers callers got.
func (r *run) issued() uint64 { return min(r.given.Load(), r.count) }

// beyondAll is the value of given in a run that gives no more numbers. It is beyond the count of
// every run, and far enough below the largest uint64 for callers to go on adding to it.
const beyondAll = 1 << 62

// close makes the run give no more numbers, and returns how many callers got.
func (r *run) close() uint64 {
	given := r.given.Swap(beyondAll)
	return min(given, r.count)
}

// take fills dst with numbers of the run. It returns how many there were, and whether the number at
// the low mark was among them.
func (r *run) take(dst []int64) (n int, passedLow bool) {
	end := r.given.Add(uint64(len(dst)))
	first := end - uint64(len(dst))
	end = min(end, r.count)
	for i := first; i < end; i++ {
		dst[n] = r.number(i)
		n++
	}
	return n, first <= r.low && r.low < end
}
