// Package space keeps the spaces of a service open. A [Space] opens its store in the background. Its [State] then has
// what calls use: the store, and a [Minter] if the service makes the IDs. [Counters] have a handle on each counter.
package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/metrics"
	"github.com/randflake/randflake/service/internal/config"
)

// ErrNotOpen says that a space is not open yet, or no longer.
var ErrNotOpen = errors.New("space: not open")

// A Space is opened in the background, with retries, so that a service starts even if its stores
// are down. It is safe for concurrent use.
type Space struct {
	Config config.Space
	Cipher *randflake.Cipher // of its secret; nil without a secret
	secret randflake.Secret  // zero without

	location string // of its store; "" without
	options  Options
	state    atomic.Pointer[State]
	cancel   context.CancelFunc // ends keepTrying
	opening  sync.WaitGroup     // of keepTrying
	created  time.Time          // by New
}

// A State is what an open space has, or why the space is not open.
type State struct {
	Leases *lease.Space // and its counters; nil without a store
	Check  string       // value of the secret that the space's IDs have, or ""
	Minter Minter       // nil if the service makes no IDs of the space
	Own    Keeper       // of the leases with which Minter makes IDs; nil if it needs none

	err error // why the space is not open, or nil
}

// close ends the service's own leases, and closes the store.
func (s *State) close() error {
	if s.Own != nil {
		s.Own.Close()
	}
	if s.Leases == nil {
		return nil
	}
	return s.Leases.Close()
}

// A Keeper is one of package lease or of package snowflake.
type Keeper interface {
	metrics.Reporter
	Status() lease.Status
	Close() error
}

// An Opener opens the space at a location.
type Opener func(ctx context.Context, location string, c lease.Config) (*lease.Space, error)

// Options are the options that all spaces share.
type Options struct {
	Open   Opener
	Taken  func(space string, l randflake.Lease) // is told of the leases that the service takes for itself
	Logger *slog.Logger
}

// New returns a space that is not open yet. Its configuration was checked. New fails if a file that
// the space needs is missing or invalid.
func New(c config.Space, o Options) (*Space, error) {
	location, err := c.Location()
	if err != nil {
		return nil, err
	}
	s := &Space{
		Config:   c,
		location: location,
		options:  o,
		cancel:   func() {}, // until Open
		created:  time.Now(),
	}
	if c.SecretFile != "" {
		s.secret, err = local.ReadSecret(c.SecretFile)
		if err != nil {
			return nil, err
		}
		s.Cipher = randflake.NewCipher(s.secret)
	}
	s.state.Store(&State{err: errors.New("it is being opened")})
	return s, nil
}

// Same reports whether two spaces have the same configuration, with the same content of the files that it names.
func (s *Space) Same(other *Space) bool {
	return reflect.DeepEqual(s.Config, other.Config) && s.secret == other.secret && s.location == other.location
}

func (s *Space) logger() *slog.Logger { return s.options.Logger.With("space", s.Config.Name) }

// Open begins to open the space. It is called once.
func (s *Space) Open() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.opening.Go(func() { s.keepTrying(ctx) })
}

