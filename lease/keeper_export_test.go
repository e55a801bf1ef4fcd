package lease

// WithRandom makes a keeper take its jitter from random, uniform in [0, 1), so that a test can be
// repeated.
func WithRandom(random func() float64) Option {
	return Option{func(s *settings) error { s.random = random; return nil }}
}

// SetListen makes keepers call f in place of vmgen.Listen until undo is called.
func SetListen(f func() (stop func())) (undo func()) {
	before := listen
	listen = f
	return func() { listen = before }
}
