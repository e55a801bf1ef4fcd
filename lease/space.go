package lease

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/internal/taken"
)

// A Space is a handle on a space of an engine. It is safe for concurrent use.
type Space struct {
	engine Engine
	name   string
	now    func() time.Time

	// Only the explorer's test changes these: it never sleeps and has fewer steps.
	sleep     func(context.Context, time.Duration) error
	mostSteps int // that the taken nodes may have: taken.MaxSteps

	// With mu held.
	mu    sync.Mutex
	known known
}

// openTimeout bounds Open, Create and the first look of Move, as some engines wait for their server for ever.
const openTimeout = 10 * time.Second

// Open returns a handle on a space of an engine. It returns ErrNoSpace if there is none, and ErrMismatch
// or ErrWrongSecret if the space was made as another one than config says. It takes ten seconds at most.
func Open(ctx context.Context, engine Engine, config Config) (*Space, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	seen, err := s.readExisting(ctx)
	if err != nil {
		return nil, err
	}
	// Position and records stay unknown until the first swap of this handle: what a read shows may
	// not be durable. Nor may this meta be, but nothing is leased twice, as each swap expects the meta
	// that its take goes by. If an older one comes back, a loss is noted, at worst in vain.
	s.startFrom(seen.meta)
	if err := s.checkMade(config); err != nil {
		return nil, err
	}
	return s, nil
}

// readExisting reads the leases. It returns ErrNoSpace if there is no space, or the store is not prepared.
func (s *Space) readExisting(ctx context.Context) (*snapshot, error) {
	seen, err := s.read(ctx, leasesRecord)
	unprepared := errors.Is(err, ErrNoSpace) && !errors.Is(err, errMadeAnew) // says the engine
	switch {
	case unprepared:
		return nil, fmt.Errorf("%w: make the space first", err)
	case err != nil:
		return nil, err
	case seen.isMoving():
		return nil, fmt.Errorf("%w: %s: call it again, but if this is a restored backup, "+
			"make a space of another name, not for new IDs", ErrMoving, s)
	case seen.meta == nil:
		return nil, fmt.Errorf("%w: %s: make the space first", ErrNoSpace, s)
	}
	return seen, nil
}

// Create makes a space and returns a handle on it. It returns ErrExists if there is one, or if a move that has not
// ended is to make one, perhaps for the same IDs. After an error other than ErrExists and ErrInvalid the space may be
// there: Open returns it, and its leases may begin as late as without NeverUsed. Create takes ten seconds at most.
func Create(ctx context.Context, engine Engine, config Config) (*Space, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	if err := s.create(ctx, config); err != nil {
		return nil, err
	}
	return s, nil
}

// create takes two swaps, as noting a loss does (loss.go), so that neither harms when it arrives late: when a
// space that another process has made meanwhile is lost too. The first one only puts a mark, by which
// nothing is granted. The second one takes that away, or sets a floor in its place.
func (s *Space) create(ctx context.Context, config Config) error {
	marked, err := s.markNew(ctx, config)
	if err != nil {
		return err
	}
	if config.NeverUsed {
		begun, err := s.beginAtOnce(ctx, marked)
		if begun || err != nil {
			return err
		}
	}
	s.startFrom(marked.meta)
	return s.settle(ctx)
}

// markNew puts a new space with its mark, if it may be made.
func (s *Space) markNew(ctx context.Context, config Config) (*snapshot, error) {
	limits, err := config.limits()
	if err != nil {
		return nil, err
	}
	if err := s.engine.Prepare(ctx); err != nil {
		return nil, s.storeError("prepare", err)
	}
	seen, err := s.read(ctx, leasesRecord)
	if err != nil {
		return nil, err
	}
	if seen.meta != nil {
		return nil, fmt.Errorf("%w: %s: a space is never replaced: open it, or take another name", ErrExists, s)
	}
	if err := s.checkTrust(seen, config.Trust); err != nil {
		return nil, err
	}
	m := newMeta(seen, limits, config)
	if seen.isMoving() && m.mayShareIDs(seen.announced) { // both spaces could become the one for these IDs
		return nil, fmt.Errorf("%w: %s: a move to it has not ended: call that again, or take another name", ErrExists, s)
	}
	if err := seen.clockError(m); err != nil {
		return nil, err
	}
	nodes, err := seen.takenNodes(s)
	if err != nil {
		return nil, err
	}
	marked, err := s.swapMeta(ctx, seen, m, nodes.Encode()) // both, so that no take adds an entry
	if err == nil && !marked.Swapped {
		err = fmt.Errorf("%w: %s: another process was faster: open it, or try again", ErrExists, s)
	}
	return marked, err
}

// beginAtOnce takes the mark away from a new space for IDs that were never used. It is not done if
// another process has set a floor, or the data was replaced.
func (s *Space) beginAtOnce(ctx context.Context, marked *snapshot) (done bool, err error) {
	m := *marked.meta
	m.Lineage = marked.Lineage
	m.Why = ""
	return s.putMeta(ctx, marked, &m, nil)
}

func newSpace(engine Engine, config Config) (*Space, error) {
	if err := config.checkName(); err != nil {
		return nil, err
	}
	s := &Space{
		engine:    engine,
		name:      cmp.Or(config.Name, "default"),
		now:       config.Clock,
		sleep:     backoff.Sleep,
		mostSteps: taken.MaxSteps,
		known:     known{values: map[string][]byte{}},
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// CheckSecret returns ErrWrongSecret if the space is for IDs of another secret than that of the check value.
func (s *Space) CheckSecret(check [8]byte) error {
	m := s.knownMeta()
	own := hex.EncodeToString(check[:])
	if m.Check != "" && m.Check != own {
		return fmt.Errorf("%w: %s: its check value is %s, that of the secret is %s: "+
			"is it the secret of another environment?", ErrWrongSecret, s, m.Check, own)
	}
	return nil
}

// Close closes the engine.
func (s *Space) Close() error { return s.engine.Close() }

// Limits returns the limits of the space.
func (s *Space) Limits() Limits { return s.knownMeta().Limits }

// String says where the space is.
func (s *Space) String() string { return fmt.Sprintf("space %q in %s", s.name, s.engine) }

// entryName returns the name that an entry of the space has in the engine.
func (s *Space) entryName(name string) string { return s.name + "/" + name }