const (
	attemptTime  = 15 * time.Second // for a store to answer, and to grant the first lease
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// keepTrying opens the space. After each attempt that fails it pauses twice as long, up to longestPause.
func (s *Space) keepTrying(ctx context.Context) {
	logged := "" // the latest trouble: the log has each once
	for wait := firstPause; ctx.Err() == nil; wait = min(2*wait, longestPause) {
		state, err := s.attempt(ctx)
		if err == nil {
			s.state.Store(state)
			s.logOpen(state.Leases)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.state.Store(&State{err: err})
		if text := err.Error(); text != logged {
			s.logger().Error("space can't be opened; it is tried again", "error", text)
			logged = text
		}
		pause(ctx, wait)
	}
}

func (s *Space) logOpen(leases *lease.Space) {
	logger := s.logger()
	if leases != nil {
		limits := leases.Limits()
		logger = logger.With("first_node", limits.FirstNode, "last_node", limits.LastNode())
	}
	logger.Info("space is open")
}

// attempt opens the store, and begins to make IDs.
func (s *Space) attempt(ctx context.Context) (*State, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	state, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.setMinter(ctx, state); err != nil {
		state.close()
		return nil, err
	}
	return state, nil
}

// connect opens the store, if the space has one, and compares its secret with that of the configuration.
func (s *Space) connect(ctx context.Context) (*State, error) {
	if s.location == "" {
		return &State{}, nil
	}
	leases, err := s.options.Open(ctx, s.location, lease.Config{})
	if err != nil {
		return nil, err
	}
	check, err := s.verify(ctx, leases)
	if err != nil {
		leases.Close()
		return nil, err
	}
	return &State{Leases: leases, Check: check}, nil
}

// verify returns the check value of the secret that the space's IDs have, or "" if that is not known.
// It fails if the store is for another secret.
func (s *Space) verify(ctx context.Context, leases *lease.Space) (check string, err error) {
	info, err := leases.Info(ctx)
	if err != nil {
		return "", err
	}
	if s.Config.Kind != "randflake" && info.CheckValue != "" {
		return "", fmt.Errorf("%w: the store is that of a space of Randflake IDs, with a secret: "+
			"want another one for %s IDs", lease.ErrWrongSecret, s.Config.Kind)
	}
	if s.Cipher == nil {
		return info.CheckValue, nil
	}
	configured := s.secret.CheckValue()
	return fmt.Sprintf("%x", configured), leases.CheckSecret(configured)
}

// causes are why a space may not be open, as far as clients can tell them apart. The first one that holds counts.
var causes = []error{
	lease.ErrMoving, lease.ErrNoSpace, lease.ErrRetired, lease.ErrWrongSecret, lease.ErrCorrupt, lease.ErrUnsafe,
	lease.ErrClock, lease.ErrStore,
}

// State returns the state of an open space. Clients see its error, which has no location. It wraps ErrNotOpen, and
//   - a lease.WaitError if it is known until when to wait,
//   - or else one of causes, if one holds.
func (s *Space) State() (*State, error) {
	state := s.state.Load()
	if state.err == nil {
		return state, nil
	}
	if wait, ok := errors.AsType[*lease.WaitError](state.err); ok {
		public := &lease.WaitError{Err: wait.Err, Until: wait.Until, Why: "space " + s.Config.Name}
		return nil, fmt.Errorf("%w: %w", ErrNotOpen, public)
	}
	for _, cause := range causes {
		if errors.Is(state.err, cause) {
			return nil, fmt.Errorf("%w: space %s: %w", ErrNotOpen, s.Config.Name, cause)
		}
	}
	return nil, fmt.Errorf("%w: space %s: try again", ErrNotOpen, s.Config.Name)
}

// Ready returns why the space can't serve now, or nil.
func (s *Space) Ready() error {
	state := s.state.Load()
	if state.err != nil {
		return fmt.Errorf("%w: space %s: %w", ErrNotOpen, s.Config.Name, state.err)
	}
	if state.Own == nil {
		return nil
	}
	own := state.Own.Status()
	if own.Stopped.IsZero() {
		return nil
	}
	return fmt.Errorf("space %s: %w", s.Config.Name, cmp.Or(own.Err, randflake.ErrLeaseEnded))
}

// A Phase says how far the opening of a space has come. A closed space is no longer Open.
type Phase int

const (
	Opening     Phase = iota // for openTimeout at most
	Unreachable              // it could not be opened for that long, and is still tried
	Open
)

// openTimeout is how long a service reports that it is not ready because a space is being opened. A
// store that is unreachable for longer does not make the service unready: the other replicas have the
// same store, and for clients an error that says so is better than no answer.
const openTimeout = 30 * time.Second

// Phase returns the present phase.
func (s *Space) Phase() Phase {
	switch {
	case s.state.Load().err == nil:
		return Open
	case time.Since(s.created) <= openTimeout:
		return Opening
	}
	return Unreachable
}

// Close ends the service's own leases in the space, and closes the store.
func (s *Space) Close() error {
	s.cancel()
	s.opening.Wait()
	state := s.state.Swap(&State{err: errors.New("it was closed")})
	if state.err != nil {
		return nil // it was not open
	}
	return state.close()
}

// CheckOpens returns why a space can't be opened. It changes nothing.
func CheckOpens(ctx context.Context, c config.Space, open Opener) error {
	s, err := New(c, Options{Open: open})
	if err != nil {
		return err
	}
	state, err := s.connect(ctx)
	if err != nil {
		return err
	}
	state.close()
	return nil
}
