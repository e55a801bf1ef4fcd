package snowflake

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/queue"
)

// A Generator makes the IDs of one worker of a layout, under a lease. It is safe for concurrent use and must not be
// copied.
//
// Its IDs strictly increase, in the order in which they are made, across leases too, unless the clock stepped back and
// it went along: by StepBack, or with the lease of another worker.
//
// When the clock is behind the newest unit used, by 10 seconds at most, the generator uses up what is left of that
// unit; then, or when the clock is further behind, it refuses with ErrClockBackward. [StepBack] changes that.
//
// The time in an ID is the one that a clock of the process publishes. It is late by one or two milliseconds as a rule
// while many IDs are made, by under 50 ms on a loaded machine, and by longer just after a pause of the process; it is
// exact when no ID was made for a few milliseconds. See [Generator.Wait] and [RunAhead] for what they add.
type Generator struct {
	layout *Layout
	settings
	state atomic.Pointer[state]

	mu       sync.Mutex // held while the state is replaced
	lastUsed time.Time  // once closed
	reported uint64     // what Issued returned at most

	line *queue.Queue // of callers that wait; served, without mu, when the state was replaced

	_       [64]byte      // claims write to what follows, and read what is above
	skipped atomic.Uint64 // the values that cursors jumped over
}

// A state is all that a claim needs, in one pointer. It is replaced as a whole and never changed.
type state struct {
	bounds
	cursor *cursor
	static uint64 // the bits that all IDs have in common
	lease  randflake.Lease
	closed bool
	past   uint64 // how far the cursors of earlier leases got, together
	last   int64  // the newest unit that was used under them
}

// Forever returns a lease of a worker from 2024-10-27 on for as long as any layout lasts. It is for programs that
// assign worker numbers themselves.
//
// Nothing keeps two processes from using one number then. And a process that starts anew knows nothing of the one
// before it: when it is there within the last unit that was used, or the clock has stepped back behind that, or the
// other one ran ahead, it makes the same IDs again. Prefer the leases of a store: see Keep.
func Forever(worker uint32) randflake.Lease {
	return randflake.Lease{
		FirstNode: worker,
		LastNode:  worker,
		Start:     time.Unix(randflake.Epoch, 0).UTC(),
		End:       time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
}

// New returns a generator that makes IDs of a layout under a lease of one node, which is the worker number: it fills
// the static parts that are not pinned. Only units of time that lie in the lease as a whole are used. The caller sees
// to it that no other generator of the same IDs ever has a lease that shares both the worker and a second with this
// one: package lease does that, and Keep.
//
// A lease that can't be used is an error that wraps ErrInvalidLease, and also ErrEndOfLife when the layout ends before
// it starts; an option that can't be, or doesn't go with the layout, is one that wraps ErrInvalidOption; no layout is
// one that wraps ErrInvalidLayout.
func New(layout *Layout, lease randflake.Lease, options ...Option) (*Generator, error) {
	settings, err := newSettings(layout, options)
	if err == nil && settings.leasing != nil {
		err = fmt.Errorf("%w: Leasing: New has its lease: want Leasing with Keep alone", ErrInvalidOption)
	}
	if err != nil {
		return nil, err
	}
	return newGenerator(layout, lease, settings)
}

func newGenerator(layout *Layout, lease randflake.Lease, settings settings) (*Generator, error) {
	g := &Generator{layout: layout, settings: settings, line: queue.New("snowflake")}
	st, err := g.newState(lease)
	if err != nil {
		return nil, err
	}
	st.last = st.first - 1
	st.startAt(st.first)
	st.cursor = newCursor(&st.bounds, &g.skipped)
	g.state.Store(st)
	return g, nil
}

// Generate returns a new ID. It never waits: when it can't make one at present it returns one of ErrExhausted,
// ErrLeaseNotStarted, ErrLeaseEnded, ErrClockBackward, ErrEndOfLife and ErrClosed.
func (g *Generator) Generate() (ID, error) {
	st, start, _, err := g.claim(1, false)
	if err != nil {
		return 0, g.told(err)
	}
	return g.id(st, start), nil
}

// Fill fills dst with new IDs, in increasing order, and returns how many it made: n IDs are good even when err is not
// nil, and err, one of Generate's errors, says why n < len(dst). It never waits.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	n, err = g.fill(dst, false)
	return n, g.told(err)
}

// fill is Fill without a call of OnRefusal's function. It is inTurn when its caller has waited and is the first in
// line.
func (g *Generator) fill(dst []ID, inTurn bool) (n int, err error) {
	for n < len(dst) {
		st, start, taken, err := g.claim(uint64(len(dst)-n), inTurn)
		if err != nil {
			return n, err
		}
		id := g.id(st, start)
		for i := range dst[n : n+int(taken)] {
			dst[n+i] = id + ID(i)<<g.layout.sequence.shift
		}
		n += int(taken)
	}
	return n, nil
}

