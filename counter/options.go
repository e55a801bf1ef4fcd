package counter

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// An Option says how a counter is to be made, or what a handle on it does.
type Option struct{ set func(*settings) error }

type settings struct {
	start, stride, end, rate *int64 // nil where they are not given
	orCreate, newName        bool
	unusedBefore             time.Time
	least, most              uint64
	logger                   *slog.Logger
}

// WithStart sets the first number of a counter, 0 or more; 1 without it. Given to Open it must be what the counter was made with, as
// with the three options below.
func WithStart(n int64) Option { return Option{func(s *settings) error { s.start = &n; return nil }} }

// WithStride sets the difference between a number and the next one; 1 without it. Databases side by side whose counters
// have a stride of 5 and start at 1, 2, 3, 4 and 5 share no number.
func WithStride(n int64) Option { return Option{func(s *settings) error { s.stride = &n; return nil }} }

// WithEnd sets the number that none exceeds; the highest int64 without it. After it calls fail with ErrEnd.
func WithEnd(n int64) Option { return Option{func(s *settings) error { s.end = &n; return nil }} }

// WithRate bounds how many numbers are taken in a second, over all handles; 0, as without it, is no bound. With a bound the
// counter outlives a loss of data: it goes on beyond all that it can have given, after a rest of twice the space's MaxSkew.
// The numbers of 20 seconds may be taken at once.
func WithRate(perSecond int64) Option {
	return Option{func(s *settings) error { s.rate = &perSecond; return nil }}
}

// OrCreate makes Open and OpenStrict make the counter where there is none.
func OrCreate() Option { return Option{func(s *settings) error { s.orCreate = true; return nil }} }

// ForNewName is the caller's word that no counter of this name ever gave a number. A counter can't be made without it in
// a space that has lost data, or may have: one that was not created for a new secret. A wrong word can repeat numbers.
func ForNewName() Option { return Option{func(s *settings) error { s.newName = true; return nil }} }

// UnusedBefore is the caller's word that no counter of this name gave a number before t, as when its name has a date.
// It serves as [ForNewName] does where t is later than the losses of the space, or the counter has a bound on its rate.
func UnusedBefore(t time.Time) Option {
	return Option{func(s *settings) error { s.unusedBefore = t; return nil }}
}

// WithBlock bounds how many numbers a handle takes at once: 10 to 1,000,000,000 without it. It takes what it has given
// in ten seconds. A crash loses two blocks at most.
func WithBlock(least, most int64) Option {
	return Option{func(s *settings) error {
		if least < 1 || most < least {
			return fmt.Errorf("%w: blocks of %d to %d numbers: want 1 <= least <= most", ErrInvalidOption, least, most)
		}
		s.least, s.most = uint64(least), uint64(most)
		return nil
	}}
}

// WithLogger has a handle write to logger, instead of slog.Default, when it can't get numbers and when it can again.
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
