package report

import (
	"slices"
	"strconv"
	"strings"
)

// Number returns v with about three digits, and numbers of four or more in groups of three.
func Number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return group(strconv.FormatFloat(v, 'f', 0, 64))
}

// Count returns n in groups of three digits.
func Count[Int int | int64 | uint64](n Int) string { return group(strconv.FormatInt(int64(n), 10)) }

func group(digits string) string {
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// Duration returns a number of nanoseconds in the unit that suits it.
func Duration(ns float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{" s", 1e9}, {" ms", 1e6}, {" µs", 1e3}} {
		if ns >= unit.size {
			return Number(ns/unit.size) + unit.name
		}
	}
	return Number(ns) + " ns"
}

// Median returns the median of values, of which there is at least one.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
