package ulid

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/vmgen"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with
// [errors.Is]. If the root package has an error of the same name, the error here wraps it.
var (
	// ErrTime says that the clock is before 1970 or after 10889-08-02 05:31:50.655 UTC, the last
	// millisecond of 48 bits.
	ErrTime = errors.New("ulid: time is outside of a ULID's 48 bits")

	// errInvalidID says that a text, bytes or a column's value are not an ID, or a text not a UUID.
	errInvalidID = alike.Error("ulid: invalid ID", randflake.ErrInvalidID)

	// errInvalidOption says that an option can't be used; the error that wraps it says why.
	errInvalidOption = alike.Error("ulid: invalid option", randflake.ErrInvalidOption)
)

// A Generator makes ULIDs. It is safe for concurrent use and must not be copied. The package comment
// says how unique its IDs are, in which order, and how hard to guess.
type Generator struct {
	now      func() time.Time // an injected clock, or nil
	version7 bool
	strict   bool

	states sync.Pool  // of *state, each for one call at a time
	shared *state     // with strict: the one for all calls
	lock   sync.Mutex // of shared
}

// An Option changes how New makes a generator.
type Option struct{ set func(*Generator) error }

// WithClock makes the generator call now for the time, on every call, instead of reading the system
// clock. It is meant for tests, simulations and IDs of the past.
func WithClock(now func() time.Time) Option {
	return Option{func(g *Generator) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", errInvalidOption)
		}
		g.now = now
		return nil
	}}
}

// Strict makes every ID larger than all IDs that the generator returned before, to any goroutine:
// all goroutines share one state. When the clock steps back, IDs stay in the newest millisecond
// until the clock has caught up.
//
// The order holds only within one generator. A generator that is made later, for instance after a
// restart, doesn't know the IDs of this one.
func Strict() Option {
	return Option{func(g *Generator) error {
		g.strict = true
		return nil
	}}
}

// Version7 makes every ID a UUID of version 7 (RFC 9562, section 5.7), for columns, validators and types such as
// mask.UUID that take no others: see [FormatUUID]. As ULIDs they have the same time and order.
//
// Version and variant take 6 bits, so an ID has 74 random bits in place of 80. A probability of a repeat or of
// a state without room is 64 times the one of other IDs: one repeat in 12,000 such years.
func Version7() Option {
	return Option{func(g *Generator) error {
		g.version7 = true
		return nil
	}}
}

// New returns a generator. It takes about 600 bytes for each call at a time. If an option can't be used, the
// error wraps randflake.ErrInvalidOption; without options there is no error.
func New(options ...Option) (*Generator, error) {
	g := &Generator{now: coarse.OfBubble()} // nil, but in a bubble of testing/synctest
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", errInvalidOption, i+1)
		}
		if err := option.set(g); err != nil {
			return nil, err
		}
	}
	random := func(p []byte) { rand.Read(p) } // never fails, by its contract
	if g.strict {
		g.shared = newState(random, true, g.version7)
	}
	g.states.New = func() any { return newState(random, false, g.version7) }
	return g, nil
}

// Generate returns a new ID. It never waits, except with Strict: then for some microseconds of another call.
//
// If a ULID can't express the time of the clock, the error wraps ErrTime.
func (g *Generator) Generate() (id ID, err error) {
	ms, err := g.milliseconds()
	if err != nil {
		return ID{}, err
	}
	s := g.take()
	s.next(ms, &id)
	for s.renewIfCopied() {
		s.next(ms, &id)
	}
	g.put(s)
	return id, nil
}

// take returns a state that no other call uses, until put. No clock is read in between: one that is injected may block,
// or ask for an ID.
func (g *Generator) take() *state {
	if g.strict {
		g.lock.Lock()
		return g.shared
	}
	return g.states.Get().(*state)
}

func (g *Generator) put(s *state) {
	if g.strict {
		g.lock.Unlock()
		return
	}
	g.states.Put(s)
}

// Fill fills dst with new IDs and returns how many it made. The first n IDs are good even if err is
// not nil; err is one of Generate's errors and says why n < len(dst). The IDs of one call grow and,
// without Strict, have the same time; then they also don't grow if a state has no room left, which
// is rare: see the package comment.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	for {
		machine := vmgen.Now()
		n, err = g.fillParts(dst)
		if !machine.Stale() {
			return n, err
		}
		// The original of this machine returns the parts that were made before the copy: make all anew.
	}
}

func (g *Generator) fillParts(dst []ID) (n int, err error) {
	for n < len(dst) && err == nil {
		var made int
		made, err = g.fill(dst[n:])
		n += made
	}
	return n, err
}

// strictPart is how many IDs a call makes at a time where the order is strict, as all others wait
// meanwhile. It takes some microseconds.
const strictPart = 256

// fill makes IDs, but may stop after strictPart.
func (g *Generator) fill(dst []ID) (n int, err error) {
	ms, err := g.milliseconds()
	if err != nil {
		return 0, err
	}
	if g.strict {
		dst = dst[:min(strictPart, len(dst))]
	}
	s := g.take()
	s.fill(ms, dst)
	for s.renewIfCopied() {
		s.fill(ms, dst)
	}
	g.put(s)
	return len(dst), nil
}

// milliseconds returns the time in Unix milliseconds, in a ULID's range. It panics unless New made g.
func (g *Generator) milliseconds() (int64, error) {
	if g == nil || g.states.New == nil {
		panic("ulid: no Generator, or the zero one: make one with New")
	}
	if g.now != nil {
		return millisecondsOf(g.now())
	}
	ms := coarse.Milliseconds.Now()
	if uint64(ms) < endTime {
		return ms, nil
	}
	return millisecondsOf(time.UnixMilli(ms))
}

// endTime is the first Unix millisecond that a ULID can't express.
const endTime = 1 << 48

// millisecondsOf returns the Unix millisecond that contains t. If a ULID can't express it, the error
// wraps ErrTime.
func millisecondsOf(t time.Time) (int64, error) {
	if t.Before(time.UnixMilli(0)) || !t.Before(time.UnixMilli(endTime)) {
		return 0, fmt.Errorf("%w: %s: want 1970 to 10889", ErrTime, t.UTC().Format(time.RFC3339))
	}
	return t.UnixMilli(), nil
}
