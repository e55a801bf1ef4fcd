package randomness

import (
	"context"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/source"
	"github.com/randflake/randflake/bench/internal/verdict"
)

const (
	kindByte   = "byte"   // by one of the 8 bytes, 256 bins
	kindModulo = "modulo" // by the remainder of the unsigned value

	lastModulus = 1024
)

// A frequency is how evenly the values of one source fall into bins. That 2^64 is no multiple of
// most moduli makes some bins larger, by less than one part in 10^16.
type frequency struct {
	Source    string  `csv:"source"`
	Kind      string  `csv:"kind"`
	Which     int     `csv:"which"` // the byte, 0 for the lowest, or the modulus
	Bins      int     `csv:"bins"`
	Values    int     `csv:"values"`
	ChiSquare float64 `csv:"chi_square"`
}

func (f frequency) p() float64 { return verdict.ChiSquare(f.ChiSquare, f.Bins) }

// frequencies counts n values of a source, a multiple of the length of a batch.
func frequencies(ctx context.Context, name string, s *source.Stream, n int) ([]frequency, error) {
	var bytes [8][256]int64
	moduli := make([][]int64, lastModulus+1)
	for m := range moduli {
		moduli[m] = make([]int64, m)
	}
	batch := make([]uint64, 1<<15)
	for range n / len(batch) {
		s.Fill(batch)
		for _, v := range batch {
			for i := range bytes {
				bytes[i][v>>(8*i)&0xff]++
			}
		}
		if err := countModuli(ctx, moduli, batch); err != nil {
			return nil, err
		}
	}
	var list []frequency
	for i := range bytes {
		list = append(list, frequency{name, kindByte, i, 256, n, chiSquare(bytes[i][:], n)})
	}
	for m := 2; m <= lastModulus; m++ {
		list = append(list, frequency{name, kindModulo, m, m, n, chiSquare(fold(moduli, m), n)})
	}
	return list, nil
}

// countModuli counts by the larger half of the moduli: what a value is modulo 2m also tells what it
// is modulo m.
func countModuli(ctx context.Context, moduli [][]int64, batch []uint64) error {
	const half = lastModulus / 2
	return parallel(ctx, half, func(i int) {
		m := half + 1 + i
		counts := moduli[m]
		for _, v := range batch {
			counts[v%uint64(m)]++
		}
	})
}

// fold returns the counts modulo m, once those of the next larger moduli are there.
func fold(moduli [][]int64, m int) []int64 {
	multiple := m
	for multiple <= lastModulus/2 {
		multiple *= 2
	}
	counts := make([]int64, m)
	for i, n := range moduli[multiple] {
		counts[i%m] += n
	}
	return counts
}

// chiSquare returns Pearson's statistic for n values in bins of equal size.
func chiSquare(counts []int64, n int) (sum float64) {
	expected := float64(n) / float64(len(counts))
	for _, c := range counts {
		d := float64(c) - expected
		sum += d * d / expected
	}
	return sum
}

// runFrequencies counts IDs and, as a negative control, raw values. SPARX of two steps would be none:
// its bytes are even, and it takes the avalanche to tell it from the full cipher.
func runFrequencies(ctx context.Context, r *report.Results, amount amounts) error {
	var all []frequency
	for _, s := range []struct {
		name   string
		stream *source.Stream
		values int
	}{{ids, source.IDs(r.Meta.Seed), amount.counted}, {raw, source.Raw(), min(amount.counted, enough)}} {
		list, err := frequencies(ctx, s.name, s.stream, s.values)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	return r.CSV("chi-square", all)
}

// selected returns the p-values of a source, of all bytes or of all moduli.
func selected(all []frequency, source, kind string) (p []float64) {
	for _, f := range all {
		if f.Source == source && f.Kind == kind {
			p = append(p, f.p())
		}
	}
	return p
}
