package randomness

import (
	"context"
	"math"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/source"
)

// lags are how many IDs later. At the last one lies the ID with the same sequence number, a second on.
var lags = []int{1, 2, 3, 4, 8, 16, 64, 256, 1024, 4096, 65_536, randflake.MaxSequence + 1}

const (
	serialValues = "values" // correlation of whole values
	serialBits   = "bits"   // how often the same bit agrees
	serialRuns   = "runs"   // how often a rise follows on a fall, or the other way around
)

// A serial is a figure that is normally distributed around 0, with a standard deviation of 1, where
// values know nothing of the ones before.
type serial struct {
	Source string  `csv:"source"`
	Test   string  `csv:"test"`
	Lag    int     `csv:"lag"`
	Bit    int     `csv:"bit"` // 0 where there is none
	Values int     `csv:"values"`
	Sigmas float64 `csv:"sigmas"`
}

// serials compares n values of a source with those after them.
func serials(ctx context.Context, name string, s *source.Stream, n int) ([]serial, error) {
	values := make([]uint64, n+lags[len(lags)-1])
	s.Fill(values)
	byLag := make([][]serial, len(lags))
	err := parallel(ctx, len(lags), func(i int) {
		lag := lags[i]
		list := []serial{{name, serialValues, lag, 0, n, correlation(values[:n], values[lag:])}}
		for bit, z := range agreement(values[:n], values[lag:]) {
			list = append(list, serial{name, serialBits, lag, bit, n, z})
		}
		byLag[i] = list
	})
	all := []serial{{name, serialRuns, 1, 0, n, turns(values[:n])}}
	for _, list := range byLag {
		all = append(all, list...)
	}
	return all, err
}

// correlation treats values as numbers between -1/2 and 1/2, whose products have a mean of 0 and a
// variance of 1/144.
func correlation(values, later []uint64) float64 {
	var sum float64
	for i, v := range values {
		sum += centred(v) * centred(later[i])
	}
	return 12 * sum / math.Sqrt(float64(len(values)))
}

func centred(v uint64) float64 { return float64(v)*0x1p-64 - 0.5 }

// agreement counts for each bit where both are the same.
func agreement(values, later []uint64) (sigmas [64]float64) {
	var t tally
	for i, v := range values {
		t.add(^(v ^ later[i]))
	}
	n := float64(len(values))
	for bit, count := range t.counts() {
		sigmas[bit] = (float64(count) - n/2) / (math.Sqrt(n) / 2)
	}
	return sigmas
}

// turns counts the peaks and troughs, one less than the runs up and down. Of n values in any order
// alike there are 2(n-2)/3 on average, with a variance of (16n-29)/90.
func turns(values []uint64) float64 {
	var count float64
	for i := 2; i < len(values); i++ {
		if (values[i-2] < values[i-1]) != (values[i-1] < values[i]) {
			count++
		}
	}
	n := float64(len(values))
	return (count - 2*(n-2)/3) / math.Sqrt((16*n-29)/90)
}

func runSerial(ctx context.Context, r *report.Results, amount amounts) error {
	found, err := serials(ctx, ids, source.IDs(r.Meta.Seed), amount.compared)
	if err != nil {
		return err
	}
	control, err := serials(ctx, raw, source.Raw(), min(amount.compared, enough))
	if err != nil {
		return err
	}
	return r.CSV("serial", append(found, control...))
}

// sigmasOf returns the figures of a source in one of the tests.
func sigmasOf(all []serial, source, test string) (z []float64) {
	for _, s := range all {
		if s.Source == source && s.Test == test {
			z = append(z, s.Sigmas)
		}
	}
	return z
}
