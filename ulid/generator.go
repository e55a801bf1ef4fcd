// Package ulid makes ULIDs: 128-bit IDs with a time in milliseconds (48 bits) and 80 random bits
// (https://github.com/ulid/spec). Their text has 26 characters and sorts by time. They need no
// lease and no node, and anyone can read their time.
//
//	generator, err := ulid.New()
//	id, err := generator.Generate()
//
// An [ID] can be converted to the type of github.com/oklog/ulid/v2 and back: ulid.ID(theirs). The package has
//
//   - a [Generator] with entropy from crypto/rand, which goroutines share without waiting for each other,
//     or with one order for all of them ([Strict]);
//   - strict text, JSON and SQL forms, and [Inspect] and [Compose];
//   - the form of a UUID ([FormatUUID], [ParseUUID]), and UUIDs of version 7 ([Version7]).
//
// Package objectkey names objects in an object store by ULID, and finds the objects of a time interval.
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

// A Generator makes ULIDs. It is safe for concurrent use and must not be copied.
//
// Each call takes a state out of a pool, so calls don't wait for each other. A state starts each
// millisecond at 80 bits from crypto/rand. Each further ID of the millisecond is the last one plus
// a random number from 1 to 2^32. Each state reads 512 random bytes ahead, and erases them once
// they are in an ID.
//
// Unique: IDs of one state differ because they grow within a millisecond, or because their times
// differ. Two IDs of the same millisecond but from different starts are equal with probability
// 2^-80, as starts are random and independent. So among n IDs of a millisecond, in any number of
// processes, the probability of a repeat is below n²/2^81. At ten million IDs a second for a year,
// that adds up to one in 760,000. A clone of a running virtual machine has the random bytes that
// the original read ahead. If it has a VMClock device (/dev/vmclock0, readable for this process),
// it drops them and starts again; otherwise both may make the same IDs until these bytes are used
// up.
//
// A state has no room left above its newest ID with a probability of n/2^49 after n IDs of a
// millisecond, which is 2^-36 for 10,000 IDs. (With Strict, n counts all IDs while the clock is
// behind the newest millisecond.) It then starts again at 80 bits from crypto/rand: with Strict in
// the next millisecond, otherwise in the same one, so that a smaller ID follows.
//
// Ordered: the IDs of one call of Fill grow, and so do IDs of different milliseconds while the
// clock does not step back. Those of different calls within a millisecond have no order. With the
// option Strict all IDs grow. Without it, IDs follow a clock that steps back.
//
// Hard to guess: from one ID, the previous or next ID of the same state and millisecond can be
// guessed with probability 2^-32. IDs of other milliseconds and other states have no relation to
// it. That is not enough for a secret token: for that, take 128 bits from crypto/rand.
//
// The time in an ID is the system clock's, cached in a word that a timer sets each millisecond
// while IDs are made. It can be late, usually by a millisecond or two, and by more on a loaded
// machine. It is early only if the clock stepped back just before. An ID made after a pause of some
// milliseconds has the exact time.
type Generator struct {
	now      func() time.Time // an injected clock, or nil
	version7 bool

	states sync.Pool  // of *state, each for one call at a time
	strict *state     // the only state if the order is strict, or nil
	lock   sync.Mutex // of strict
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
	return Option{func(g *Generator) error { g.strict = new(state); return nil }}
}

// Version7 makes every ID a UUID of version 7 (RFC 9562, section 5.7), for columns, validators and types such as
// mask.UUID that take no others: see [FormatUUID]. As ULIDs they have the same time and order.
//
// Version and variant take 6 bits, so an ID has 74 random bits in place of 80. A probability of a repeat or of
// a state without room is 64 times the one that [Generator] says: one repeat in 12,000 such years.
func Version7() Option {
	return Option{func(g *Generator) error { g.version7 = true; return nil }}
}

