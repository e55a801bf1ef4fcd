package counter

import (
	"fmt"
	"log/slog"

	"github.com/randflake/randflake/lease"
)

// An Option changes a handle.
type Option struct{ set func(*settings) error }

type settings struct {
	create      *Config
	period      lease.Period
	least, most int64
	logger      *slog.Logger
}

// OrCreate makes Open create the counter if there is none, with the periods of OfPeriod. If there is one with
// another Config, Open returns ErrMismatch.
func OrCreate(config Config) Option {
	return Option{func(s *settings) error { s.create = &config; return nil }}
}

// OfPeriod makes a handle take the numbers of a period alone, which begin at the start. A later period ends
// it: see lease.Period. Open returns ErrMismatch if the counter has other periods, or none.
func OfPeriod(period lease.Period) Option {
	return Option{func(s *settings) error { s.period = period; return nil }}
}

// WithRunLength bounds how many numbers a run has, by default 10 to 1,000,000,000. Small runs make smaller
// gaps, but last for shorter outages.
func WithRunLength(least, most int64) Option {
	return Option{func(s *settings) error {
		if least < 1 || most < least || most > 1e9 {
			return fmt.Errorf("%w: run length of %d to %d: want 1 to 1,000,000,000, the smaller one first",
				lease.ErrInvalid, least, most)
		}
		s.least = least
		s.most = most
		return nil
	}}
}

// WithLogger makes a handle log to l instead of slog.Default() when it gets no more numbers, and when it does
// again.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", lease.ErrInvalid)
		}
		s.logger = l
		return nil
	}}
}
