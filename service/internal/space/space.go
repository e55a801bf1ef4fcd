// Package space keeps the spaces of a service open: their stores, and the generators of those whose IDs it makes.
package space

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/store"
)

// ErrNotOpen says that a space is not open yet, or no longer.
var ErrNotOpen = errors.New("space: not open")

// A Space is opened in the background, with retries, so that a service starts even if its stores are down. It is safe
// for concurrent use.
type Space struct {
	config.Space
	Check  store.Keys        // of its secret, or nil
	Cipher *randflake.Cipher // of its secret, or nil
	secret randflake.Secret  // or the zero one

	location string // of its store, or ""
	options  Options
	state    atomic.Pointer[State]
	err      atomic.Pointer[error]       // why it is not open yet
	waiting  atomic.Pointer[lease.Usage] // of a store that answers, but grants no lease yet
	cancel   context.CancelFunc
	done     chan struct{} // closed when the background goroutine has ended
	begun    time.Time

	counters *Counters // of State, once it is open

	survey  atomic.Pointer[Survey] // the newest one
	surveys singleflight.Group
}

// A State is what an open space has.
type State struct {
	Store    *store.Space // nil where there is none
	Leases   lease.Source // nil where there is none
	Counters *Counters    // nil where there is none
	Minter   Minter       // nil where the service makes no IDs

	Own          func() lease.Status // of the lease by which the service makes IDs; nil where that needs none
	ready, close func() error        // of the same lease
}

// An Opener opens the store at a location.
type Opener func(ctx context.Context, location string, options ...store.Option) (*store.Space, error)

// Options are the options that all spaces share.
type Options struct {
	Open Opener

	// Own wraps the leases that the service takes for itself.
	Own func(s *Space, leases lease.Source) lease.Source

	Logger *slog.Logger
}

// New returns a space that is not open yet, by a configuration that was checked. It fails if a file that the space needs
// is missing or invalid.
func New(c config.Space, o Options) (*Space, error) {
	s := &Space{Space: c, options: o, done: make(chan struct{}), begun: time.Now(), counters: newCounters(o.Logger)}
	s.Check.UnmarshalText([]byte(c.Check))
	if c.SecretFile != "" {
		secret, err := local.ReadSecret(c.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("space %s: %w", c.Name, err)
		}
		s.secret, s.Check, s.Cipher = secret, store.KeysOf(secret), randflake.NewCipher(secret)
	}
	var err error
	if s.location, err = c.Location(); err != nil {
		return nil, fmt.Errorf("space %s: %w", c.Name, err)
	}
	s.noteError(errors.New("it is being opened"))
	return s, nil
}

// Same reports whether two spaces have the same configuration, with the same content of the files that it names.
func (s *Space) Same(other *Space) bool {
	return reflect.DeepEqual(s.Space, other.Space) && s.secret == other.secret && slices.Equal(s.Check, other.Check) && s.location == other.location
}

// Open begins to open the space.
func (s *Space) Open() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.begin(ctx)
}

// Configure sets the counters of the space, among those of all spaces. Handles on counters that stay as they are stay open.
func (s *Space) Configure(counters map[string]config.Counter) {
	own := maps.Clone(counters)
	maps.DeleteFunc(own, func(_ string, c config.Counter) bool { return c.Space != s.Name })
	s.counters.configure(own)
}

func (s *Space) noteError(err error) { s.err.Store(&err) }

// begin opens the space, with growing pauses of up to ten seconds between attempts.
func (s *Space) begin(ctx context.Context) {
	defer close(s.done)
	said := ""
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		attempt, cancel := context.WithTimeout(ctx, 15*time.Second)
		state, err := s.attempt(attempt)
		cancel()
		if err == nil {
			s.state.Store(state)
			s.options.Logger.Info("space is open", "space", s.Name)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.noteError(err)
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

func (s *Space) attempt(ctx context.Context) (state *State, err error) {
	state = &State{}
	if s.location != "" {
		s.waiting.Store(nil)
		if state.Store, err = s.options.Open(ctx, s.location, store.Combining()); err != nil {
			return nil, err
		}
		state.Leases = lease.On(state.Store)
		s.counters.Counters = counter.On(state.Store)
		state.Counters = s.counters
	}
	if err = s.mint(ctx, state); err != nil && state.Store != nil {
		usage := s.usage(ctx, state.Store)
		s.waiting.Store(&usage)
		state.Store.Close()
	}
	return state, err
}

// State returns the state of an open space, or an error that wraps ErrNotOpen.
func (s *Space) State() (*State, error) {
	if state := s.state.Load(); state != nil {
		return state, nil
	}
	return nil, fmt.Errorf("%w: space %s: try again", ErrNotOpen, s.Name)
}

// Ready returns why the space can't serve now, or nil.
func (s *Space) Ready() error {
	state := s.state.Load()
	switch {
	case state == nil:
		return fmt.Errorf("%w: space %s: %w", ErrNotOpen, s.Name, *s.err.Load())
	case state.Own != nil:
		return state.ready()
	}
	return nil
}

// openTimeout is how long a service reports that it is not ready because a space is not open yet.
const openTimeout = 30 * time.Second

// Begun reports whether the space is open, or openTimeout has passed. A store that is unreachable for longer does not
// make the service unready: the other replicas have the same store, and an error that says so serves clients better
// than no answer.
func (s *Space) Begun() bool { return s.state.Load() != nil || time.Since(s.begun) > openTimeout }

// Secret returns the secret of a space that distributes it, or reports that the space does not.
func (s *Space) Secret() (randflake.Secret, bool) {
	return s.secret, s.Space.Secret == config.SecretDistribute
}

// Close gives back the service's lease and numbers in the space, and closes the store. It takes about ten seconds if
// the store does not answer.
func (s *Space) Close() error {
	s.cancel()
	<-s.done
	state := s.state.Swap(nil)
	if state == nil {
		return nil
	}
	s.noteError(errors.New("it was closed"))
	var errs [3]error
	var wg sync.WaitGroup
	if state.Own != nil {
		wg.Go(func() { errs[0] = state.close() })
	}
	if state.Store != nil {
		wg.Go(func() { errs[1] = state.Counters.Close() })
		wg.Wait()
		errs[2] = state.Store.Close()
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}
