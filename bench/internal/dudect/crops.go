package dudect

import (
	"math"
	"slices"
)

// The slowest measurements are those that an interrupt fell into, and hide small differences. The test
// is therefore done on all measurements, and again on those below each of a row of percentiles, as in
// the program of dudect's authors.
const crops = 100

// percentile returns the share of measurements that the i-th crop keeps: fewer by and by, from 999 of
// a thousand on down.
func percentile(i int) float64 { return 1 - math.Pow(0.5, 10*float64(i+1)/crops) }

// A sorter deals measurements of two classes, 0 and 1, into what lies between one percentile and the
// next. Sums of such parts give the moments below each percentile.
type sorter struct {
	centre float64
	limits []float64             // ascending
	parts  [2][crops + 1]moments // the last is above all limits
}

// newSorter takes the percentiles from measurements of both classes together, which count for nothing
// else.
func newSorter(calibration []float64) *sorter {
	sorted := slices.Sorted(slices.Values(calibration))
	s := &sorter{centre: sorted[len(sorted)/2]}
	for i := range crops {
		s.limits = append(s.limits, sorted[int(percentile(i)*float64(len(sorted)))])
	}
	return s
}

func (s *sorter) add(class uint64, v float64) {
	part, found := slices.BinarySearch(s.limits, v)
	for found && part < crops && s.limits[part] == v { // what is at a limit is not below it
		part++
	}
	s.parts[class][part].add(v - s.centre)
}

// A cropped is the comparison of both classes on a share of the measurements, in ticks of the clock.
type cropped struct {
	Kept float64 `csv:"share_kept"` // in the calibration; 1 for all

	N0    int64   `csv:"n_fixed"`
	N1    int64   `csv:"n_random"`
	T     float64 `csv:"t"`
	Error float64 `csv:"standard_error_ticks"` // of the difference of the means, which is T times this
}

// fewest is how many measurements of each class a crop must have to be told.
const fewest = 1000

// compare returns the comparisons, from the smallest crop to all measurements.
func (s *sorter) compare() (list []cropped) {
	var below [2]moments
	for i := range s.parts[0] {
		if i > 0 && s.parts[0][i].n+s.parts[1][i].n == 0 {
			continue // the clock's steps are larger than from one percentile to the next
		}
		a, b := below[0].plus(s.parts[0][i]), below[1].plus(s.parts[1][i])
		below = [2]moments{a, b}
		if a.n < fewest || b.n < fewest || standardError(a, b) == 0 {
			continue
		}
		kept := 1.0
		if i < crops {
			kept = percentile(i)
		}
		list = append(list, cropped{kept, int64(a.n), int64(b.n), welch(a, b), standardError(a, b)})
	}
	return list
}
