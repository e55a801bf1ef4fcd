package lease

// WithRandom makes a keeper take its jitter from random, uniform in [0, 1), so that a test can be
// repeated.
func WithRandom(random func() float64) Option {
	return Option{func(s *settings) error { s.random = random; return nil }}
}