// claim takes up to n consecutive values, at least one, of one unit.
func (g *Generator) claim(n uint64, inTurn bool) (st *state, start, taken uint64, err error) {
	if !inTurn && !g.line.Empty() {
		return g.claimSlowly(n, inTurn)
	}
	now := g.layout.unitAt(g.glance())
	for {
		st := g.state.Load()
		next := st.cursor.next.Load()
		p, err := st.plan(next, st.cursor.full.Load(), now)
		if err != nil {
			return g.claimSlowly(n, inTurn)
		}
		if start, taken := st.cursor.take(&st.bounds, next, p, n); taken > 0 {
			return st, start, taken, nil
		}
	}
}

// claimSlowly is claim with a look at the real clock, on which errors rest.
func (g *Generator) claimSlowly(n uint64, inTurn bool) (st *state, start, taken uint64, err error) {
	for {
		st, next, p, err := g.look()
		switch {
		case err != nil:
			return nil, 0, 0, err
		case !inTurn && !g.line.Empty():
			return nil, 0, 0, ErrExhausted // all IDs that are left belong to callers that wait
		}
		if start, taken := st.cursor.take(&st.bounds, next, p, n); taken > 0 {
			return st, start, taken, nil
		}
	}
}

// look reads the state and the clock and returns what a claim may take by them, or why it may not.
func (g *Generator) look() (st *state, next uint64, p plan, err error) {
	for {
		st := g.state.Load()
		if st.closed {
			return st, 0, plan{}, ErrClosed
		}
		next := st.cursor.next.Load()
		now := g.layout.unitAt(g.read()) // after next was loaded: see planAhead
		p, err := st.plan(next, st.cursor.full.Load(), now)
		if err == ErrClockBackward && st.steps > 0 {
			st.cursor.leave(&st.bounds, next)
			p, err = st.stepBack(next, now)
		}
		switch err {
		case errFrozen:
			g.settle()
		case ErrEndOfLife:
			return st, next, plan{}, g.layout.ended()
		case nil:
			return st, next, p, nil
		default:
			if g.state.Load() == st { // otherwise the lease that refused is no longer in force
				return st, next, plan{}, err
			}
		}
	}
}

// id returns the ID of a value.
func (g *Generator) id(st *state, value uint64) ID {
	l := g.layout
	id := st.static | (value&l.sequence.max())<<l.sequence.shift
	value >>= l.sequence.bits
	id |= (value & l.time.max()) << l.time.shift
	return ID(id | value>>l.time.bits<<l.rollback.shift)
}

// Extend moves the end of the lease to a later one; the worker stays the same. An earlier end is an error that wraps
// ErrInvalidLease. After Close it returns ErrClosed, after Freeze ErrLeaseEnded.
func (g *Generator) Extend(end time.Time) error {
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.state.Load()
	if st.closed {
		return ErrClosed
	}
	if st.end == over {
		return ErrLeaseEnded
	}
	lease := st.lease
	if end.Before(lease.End) {
		return fmt.Errorf("%w: new end %s: want %s, the present one, or later", ErrInvalidLease, end.Format(time.RFC3339), lease.End.Format(time.RFC3339))
	}
	lease.End = end
	longer, err := g.newState(lease)
	if err != nil {
		return err
	}
	longer.startAt(st.from)
	longer.cursor, longer.past, longer.last = st.cursor, st.past, st.last
	g.state.Store(longer)
	return nil
}

// Replace goes on with another lease. It returns the last second that IDs made under the old one carry, now or ever, or
// the second before its start when there are none: from then on the old worker can be leased again, by any caller. IDs
// go on after the last unit used, or at the clock's present one when the clock has stepped back.
//
// A lease of the same worker must start after that second; otherwise, and when the lease is no lease, Replace returns
// an error that wraps ErrInvalidLease and the old lease stays in force. After Close it returns ErrClosed. Like any
// lease, the new one must not share a worker and a second with leases that were used before, this generator's earlier
// ones included: only the one in force is compared.
func (g *Generator) Replace(lease randflake.Lease) (lastUsed time.Time, err error) {
	next, err := g.newState(lease)
	if err != nil {
		return time.Time{}, err
	}
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.state.Load()
	if st.closed {
		return time.Time{}, ErrClosed
	}
	reached, ok := st.cursor.freeze(func(reached uint64) bool {
		return lease.FirstNode != st.lease.FirstNode || lease.Start.After(g.lastSecondUsed(st, reached))
	})
	lastUsed = g.lastSecondUsed(st, reached)
	if !ok {
		return time.Time{}, fmt.Errorf("%w: start %s: want one after %s, the last second that was used of this worker", ErrInvalidLease, lease.Start.Format(time.RFC3339), lastUsed.Format(time.RFC3339))
	}
	next.last = st.lastUnit(reached)
	next.startAt(g.goOn(&next.bounds, next.last))
	next.cursor, next.past = newCursor(&next.bounds, &g.skipped), st.past+reached-st.base
	g.state.Store(next)
	return lastUsed, nil
}

