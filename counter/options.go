package counter

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// An Option describes a new counter, or changes a handle.
type Option struct{ set func(*settings) error }

type settings struct {
	start, stride, end, rate *int64 // nil where they are not given
	orCreate                 bool
	unusedBefore             time.Time
	least, most              uint64
	logger                   *slog.Logger
	unordered                bool
}

// WithStart sets the first number of a counter, 0 or more, by default 1. Open returns ErrMismatch if the counter was
// created with another one; the same holds for the three options below.
func WithStart(n int64) Option { return Option{func(s *settings) error { s.start = &n; return nil }} }

// WithStride sets the difference between a number and the next one, by default 1. Five databases whose counters have
// a stride of 5 and start at 1, 2, 3, 4 and 5 share no number.
func WithStride(n int64) Option { return Option{func(s *settings) error { s.stride = &n; return nil }} }

// WithEnd sets the largest possible number, by default the largest int64. After it calls return ErrEnd.
func WithEnd(n int64) Option { return Option{func(s *settings) error { s.end = &n; return nil }} }

// WithRate limits the numbers that all handles together take in a second; 0, the default, is no limit. The numbers of
// 20 seconds may be taken at once. A counter with a rate survives a loss of data: after a pause of twice the space's
// MaxSkew it continues beyond every number that it can have given.
func WithRate(perSecond int64) Option {
	return Option{func(s *settings) error { s.rate = &perSecond; return nil }}
}

// OrCreate makes Open and OpenStrict create the counter if it does not exist.
func OrCreate() Option { return Option{func(s *settings) error { s.orCreate = true; return nil }} }

// UnusedBefore says that no counter of this name gave a number before t, for instance because the name has a date in
// it. If it is not true, numbers can repeat. Without it no counter can be made in a space that has lost data, or that was
// not created for a new secret and so may have lost some. It helps if t is not before the floor of the space's last loss,
// which the error names, or if the counter has a rate. So in a program t must be a fixed time, never the present: then
// it no longer helps after the next loss, when numbers of the counter may be forgotten. Of several times the latest counts.
func UnusedBefore(t time.Time) Option {
	return Option{func(s *settings) error {
		if t.After(s.unusedBefore) {
			s.unusedBefore = t
		}
		return nil
	}}
}

// WithRunLength limits the size of the runs that a handle takes, 10 to 1,000,000,000 by default. A run has as many
// numbers as the handle gave in the last ten seconds. A crash loses at most two runs.
func WithRunLength(least, most int64) Option {
	return Option{func(s *settings) error {
		if least < 1 || most < least {
			return fmt.Errorf("%w: runs of %d to %d numbers: want 1 <= least <= most", ErrInvalidOption, least, most)
		}
		s.least, s.most = uint64(least), uint64(most)
		return nil
	}}
}

// WithLogger makes a handle log to logger instead of slog.Default when it can't get numbers, and when it can again.
func WithLogger(logger *slog.Logger) Option {
	return Option{func(s *settings) error {
		if logger == nil {
			return fmt.Errorf("%w: logger is nil", ErrInvalidOption)
		}
		s.logger = logger
		return nil
	}}
}

func newSettings(options []Option) (*settings, error) {
	s := &settings{least: 10, most: 1e9, logger: slog.Default()}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(s); err != nil {
			return nil, err
		}
	}
	r := s.shape()
	return s, checkShape(r.Start, r.Stride, r.End, r.Rate)
}

// shape returns what the options make of a new counter.
func (s *settings) shape() *record {
	given := func(n *int64, otherwise int64) int64 {
		if n == nil {
			return otherwise
		}
		return *n
	}
	start := given(s.start, 1)
	return &record{Start: start, Stride: given(s.stride, 1), End: given(s.end, math.MaxInt64), Rate: given(s.rate, 0)}
}

// match returns an error that wraps ErrMismatch unless the counter is what the options say.
func (s *settings) match(name string, r Info) error {
	differ := func(what string, n *int64, is int64) error {
		if n == nil || *n == is {
			return nil
		}
		return fmt.Errorf("%w: %s: its %s is %d, not %d", ErrMismatch, name, what, is, *n)
	}
	return cmp.Or(differ("start", s.start, r.Start), differ("stride", s.stride, r.Stride), differ("end", s.end, r.End), differ("rate", s.rate, r.Rate))
}
