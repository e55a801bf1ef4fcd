package check

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/randflake/randflake"
)

// A run is an interval of consecutive raw values, both ends included.
type run struct{ first, last uint64 }

func (r run) count() uint64 { return r.last - r.first + 1 }

// A word stands for those of 64 neighbouring raw values, 64*key and up, whose bits are set.
type word struct{ key, mask uint64 }

// pack gathers raw values into words, and returns with them the values that occur more than once in
// what one word gathered; the others are found by merge. Generators claim values in runs, but hand
// out each block of a run in an order of its own: a few words at a time take them all in.
func pack(words []word, raw []randflake.Raw) (_ []word, again []uint64) {
	var open [8]word
	for _, value := range raw {
		v := uint64(value)
		w := &open[v/64%uint64(len(open))]
		if w.key != v/64 {
			if w.mask != 0 {
				words = append(words, *w)
			}
			*w = word{key: v / 64}
		}
		if bit := uint64(1) << (v % 64); w.mask&bit != 0 {
			again = append(again, v)
		} else {
			w.mask |= bit
		}
	}
	for _, w := range open {
		if w.mask != 0 {
			words = append(words, w)
		}
	}
	return words, again
}

// merge sorts words and joins those of one key, in origin. It returns with them the values that were
// in two of them.
func merge(words []word) (_ []word, again []uint64) {
	byKey := func(a, b word) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(words, byKey) {
		slices.SortFunc(words, byKey)
	}
	merged := words[:0]
	for _, w := range words {
		if n := len(merged); n > 0 && merged[n-1].key == w.key {
			for both := merged[n-1].mask & w.mask; both != 0; both &= both - 1 {
				again = append(again, w.key*64+uint64(bits.TrailingZeros64(both)))
			}
			merged[n-1].mask |= w.mask
			continue
		}
		merged = append(merged, w)
	}
	return merged, again
}

// runsOf returns the runs that merged words hold, in order.
func runsOf(runs []run, words []word) []run {
	for _, w := range words {
		first := w.key * 64
		for mask := w.mask; mask != 0; {
			skip := bits.TrailingZeros64(mask)
			length := bits.TrailingZeros64(^(mask >> skip))
			next := run{first + uint64(skip), first + uint64(skip+length) - 1}
			if n := len(runs); n > 0 && runs[n-1].last+1 == next.first && next.first != 0 {
				runs[n-1].last = next.last
			} else {
				runs = append(runs, next)
			}
			mask &^= (1<<length - 1) << skip
		}
	}
	return runs
}