// lastUnit returns the newest unit that was used up to next, under whichever lease, since the clock was last seen to
// step back.
func (st *state) lastUnit(next uint64) int64 {
	if next == st.base {
		return st.last
	}
	return st.newest(next)
}

// goOn returns the unit at which a new lease begins, when last is the newest one that was used before.
func (g *Generator) goOn(b *bounds, last int64) int64 {
	if now := g.layout.unitAt(g.read()); now+b.ahead < last {
		return b.first // the clock stepped back
	}
	return max(b.first, last+1)
}

// Close ends the generator: Generate returns ErrClosed from now on. It returns the last second that IDs made under the
// lease in force carry, now or ever, or the second before its start when there are none. Another Close returns the same
// second and ErrClosed.
func (g *Generator) Close() (lastUsed time.Time, err error) {
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.state.Load()
	if st.closed {
		return g.lastUsed, ErrClosed
	}
	reached, _ := st.cursor.freeze(func(uint64) bool { return true })
	g.lastUsed = g.lastSecondUsed(st, reached)
	g.state.Store(&state{cursor: st.cursor, lease: st.lease, closed: true, past: st.past + reached - st.base})
	return g.lastUsed, nil
}

// Freeze ends the lease at once, as if its end were the second after the last one that was used: no ID is made until
// Replace, and each one that is asked for is refused with ErrLeaseEnded. It is for a lease that turns out to be held by
// another process too. After Close it does nothing.
func (g *Generator) Freeze() {
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.state.Load()
	if st.closed {
		return
	}
	reached, _ := st.cursor.freeze(func(uint64) bool { return true })
	frozen := *st
	frozen.lease.End = g.lastSecondUsed(st, reached).Add(time.Second)
	frozen.end = over
	frozen.cursor = newCursor(&frozen.bounds, &g.skipped)
	frozen.cursor.next.Store(reached)
	frozen.cursor.left.Store(st.cursor.left.Load())
	g.state.Store(&frozen)
}

// over is the end of a lease that is frozen: a unit that no clock is before.
const over = math.MinInt64

// Ready returns nil if an ID can be made at present, and otherwise the error that Generate would return. It makes no ID
// and counts as no refusal.
func (g *Generator) Ready() error {
	_, _, _, err := g.look()
	if err == nil && !g.line.Empty() {
		return ErrExhausted
	}
	return err
}

// lastSecondUsed returns the second of the newest value up to next, or the one before the lease.
func (g *Generator) lastSecondUsed(st *state, next uint64) time.Time {
	unit, ok := st.cursor.lastUsed(&st.bounds, next)
	if !ok {
		return st.lease.Start.Add(-time.Second).UTC()
	}
	return time.Unix(g.layout.lastSecond(unit), 0).UTC()
}

// Lease returns the lease in force; after Close, the last one.
func (g *Generator) Lease() randflake.Lease { return g.state.Load().lease }

// Layout returns the layout of the generator's IDs.
func (g *Generator) Layout() *Layout { return g.layout }

// Issued returns how many IDs the generator has made since New, for statistics. It never goes down. While IDs are being
// made it may miss some of the last ones.
func (g *Generator) Issued() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.state.Load()
	reached := st.past
	if !st.closed {
		reached += st.cursor.next.Load() - st.base
	}
	// A claim counts what it skips before it takes what comes after, so this is never too much.
	issued := reached - g.skipped.Load()
	g.reported += uint64(max(int64(issued-g.reported), 0))
	return g.reported
}

// settle waits for a call that replaces the state to be over.
func (g *Generator) settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
}

// told returns err after telling of it, if it is a refusal.
func (g *Generator) told(err error) error {
	if err != nil && g.refused != nil {
		g.refused(err)
	}
	return err
}

// newState returns a state for a lease, all but its cursor.
func (g *Generator) newState(lease randflake.Lease) (*state, error) {
	static, _, err := g.layout.static(uint64(lease.FirstNode), g.pins)
	if err != nil {
		return nil, err
	}
	b, err := g.layout.bounds(lease, g.policy)
	if err != nil {
		return nil, err
	}
	return &state{bounds: b, static: static, lease: lease}, nil
}
