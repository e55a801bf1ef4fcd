package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/queue"
)

// A Generator makes the IDs of one worker of a layout, under a lease. It is safe for concurrent use
// and must not be copied.
//
// Its IDs strictly increase in the order in which they are made, also across leases. There are two exceptions,
// both after the clock stepped back: with StepBack, and with a lease that was taken for the earlier time.
//
// If the clock is behind the newest unit used by at most 10 seconds, rounded up to whole units, the
// generator uses up the rest of that unit. After that, or if the clock is further behind, it
// returns randflake.ErrClockBackward. [StepBack] and [RunAhead] change that.
//
// The time in an ID comes from a cached clock of the process. While many IDs are made it is usually
// late by one or two milliseconds, and on a loaded machine by as long as a thread of the process
// waits for a processor. It is exact if no ID was made for a few milliseconds. [Generator.Wait] and
// [RunAhead] can shift the time further.
type Generator struct {
	layout   *Layout
	settings settings

	// Of the leases that are over:
	newestUnit int64 // the newest one used since the clock was last seen to step back, or noUnit
	lastSecond int64 // the newest one in any ID, or 0

	leases handover.Leases[term, *cursor]
}

// A state is a lease in force, with its cursor.
type state = handover.State[term, *cursor]

// noUnit is before all units: none was used.
const noUnit = math.MinInt64

// A term is a lease in the generator's terms.
type term struct {
	static uint64 // the bits that all IDs have in common
	bounds bounds
	lease  randflake.Lease
}

// Forever returns a lease of a worker from 2024-10-27 until 9999-12-31. A generator stops earlier
// if its layout ends. The lease is for programs that assign worker numbers themselves.
//
// Then nothing stops two processes from using the same number. And a restarted process doesn't know
// its predecessor: it makes the same IDs again if it starts within the last unit that its
// predecessor used, if the clock stepped back to before that unit, or if its predecessor ran ahead
// of the clock. Prefer the leases of a store: see [Keep].
func Forever(worker uint32) randflake.Lease {
	return randflake.Lease{
		FirstNode: worker,
		LastNode:  worker,
		Start:     time.Unix(randflake.Epoch, 0).UTC(),
		End:       time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
}

// New returns a generator that makes IDs of a layout under a lease of one node: make one for the
// whole process and keep it. Generators that are made for each request begin again and repeat each
// other's IDs, without an error.
//
// The node is the worker number, which fills the static parts that are not pinned. The generator uses the units
// of time that begin in the lease. The caller must ensure that no other generator of the same IDs ever has a
// lease that shares both the worker and a second with this one. Package lease ensures that, and so does [Keep].
//
// If the lease can't be used, the error wraps randflake.ErrInvalidLease, and also randflake.ErrEndOfLife if the
// layout ends before the lease starts. If an option is invalid or doesn't fit the layout, it wraps
// randflake.ErrInvalidOption. If the layout is nil or zero, it wraps ErrInvalidLayout.
func New(layout *Layout, lease randflake.Lease, options ...Option) (*Generator, error) {
	settings, err := newSettings(layout, options)
	if err == nil && settings.leasing != nil {
		err = fmt.Errorf("%w: Leasing: New has its lease: want Leasing with Keep alone", errInvalidOption)
	}
	if err != nil {
		return nil, err
	}
	return newGenerator(layout, lease, settings)
}

func newGenerator(layout *Layout, lease randflake.Lease, settings settings) (*Generator, error) {
	g := &Generator{layout: layout, settings: settings, newestUnit: noUnit}
	t, err := g.termOf(lease)
	if err != nil {
		return nil, err
	}
	first := newCursor(t.bounds, &g.leases.Made)
	g.leases.Start((*maker)(g), leaseErrors, queue.New("snowflake"), t, first)
	return g, nil
}

// termOf returns what a lease is for the generator, or an error if it can't be used.
func (g *Generator) termOf(lease randflake.Lease) (term, error) {
	static, _, err := g.layout.staticBits(uint64(lease.FirstNode), g.settings.pins)
	if err != nil {
		return term{}, err
	}
	b, err := g.layout.boundsOf(lease, g.settings.policy)
	if err != nil {
		return term{}, err
	}
	return term{static, b, lease}, nil
}

// Generate returns a new ID. It never waits: if it can't make an ID at present it returns
// randflake.ErrExhausted, randflake.ErrLeaseNotStarted, randflake.ErrLeaseEnded, randflake.ErrClockBackward,
// randflake.ErrEndOfLife or randflake.ErrClosed. While callers wait in Wait or FillWait, the IDs that could be
// made are theirs, and Generate returns randflake.ErrExhausted.
func (g *Generator) Generate() (ID, error) {
	id, _, err := g.claim(1, notInLine)
	if err != nil {
		return 0, g.leases.Tell(err)
	}
	return id, nil
}

// Fill fills dst with new IDs, and returns how many it made. They are in increasing order, but
// for the two exceptions that [Generator] names. The first n IDs are good even if err is not nil; err
// is one of Generate's errors and says why n < len(dst). Fill never waits.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	n, err = g.fill(dst, notInLine)
	return n, g.leases.Tell(err)
}

// fill is Fill for a caller in any place, but does not report a refusal.
func (g *Generator) fill(dst []ID, caller place) (n int, err error) {
	machine := g.load().Machine // as it was before the first ID
	for n < len(dst) {
		id, taken, refusal := g.claim(uint64(len(dst)-n), caller)
		if machine.Stale() { // the IDs of earlier claims may be the original's
			return 0, errCopied
		}
		if refusal != nil {
			return n, refusal
		}
		step := ID(1) << g.layout.sequence.shift // the IDs of a claim differ in the sequence alone
		for range taken {
			dst[n] = id
			n++
			id += step
		}
	}
	return n, nil
}

// Lease returns the lease in force; after Close, the last one.
func (g *Generator) Lease() randflake.Lease { return g.load().Lease.lease }

// Layout returns the layout of the generator's IDs.
func (g *Generator) Layout() *Layout {
	g.load() // panics without a generator
	return g.layout
}

// Close ends the generator: Generate returns randflake.ErrClosed from now on. Close returns the
// last second in any ID that the generator made, or the second before the start of its lease if it
// made none. Another Close returns the same second and randflake.ErrClosed. In a copy of the
// machine the error of the first one may wrap randflake.ErrLeaseEnded.
func (g *Generator) Close() (lastUsed time.Time, err error) {
	g.load() // panics without a generator
	err = g.leases.Close()
	if g.lastSecond == 0 { // which does not change any more
		return g.Lease().Start.Add(-time.Second).UTC(), err
	}
	return time.Unix(g.lastSecond, 0).UTC(), err
}

// load returns the state.
func (g *Generator) load() *state {
	if g != nil {
		if st := g.leases.InForce.Load(); st != nil {
			return st
		}
	}
	panic("snowflake: no Generator, or the zero one: make one with New or Keep")
}
