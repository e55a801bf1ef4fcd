package randflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/door"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Lease is the right to make IDs for a contiguous range of nodes, with seconds in an interval. Generators whose
// leases share no node in any second never make the same ID. Each node gives 131,072 IDs a second.
//
// This package does not decide who holds which lease. Package lease does; the leases that it grants are disjoint.
type Lease struct {
	FirstNode, LastNode uint32 // both included, at most MaxNode

	// Start is the first second, End the one after the last: [Start, End), whole seconds. The earliest Start is Epoch,
	// the latest End is MaxTimestamp + 1.
	Start, End time.Time
}

// check returns an error that wraps ErrInvalidLease when l can't be used.
func (l Lease) check() error {
	start, end := l.Start.Unix(), l.End.Unix()
	switch {
	case l.FirstNode > l.LastNode:
		return fmt.Errorf("%w: first node %d is above last node %d", ErrInvalidLease, l.FirstNode, l.LastNode)
	case l.LastNode > MaxNode:
		return fmt.Errorf("%w: last node %d is above %d", ErrInvalidLease, l.LastNode, MaxNode)
	case l.Start.Nanosecond() != 0:
		return fmt.Errorf("%w: start %s is not a whole second", ErrInvalidLease, l.Start.Format(time.RFC3339Nano))
	case l.End.Nanosecond() != 0:
		return fmt.Errorf("%w: end %s is not a whole second", ErrInvalidLease, l.End.Format(time.RFC3339Nano))
	case end <= start:
		return fmt.Errorf("%w: end %s is not after start %s", ErrInvalidLease, l.End.Format(time.RFC3339), l.Start.Format(time.RFC3339))
	case start < Epoch:
		return fmt.Errorf("%w: start %s is before the epoch, %s",
			ErrInvalidLease, l.Start.Format(time.RFC3339), time.Unix(Epoch, 0).UTC().Format(time.RFC3339))
	case end > MaxTimestamp+1:
		return fmt.Errorf("%w: end %s: %w", ErrInvalidLease, l.End.Format(time.RFC3339), ErrEndOfLife)
	}
	return nil
}

// nodes returns how many nodes l covers.
func (l Lease) nodes() uint64 { return uint64(l.LastNode) - uint64(l.FirstNode) + 1 }

// Keepers of package lease hand over the leases that follow the first one.
func init() {
	door.Add(func(g *Generator) handover.Queue[Lease] { return (*leases)(g) })
}

// leases are a generator as its keeper sees it.
type leases Generator

func (l *leases) OnRefusal(f func(err error, waiting bool)) { l.refused = f }

func (l *leases) Counts() (claimed, waited uint64) { return l.claimed.Load(), l.waited.Load() }

func (l *leases) Add(lease Lease) error {
	if err := lease.check(); err != nil {
		return err
	}
	g := (*Generator)(l)
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load().closed {
		return ErrClosed
	}
	g.pend(lease)
	return nil
}

// pend keeps a lease for its time.
func (g *Generator) pend(lease Lease) {
	g.next.Add(lease.Start.Unix(), lease.End.Unix(), lease)
}

// The life of a lease in a generator:
//
//	pending    handed over; its time has not come, or another lease is in force
//	in force   the state has it; used once its cursor has moved
//	over       its cursor is frozen: its time ended, or the clock went to another lease's time
//	dropped    over before its end: the machine is a copy of another one
//
// A lease in force that was not used goes back to pending.

// follow switches to the next lease if that of st, which refused with err at second now, has ended or not begun. nil
// means: try again, as another lease is in force. Otherwise it returns what callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	if st.dropped {
		err = ErrLeaseEnded // whatever the clock says
	}
	switch err {
	case ErrLeaseEnded, ErrLeaseNotStarted, ErrClockBackward:
	default:
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load() != st {
		return nil
	}
	lease, ok := g.next.Take(now)
	if !ok {
		_, later := g.next.Next(now)
		if later && err == ErrLeaseEnded {
			return ErrLeaseNotStarted
		}
		return err
	}
	if !g.end(st) {
		g.pend(st.lease)
	}
	g.state.Store(g.newState(lease, newCursor(lease.bounds()), newShards(processors()), st.machine))
	return nil
}

// end freezes st's cursor. It reports whether the lease is used up, because it was used at all or dropped; an
// unused one can still be put in force.
func (g *Generator) end(st *state) (used bool) {
	if st.dropped {
		return true
	}
	second, used := st.cursor.freeze()
	if used {
		g.lastUsed = max(g.lastUsed, second)
	}
	return used
}

// Drop ends all leases at once. After a copy of the machine the generator then works with new ones; until then
// it refuses by itself, where Linux has a VMClock device (/dev/vmclock0, readable for this process).
func (l *leases) Drop() {
	g := (*Generator)(l)
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next.Clear()
	st := g.load()
	if st.closed {
		return
	}
	g.end(st)
	over := g.newState(st.lease, st.cursor, newShards(processors()), vmgen.Now())
	over.dropped = true
	g.state.Store(over)
}

func (l *leases) Ready() error {
	g := (*Generator)(l)
	for {
		st := g.load()
		if st.closed {
			return ErrClosed
		}
		now := g.readClock()
		_, _, refusal := st.bounds.plan(st.cursor.next.Load(), now)
		switch {
		case st.machine.Stale():
			return errCopied
		case refusal == nil:
			return nil
		}
		if err := g.resolve(st, now, true, refusal); err != nil {
			return err
		}
	}
}
