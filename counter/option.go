package counter

import (
	"fmt"
	"log/slog"

	"github.com/randflake/randflake/lease"
)

// An Option changes a handle.
type Option struct{ set func(*settings) error }

type settings struct {
	create      *Config      // what to create a missing counter with, or nil
	period      lease.Period // the zero one for none
	least, most int64        // numbers of a run
	logger      *slog.Logger
}

const longestRun = 1_000_000_000

// OrCreate makes Open and OpenStrict create the counter if there is none, with the periods of
// OfPeriod. If there is a counter with another Config, they return lease.ErrMismatch.
func OrCreate(config Config) Option {
	return Option{func(s *settings) error { s.create = &config; return nil }}
}

// OfPeriod makes a handle take only numbers of a period. They begin at the counter's start. Once a
// process takes numbers of a later period, the handle gets lease.ErrClock: see lease.Period. Open
// and OpenStrict return lease.ErrMismatch if the counter has other periods, or none.
func OfPeriod(period lease.Period) Option {
	return Option{func(s *settings) error { s.period = period; return nil }}
}

// WithRunLength bounds how many numbers a run has, by default 10 to 1,000,000,000. Short runs make
// small gaps when a process ends; long runs outlast outages of the store.
func WithRunLength(least, most int64) Option {
	return Option{func(s *settings) error {
		if least < 1 || most < least || most > longestRun {
			return fmt.Errorf("%w: run length of %d to %d: want 1 to 1,000,000,000, the smaller one first",
				lease.ErrInvalid, least, most)
		}
		s.least = least
		s.most = most
		return nil
	}}
}

// WithLogger makes a handle log to l instead of slog.Default(). It logs when it gets no more
// numbers, and when it gets numbers again.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", lease.ErrInvalid)
		}
		s.logger = l
		return nil
	}}
}
