package lease

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// An Option changes how Keep keeps a lease.
type Option struct{ set func(*settings) error }

type settings struct {
	nodes  int
	below  uint32
	until  time.Time
	check  store.CheckValue
	ttl    time.Duration
	logger *slog.Logger

	generating []randflake.Option

	clock  func() time.Time // nil for the system clock
	random func() float64   // uniform in [0, 1), for jitter
}

// shortestTTL leaves a second between renewals.
const shortestTTL = 3 * time.Second

// WithNodes makes Keep lease n contiguous nodes, 1 to 131,072, instead of one. Each gives 131,072 IDs a second.
func WithNodes(n int) Option { return Option{func(s *settings) error { s.nodes = n; return nil }} }

// WithBelow makes Keep lease nodes below n only, for formats with fewer node bits than Randflake's; n is 131,072 at
// most, and 0 for no bound.
func WithBelow(n uint32) Option { return Option{func(s *settings) error { s.below = n; return nil }} }

// WithUntil tells Keep the first second that the IDs can't embed any more, for formats that end at another time than
// Randflake's.
func WithUntil(end time.Time) Option {
	return Option{func(s *settings) error { s.until = end; return nil }}
}

// WithTTL makes Keep lease for d instead of five minutes: whole seconds, at least three, at most what the store grants.
// The lease is renewed each third of d, so IDs go on for more than 60% of d when the store fails, and up to d passes
// before another process can have the nodes of one that crashed.
func WithTTL(d time.Duration) Option {
	return Option{func(s *settings) error { s.ttl = d; return nil }}
}

// WithLogger makes the keeper write to l instead of slog.Default(), a line for each change: lease acquired, replaced,
// lost or released, store failing and working again, no more IDs. It writes nothing while things stay as they are, be
// they good or bad. To silence it, give it a logger with slog.DiscardHandler.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", ErrInvalidRequest)
		}
		s.logger = l
		return nil
	}}
}

// WithClock makes the generator and the keeper ask now for the time instead of the system clock, for tests and
// simulations. How long the keeper waits is not affected. now must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalidRequest)
		}
		s.clock = now
		return nil
	}}
}

// Generating has Keep make the generator with options of the generator's, such as randflake.Strict. OnRefusal and the
// clock are the keeper's all the same.
func Generating(options ...randflake.Option) Option {
	return Option{func(s *settings) error { s.generating = options; return nil }}
}

// newSettings applies options to the defaults. The line that says that IDs will soon stop must be seen without any
// setting, hence slog.Default, as net/http does with log.
func newSettings(options []Option) (settings, error) {
	s := settings{nodes: 1, ttl: 5 * time.Minute, logger: slog.Default(), random: randomFloat}
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidRequest, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	if err := s.request(Token{}).checkNodes(); err != nil {
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

func (s settings) request(owner Token) Request {
	return Request{Nodes: s.nodes, Below: s.below, TTL: s.ttl, Until: s.until, Owner: owner, Check: s.check}
}

// now returns the time by the generator's clock.
func (s settings) now() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock()
}
