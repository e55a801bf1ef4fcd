package randflake

import (
	"fmt"
	"time"
)

// An Option changes how New makes a generator.
type Option struct{ set func(*Generator) error }

// WithClock makes the generator ask now for the time, on every call, instead of the system clock.
// It is meant for tests and simulations. Whenever the second changes, forward or back, processors
// drop the rest of the runs that they have claimed, each a small part of a second's IDs.
func WithClock(now func() time.Time) Option {
	return Option{func(g *Generator) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalidOption)
		}
		g.clock.Injected = now
		return nil
	}}
}

// Strict hands out raw values in increasing order under each lease, whichever goroutine asks: by
// second, within a second by node, and for a node by sequence. So a test with WithClock gets the
// same IDs in each run. All goroutines then share the cursor, and an ID costs a few times as much.
func Strict() Option {
	return Option{func(g *Generator) error {
		g.strict = true
		return nil
	}}
}
