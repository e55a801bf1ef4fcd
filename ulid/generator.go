package ulid

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/queue"
)

// A Generator makes ULIDs. It is safe for concurrent use and must not be copied.
//
// Each processor has a state of its own for as long as the generator lives, so that processors don't wait for each
// other. (Under the build tag purego all share one.) A state starts each millisecond at 80 bits from crypto/rand, and
// each further ID of the millisecond is the last one plus a random number of 1 to 2^32. Random bytes are read ahead,
// 512 for each state, and erased once they are in an ID.
//
// Unique: IDs of one state differ because they grow, or because their times do. Two IDs of the same millisecond but of
// different starts are equal with probability 2^-80, as each start is random and independent of the other. So among n
// IDs of a millisecond, in however many processes, there is a repeat with probability below n²/2^81; at ten million IDs
// a second, for a year, that adds up to one in 760,000. The clone of a running virtual machine has its twin's random
// bytes, though, and may repeat its IDs until those are used up.
//
// Ordered: IDs of one processor grow while the clock does not step back, and so do IDs of different milliseconds. A
// goroutine may move from one processor to another at any time, so the IDs that it gets within a millisecond need not
// grow: those of one call of Fill do, and with the option Strict all do. Without it, IDs follow a clock that steps
// back.
//
// Hard to guess: from one ID, the one before or after it in its millisecond is guessed with probability 2^-32; IDs of
// other milliseconds and other states share nothing with it. A secret token wants more than that: take 128 bits from
// crypto/rand.
//
// The time in an ID is the system clock's, by way of a word that a timer sets each millisecond while IDs are made. At
// times it is late, by a millisecond or two as a rule and by more on a loaded machine; it is early only when the clock
// stepped back just before. An ID made after a rest of some milliseconds has the exact time.
type Generator struct {
	now func() time.Time // an injected clock, or nil

	hot    pinnedStates // the states that Generate may use without owning them
	states pinnedStates // the same, or those of a generator with an injected clock
	shared ownedState   // where there is no state for the P, or the order is strict
	queue  *queue.Queue
}

// An Option changes how New makes a generator.
type Option struct{ set func(*Generator) error }

// WithClock makes the generator ask now for the time, on every call, instead of the system clock. It is meant for
// tests, simulations and for IDs of the past.
func WithClock(now func() time.Time) Option {
	return Option{func(g *Generator) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalidOption)
		}
		g.now = now
		return nil
	}}
}

// Strict makes every ID larger than all those that the generator returned before, to whatever goroutine: all share one
// state. When the clock steps back, IDs stay in the newest millisecond until the clock has caught up.
//
// The order ends with the generator. One that is made later, after a restart say, knows nothing of the IDs of this one.
func Strict() Option {
	return Option{func(g *Generator) error { g.shared.hold = true; return nil }}
}

// New returns a generator. It takes about 650 bytes for each processor. An option that can't be used is an error that
// wraps ErrInvalidOption; without options there is no error.
func New(options ...Option) (*Generator, error) {
	return newGenerator(func(p []byte) { rand.Read(p) }, options...)
}

func newGenerator(random func([]byte), options ...Option) (*Generator, error) {
	g := &Generator{now: coarse.OfBubble(), queue: queue.New("ulid")}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(g); err != nil {
			return nil, err
		}
	}
	strict := g.shared.hold
	g.shared.state = newState(random, strict)
	if strict {
		return g, nil
	}
	g.states = newStates(processors(), random)
	if g.now == nil {
		g.hot = g.states
	}
	return g, nil
}

// Generate returns a new ID, at once.
//
// It returns ErrMonotonicOverflow when the millisecond has no room left above its newest ID: by chance, with
// probability n/2^49 after n IDs of one state, which is 2^-36 at 10,000 a millisecond. The next millisecond starts
// afresh. With Strict and a clock that stepped back, the newest millisecond lasts as long as the clock needs to catch
// up, and n counts all IDs of that time.
//
// It returns an error that wraps ErrTime when the clock is outside of what a ULID can express.
func (g *Generator) Generate() (ID, error) {
	if len(g.hot) > 0 {
		if id, ok := g.hot.take(); ok {
			return id, nil
		}
	}
	s := g.own()
	defer s.release()
	ms, err := g.milliseconds() // by the owner: IDs are made in the order of what the clock said
	if err != nil {
		return ID{}, err
	}
	return s.next(ms)
}

// Fill fills dst with new IDs and returns how many it made: n IDs are good even when err is not nil, and err, one of
// Generate's errors, says why n < len(dst). The IDs of one call grow and have the same time.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	s := g.own()
	defer s.release()
	ms, err := g.milliseconds()
	if err != nil {
		return 0, err
	}
	for n < len(dst) {
		id, err := s.next(ms)
		if err != nil {
			return n, err
		}
		dst[n] = id
		n++
	}
	return n, nil
}

// Wait is Generate, but waits where waiting helps: for the next millisecond after ErrMonotonicOverflow. Callers are
// served in the order in which they came. It returns other errors at once, and when ctx ends first an error that wraps
// both the cause of that and the reason for the wait.
func (g *Generator) Wait(ctx context.Context) (ID, error) {
	if g.queue.Empty() {
		if id, err := g.Generate(); err != ErrMonotonicOverflow {
			return id, err
		}
	}
	var id [1]ID
	_, err := g.fillInTurn(ctx, id[:])
	return id[0], err
}

// FillWait is Fill, but waits where Wait does. The IDs after a wait have a later time, and don't grow beyond those
// before it where the clock stepped back.
func (g *Generator) FillWait(ctx context.Context, dst []ID) (n int, err error) {
	if g.queue.Empty() {
		if n, err = g.Fill(dst); err != ErrMonotonicOverflow {
			return n, err
		}
	}
	m, err := g.fillInTurn(ctx, dst[n:])
	return n + m, err
}

// fillInTurn is FillWait for a caller that has to wait in line.
func (g *Generator) fillInTurn(ctx context.Context, dst []ID) (n int, err error) {
	err = g.queue.Wait(ctx, func() (pause time.Duration, err error) {
		made, err := g.Fill(dst[n:])
		n += made
		if err == ErrMonotonicOverflow {
			pause = time.Millisecond
		}
		return pause, err
	})
	return n, err
}

// milliseconds returns the time in Unix milliseconds, in a ULID's range.
func (g *Generator) milliseconds() (int64, error) {
	if g.now != nil {
		now := g.now()
		return inRange(unixMilli(now), now)
	}
	ms := coarse.Milliseconds.Glance()
	if uint64(ms) < endTime {
		return ms, nil
	}
	return inRange(ms, time.UnixMilli(ms))
}
