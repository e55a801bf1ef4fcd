package lease

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/randflake/randflake"
)

// An Option is an option of Keep and KeepFor.
type Option struct{ set func(*settings) error }

type settings struct {
	nodes       uint32
	outage      time.Duration
	longestWait time.Duration // how long Keep may wait
	logger      *slog.Logger
	label       string           // whose leases they are, for the log
	clock       func() time.Time // nil for the system's
	generating  []randflake.Option
}

// WithNodes leases n contiguous nodes, 1 to 131,072, instead of one. Each makes at most 131,072 IDs a second.
func WithNodes(n int) Option {
	return Option{func(s *settings) error {
		if n < 1 || n > randflake.MaxNode+1 {
			return fmt.Errorf("%w: %d nodes: want 1 to %d", ErrInvalid, n, randflake.MaxNode+1)
		}
		s.nodes = uint32(n)
		return nil
	}}
}

const defaultOutage = 3 * time.Minute // without WithOutage

// WithOutage leases enough windows ahead to outlive a store outage of d, as far as the space's
// limits allow. It starts after the first window. The default is 3 minutes. Where the space has a
// reserve, the windows are also enough to outlive a loss of data, again as far as the limits allow.
func WithOutage(d time.Duration) Option {
	return Option{func(s *settings) error {
		s.outage = max(d, 0)
		return nil
	}}
}

// WithWait makes Keep wait up to d where waiting helps, instead of returning a WaitError: until the window ends
// if all of its nodes are taken, or until leases are granted again after a loss of data. The log says until
// when. By default Keep returns the WaitError at once. If it gets no lease only because other processes change
// the space all the time, it tries again until its ctx ends, also without WithWait.
func WithWait(d time.Duration) Option {
	return Option{func(s *settings) error {
		s.longestWait = d
		return nil
	}}
}

// WithLogger makes the keeper log to l instead of slog.Default(): a line for each lease, with its
// nodes, seconds and label, at the level of Debug but for the first one, and lines when no more IDs can
// be made, and when they go on. For no log use slog.DiscardHandler.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", ErrInvalid)
		}
		s.logger = l
		return nil
	}}
}

// WithLabel says in the log whose leases they are, in place of the host's name and the program's.
func WithLabel(label string) Option {
	return Option{func(s *settings) error {
		s.label = label
		return nil
	}}
}

// WithClock makes the generator and the keeper take the time from now instead of the system clock, for tests
// and simulations. The keeper's timers are not affected. now must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalid)
		}
		s.clock = now
		return nil
	}}
}

// Generating makes Keep create the generator with these options. For a clock use WithClock, which is
// the keeper's, too.
func Generating(options ...randflake.Option) Option {
	return Option{func(s *settings) error {
		s.generating = options
		return nil
	}}
}

func newSettings(options []Option) (settings, error) {
	host, _ := os.Hostname()
	s := settings{
		nodes:  1,
		outage: defaultOutage,
		logger: slog.Default(),
		label:  host + "/" + filepath.Base(os.Args[0]),
	}
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalid, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}
