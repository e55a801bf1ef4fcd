package check

import (
	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// A seen set knows every raw value of the run, and which segment it was in. Values come in runs, so
// it takes a small part of the memory that the values themselves would.
type seen struct {
	all   *roaring64.Bitmap
	parts []part
}

// A part is what one segment holds.
type part struct {
	origin Origin
	values *roaring64.Bitmap
}

func newSeen() *seen { return &seen{all: roaring64.New()} }

// optimizeEvery is after how many segments the set of all values is made small again.
const optimizeEvery = 64

// add takes in a segment's runs, which share no value, and returns the values that were there before.
func (s *seen) add(origin Origin, runs []run) (again *roaring64.Bitmap) {
	values := roaring64.New()
	for _, r := range runs {
		values.AddRange(r.first, r.last) // but for the last one, as its successor may be none
		values.Add(r.last)
	}
	values.RunOptimize()
	again = roaring64.And(s.all, values)
	s.all.Or(values)
	s.parts = append(s.parts, part{origin, values})
	if len(s.parts)%optimizeEvery == 0 {
		s.all.RunOptimize()
	}
	return again
}

// find returns the first segment that holds value.
func (s *seen) find(value uint64) Origin {
	for _, p := range s.parts {
		if p.values.Contains(value) {
			return p.origin
		}
	}
	return Origin{}
}
