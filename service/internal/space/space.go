// Package space keeps the spaces of a service open: their stores, and the generators of those whose IDs it makes.
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

// A Space is opened in the background, with retries, so that a service starts even if its stores are down. It is safe for
// concurrent use.
type Space struct {
	config.Space
	Cipher *randflake.Cipher // of its secret, or nil
	secret randflake.Secret  // or the zero one
	check  string            // value of its secret, in hexadecimal, or ""

	location string // of its store, or ""
	options  Options
	state    atomic.Pointer[State]
	cancel   context.CancelFunc
	opening  sync.WaitGroup
	begun    time.Time
}

// A State is what an open space has, or why it is not open.
type State struct {
	Store    *lease.Space // nil where there is none
	Check    string       // value of the secret that the store is for, or ""
	Counters *Counters    // nil where there is none
	Minter   Minter       // nil where the service makes no IDs
	Own      Keeper       // of the leases for that; nil where it needs none

	err error // why it is not open, or nil
}

// close ends the service's lease and counters, and closes the store.
func (s *State) close() error {
	if s.Own != nil {
		s.Own.Close()
	}
	if s.Store == nil {
		return nil
	}
	s.Counters.Close()
	return s.Store.Close()
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
	Open Opener

	// Taken is told of the leases that the service takes for itself. It may be nil if the space is only tried.
	Taken func(space string, l randflake.Lease)

	Logger *slog.Logger
}

// New returns a space that is not open yet, by a configuration that was checked. It fails if a file that the space needs is missing
// or invalid.
func New(c config.Space, o Options) (*Space, error) {
	location, err := c.Location()
	if err != nil {
		return nil, fmt.Errorf("space %s: %w", c.Name, err)
	}
	s := &Space{
		Space:    c,
		location: location,
		options:  o,
		begun:    time.Now(),
	}
	if c.SecretFile != "" {
		s.secret, err = local.ReadSecret(c.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("space %s: %w", c.Name, err)
		}
		s.Cipher = randflake.NewCipher(s.secret)
		s.check = fmt.Sprintf("%x", s.secret.CheckValue())
	}
	s.state.Store(&State{err: errors.New("it is being opened")})
	return s, nil
}

// Same reports whether two spaces have the same configuration, with the same content of the files that it names.
func (s *Space) Same(other *Space) bool {
	return reflect.DeepEqual(s.Space, other.Space) && s.secret == other.secret && s.location == other.location
}

// Open begins to open the space.
func (s *Space) Open() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.opening.Go(func() { s.begin(ctx) })
}

// begin opens the space, with growing pauses of up to ten seconds between attempts.
func (s *Space) begin(ctx context.Context) {
	said := ""
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		attempt, cancel := context.WithTimeout(ctx, 15*time.Second)
		state, err := s.connect(attempt)
		if err == nil {
			err = s.setMinter(attempt, state)
			if err != nil {
				state.close()
			}
		}
		cancel()
		if err == nil {
			s.state.Store(state)
			s.options.Logger.Info("space is open", "space", s.Name)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.state.Store(&State{err: err})
		if text := err.Error(); text != said { // each kind of trouble once
			s.options.Logger.Error("space can't be opened; it is tried again", "space", s.Name, "error", text)
			said = text
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// Try returns why the space can't be opened, and changes nothing.
func (s *Space) Try(ctx context.Context) error {
	state, err := s.connect(ctx)
	if err == nil {
		state.close()
	}
	return err
}

// connect opens the store, and compares its secret with that of the configuration.
func (s *Space) connect(ctx context.Context) (*State, error) {
	if s.location == "" {
		return &State{}, nil
	}
	store, err := s.options.Open(ctx, s.location, lease.Config{})
	if err != nil {
		return nil, err
	}
	info, err := store.Info(ctx)
	if err == nil && s.Kind != "randflake" && info.Check != "" {
		err = fmt.Errorf("%w: the store is that of a space of Randflake IDs, with a secret: want another one for %s IDs", lease.ErrSecret, s.Kind)
	}
	if err == nil && s.Cipher != nil {
		err = store.CheckSecret(s.secret.CheckValue())
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return &State{
		Store:    store,
		Check:    cmp.Or(info.Check, s.check),
		Counters: newCounters(store, s.Space, s.options.Logger.With("space", s.Name)),
	}, nil
}

// State returns the state of an open space, or an error that wraps ErrNotOpen, and says until when to wait if that is known.
func (s *Space) State() (*State, error) {
	state := s.state.Load()
	if state.err == nil {
		return state, nil
	}
	if wait := (*lease.WaitError)(nil); errors.As(state.err, &wait) {
		return nil, fmt.Errorf("%w: %w", ErrNotOpen, &lease.WaitError{Err: wait.Err, Until: wait.Until, Why: "space " + s.Name}) // without the location
	}
	return nil, fmt.Errorf("%w: space %s: try again", ErrNotOpen, s.Name)
}

// Ready returns why the space can't serve now, or nil.
func (s *Space) Ready() error {
	state := s.state.Load()
	switch {
	case state.err != nil:
		return fmt.Errorf("%w: space %s: %w", ErrNotOpen, s.Name, state.err)
	case state.Own != nil && !state.Own.Status().Stopped.IsZero():
		return fmt.Errorf("space %s: %w", s.Name, cmp.Or(state.Own.Status().Err, randflake.ErrLeaseEnded))
	}
	return nil
}

// openTimeout is how long a service reports that it is not ready because a space is not open yet.
const openTimeout = 30 * time.Second

// Begun reports whether the space is open, or openTimeout has passed. A store that is unreachable for longer does not
// make the service unready: the other replicas have the same store, and an error that says so serves clients better
// than no answer.
func (s *Space) Begun() bool { return s.state.Load().err == nil || time.Since(s.begun) > openTimeout }

// Close ends the service's lease and counters in the space, and closes the store.
func (s *Space) Close() error {
	s.cancel()
	s.opening.Wait()
	state := s.state.Swap(&State{err: errors.New("it was closed")})
	if state.err != nil {
		return nil
	}
	return state.close()
}
