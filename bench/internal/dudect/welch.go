package dudect

import "math"

// moments are the sums that mean and variance are made from. Values are taken relative to one in
// their midst, so that squares lose no digits.
type moments struct {
	n, sum, squares float64
}

func (m *moments) add(v float64) {
	m.n++
	m.sum += v
	m.squares += v * v
}

func (m moments) plus(o moments) moments {
	return moments{m.n + o.n, m.sum + o.sum, m.squares + o.squares}
}

func (m moments) mean() float64 { return m.sum / m.n }

func (m moments) variance() float64 { return (m.squares - m.sum*m.sum/m.n) / (m.n - 1) }

// standardError returns that of the difference between two means.
func standardError(a, b moments) float64 {
	return math.Sqrt(a.variance()/a.n + b.variance()/b.n)
}

// welch returns the statistic of Welch's t-test: how far apart two means are, in standard errors.
func welch(a, b moments) float64 {
	return (a.mean() - b.mean()) / standardError(a, b)
}
