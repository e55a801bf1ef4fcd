package lease

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// An Option is an option of Keep and KeepFor.
type Option struct{ set func(*settings) error }

type settings struct {
	nodes  int
	below  uint32
	until  time.Time
	keys   store.Keys
	ttl    time.Duration
	logger *slog.Logger
	label  string

	monitor *Monitor

	generating []randflake.Option

	clock  func() time.Time // nil for the system clock
	random func() float64   // uniform in [0, 1), for jitter
}

// shortestTTL leaves a second between renewals.
const shortestTTL = 3 * time.Second

// WithNodes leases n contiguous nodes, 1 to 131,072, instead of one. Each makes 131,072 IDs a second.
func WithNodes(n int) Option { return Option{func(s *settings) error { s.nodes = n; return nil }} }

// WithBelow restricts the lease to nodes below n, at most 131,072, for formats with fewer node bits than Randflake's. 0
// is no restriction.
func WithBelow(n uint32) Option { return Option{func(s *settings) error { s.below = n; return nil }} }

// WithUntil sets the first second after the end of the ID format, if that is not Randflake's.
func WithUntil(end time.Time) Option {
	return Option{func(s *settings) error { s.until = end; return nil }}
}

// WithTTL leases for d instead of five minutes: whole seconds, at least three, at most the store's MaxTTL. The lease is
// renewed every third of d. So if the store fails, IDs are made for more than 60% of d, and after a crash up to d passes
// until another process can lease the nodes.
func WithTTL(d time.Duration) Option {
	return Option{func(s *settings) error { s.ttl = d; return nil }}
}

// WithLogger makes the keeper log to l instead of slog.Default(): a line each time that a lease is acquired, replaced, lost
// or released, that the store fails or works again, or that no more IDs can be made. For no log use slog.DiscardHandler.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", ErrInvalidRequest)
		}
		s.logger = l
		return nil
	}}
}

// WithLabel sets the label of the leases instead of DefaultLabel: see Record. All who can read the store can read it.
func WithLabel(label string) Option {
	return Option{func(s *settings) error { s.label = cleanLabel(label); return nil }}
}

// WithClock makes the generator and the keeper take the time from now instead of the system clock, for tests and
// simulations. The keeper's timers are not affected. now must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalidRequest)
		}
		s.clock = now
		return nil
	}}
}

// Generating makes Keep create the generator with these options, such as randflake.Strict. The keeper overrides OnRefusal
// and the clock.
func Generating(options ...randflake.Option) Option {
	return Option{func(s *settings) error { s.generating = options; return nil }}
}

// newSettings applies options to the defaults. The warning that IDs will soon stop must be visible by default, hence
// slog.Default, as in net/http.
func newSettings(options []Option) (settings, error) {
	s := settings{nodes: 1, ttl: 5 * time.Minute, monitor: new(Monitor), logger: slog.Default(), label: DefaultLabel(), random: randomFloat}
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidRequest, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	if err := s.request(Token{}, false).checkNodes(); err != nil {
		return s, err
	}
	if _, err := untilSecond(s.until); err != nil {
		return s, err
	}
	if s.ttl < shortestTTL || s.ttl%time.Second != 0 {
		return s, fmt.Errorf("%w: TTL %v: want whole seconds, at least %v", ErrInvalidRequest, s.ttl, shortestTTL)
	}
	return s, nil
}

func (s settings) request(owner Token, retry bool) Request {
	return Request{Nodes: s.nodes, Below: s.below, TTL: s.ttl, Until: s.until, Owner: owner, Retry: retry, Keys: s.keys, Label: s.label}
}

// now returns the time by the generator's clock.
func (s settings) now() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock()
}