// New returns a generator. It takes about 600 bytes for each call at a time. If an option can't be used, the
// error wraps randflake.ErrInvalidOption; without options there is no error.
func New(options ...Option) (*Generator, error) {
	return newGenerator(func(p []byte) { rand.Read(p) }, options...)
}

func newGenerator(random func([]byte), options ...Option) (*Generator, error) {
	g := &Generator{now: coarse.OfBubble()}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", errInvalidOption, i+1)
		}
		if err := option.set(g); err != nil {
			return nil, err
		}
	}
	if g.strict != nil { // as Strict left it
		g.strict = newState(random, true, g.version7)
	}
	g.states.New = func() any { return newState(random, false, g.version7) }
	return g, nil
}

// Generate returns a new ID. It never waits, except with Strict: then for some microseconds of another call.
//
// If a ULID can't express the time of the clock, the error wraps ErrTime.
func (g *Generator) Generate() (id ID, err error) {
	if g == nil || g.strict != nil {
		var one [1]ID
		_, err = g.fill(one[:])
		return one[0], err
	}
	ms, err := g.milliseconds()
	if err != nil {
		return ID{}, err
	}
	s := g.take()
	s.next(ms, &id)
	for s.copied() {
		s.next(ms, &id)
	}
	g.states.Put(s)
	return id, nil
}

// take returns a state that no other call uses, until put.
func (g *Generator) take() *state {
	switch {
	case g == nil || g.states.New == nil:
		panic("ulid: no Generator, or the zero one: make one with New")
	case g.strict != nil:
		g.lock.Lock()
		return g.strict
	}
	return g.states.Get().(*state)
}

func (g *Generator) put(s *state) {
	if s == g.strict {
		g.lock.Unlock()
		return
	}
	g.states.Put(s)
}

// Fill fills dst with new IDs and returns how many it made. The first n IDs are good even if err is
// not nil; err is one of Generate's errors and says why n < len(dst). The IDs of one call grow and,
// without Strict, have the same time; then they also don't grow if a state has no room left, with
// the probability that [Generator] says.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	for n < len(dst) && err == nil {
		var made int
		made, err = g.fill(dst[n:])
		n += made
	}
	return n, err
}

// part is how many IDs a call makes at a time where the order is strict, as all others wait
// meanwhile. It takes some microseconds.
const part = 256

// fill is Fill, but may stop after a part.
func (g *Generator) fill(dst []ID) (n int, err error) {
	s := g.take()
	defer g.put(s)
	if s == g.strict {
		dst = dst[:min(part, len(dst))]
	}
	ms, err := g.milliseconds()
	if err != nil {
		return 0, err
	}
	s.fill(ms, dst)
	for s.copied() {
		s.fill(ms, dst)
	}
	return len(dst), nil
}

// milliseconds returns the time in Unix milliseconds, in a ULID's range.
func (g *Generator) milliseconds() (int64, error) {
	if g.now != nil {
		now := g.now()
		return inRange(unixMilli(now), now)
	}
	ms := coarse.Milliseconds.Now()
	if uint64(ms) < endTime {
		return ms, nil
	}
	return inRange(ms, time.UnixMilli(ms))
}

// endTime is the first Unix millisecond that a ULID can't express.
const endTime = 1 << 48

// unixMilli returns the Unix millisecond that contains t, noTime for all times before 1970, and
// endTime for all times that are too late for a ULID.
func unixMilli(t time.Time) int64 {
	seconds := t.Unix()
	switch {
	case seconds < 0:
		return noTime
	case seconds > endTime/1000:
		return endTime
	}
	return min(t.UnixMilli(), endTime)
}

// inRange returns ms, the Unix millisecond of t, or an error that wraps ErrTime.
func inRange(ms int64, t time.Time) (int64, error) {
	if uint64(ms) >= endTime {
		return 0, fmt.Errorf("%w: %s: want 1970 to 10889", ErrTime, t.UTC().Format(time.RFC3339))
	}
	return ms, nil
}
