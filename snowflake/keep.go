package snowflake

import (
	"context"
	"fmt"
	"slices"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/door"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease"
)

// Keep leases worker numbers from a space and returns a keeper, whose generator makes IDs of layout. The worker
// number may change with each window. ctx limits only the first takes. The keeper has a goroutine until Close;
// it does not close the source.
//
// If the clock stepped back further than the generator's policy allows, the generator returns
// randflake.ErrClockBackward, and continues as another worker of the same window as soon as the keeper has taken
// that number.
//
// The nodes of the space are the worker numbers, which fill the static parts that are not pinned. So make a
// space with as many nodes as these have room for; with more of them Keep returns an error that wraps
// ErrInvalidLayout:
//
//	lease.Create(ctx, engine, lease.Config{Limits: lease.Limits{Nodes: 1024}, New: true})
//
// A number that was taken is free again when its window ends: the process that took it may have crashed. So a
// window has room for all running processes and all that start in it: with 1,024 nodes and the usual window of
// 60 s, for 500 processes and 524 starts a minute. Then Keep returns lease.ErrFull, or the generator
// randflake.ErrLeaseNotStarted until the next window. With 32 or 16 nodes, make Limits.Window 10 s. If the
// options do not fit the layout, Keep returns the errors of New; its other errors are those of lease.Keep.
//
// All IDs that must differ from each other need the same space, because two spaces may grant the same worker
// number. All their keepers must also pin the same parts, to any values: with 5 bits each, worker 3 of
// datacenter 1 is number 35 if the datacenter is not pinned, and 3 if it is. Several layouts may safely share a
// space, but then they share its numbers.
func Keep(ctx context.Context, source lease.Source, layout *Layout, options ...Option) (*lease.Keeper[*Generator], error) {
	set, err := newSettings(layout, options)
	if err != nil {
		return nil, err
	}
	_, workers, err := layout.static(0, set.pins)
	if err != nil {
		return nil, err
	}
	if nodes := source.Limits().Nodes; uint64(nodes) > workers {
		return nil, fmt.Errorf("%w: %s has room for %d workers, and %s has %d nodes: make a space with %d nodes",
			ErrInvalidLayout, layout, workers, source, nodes, workers)
	}
	leasing := append(slices.Clone(set.leasing), lease.WithNodes(1))
	if set.now != nil {
		leasing = append(leasing, lease.WithClock(set.now))
	}
	return lease.KeepFor(ctx, source, func(first randflake.Lease) (*Generator, error) {
		return newGenerator(layout, first, set)
	}, leasing...)
}

// Leasing passes options such as lease.WithOutage and lease.WithLogger to the lease of Keep. They can't change
// the number of nodes or the clock. Leasing is for Keep only: New returns an error for it.
func Leasing(options ...lease.Option) Option {
	return Option{func(s *settings) error { s.leasing = append(s.leasing, options...); return nil }}
}

// Keepers of package lease hand over the leases that follow the first one.
func init() {
	door.Add(func(g *Generator) handover.Queue[randflake.Lease] { return (*leases)(g) })
}

// leases are a generator as its keeper sees it.
type leases Generator

func (l *leases) OnRefusal(f func(err error, waiting bool)) { l.refused = f }

func (l *leases) Counts() (claimed, waited uint64) { return l.claimed.Load(), l.waited.Load() }

func (l *leases) Add(lease randflake.Lease) error {
	g := (*Generator)(l)
	next, err := g.newState(lease)
	if err != nil {
		return err
	}
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load().closed {
		return errClosed
	}
	g.next.Add(next.first, next.end, next)
	return nil
}

// follow switches to the next lease if that of st, which refused with err at unit now, is of no use at present.
// nil means: try again, as another lease is in force. Otherwise it returns what callers get.
//
// New IDs begin after the last unit used, or if the clock stepped back, at its present unit.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.dropped:
		err = errLeaseEnded // whatever the clock says
	case err == errEndOfLife:
		return g.layout.ended()
	case err == errExhausted && g.load() == st:
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load() != st {
		return nil
	}
	next, ok := g.next.Take(now)
	if !ok {
		_, later := g.next.Next(now)
		if later && err == errLeaseEnded {
			return errLeaseNotStarted
		}
		return err
	}
	last, used := g.end(st)
	if !used {
		g.next.Add(st.first, st.end, &state{bounds: st.bounds, static: st.static, lease: st.lease})
	}
	next.startAt(max(next.first, last+1))
	if now+next.ahead < last { // the clock stepped back
		next.startAt(next.first)
	}
	next.cursor = newCursor(&next.bounds, &g.claimed)
	next.machine = st.machine
	next.last = last
	g.state.Store(next)
	return nil
}

// end freezes the cursor of st. It returns the newest unit used under all leases since the clock was last seen
// to step back, and whether the lease can't be used any more: it was used, or dropped.
func (g *Generator) end(st *state) (last int64, used bool) {
	if st.dropped {
		return st.last, true
	}
	next := st.cursor.freeze()
	if next == st.base {
		return st.last, false
	}
	g.claimed.Add(st.used(next) - 1)
	g.lastUsed = max(g.lastUsed, g.layout.startOf(st.cursor.lastUsed(&st.bounds, next))/1000)
	return st.newest(next), true
}

// Drop ends all leases at once. After a copy of the machine the generator then works with new ones.
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
	over := *st
	over.machine = vmgen.Now()
	over.dropped = true
	over.last, _ = g.end(st)
	g.state.Store(&over)
}

func (l *leases) Ready() error {
	g := (*Generator)(l)
	_, _, _, err := g.look()
	if err == nil && !g.line.Empty() {
		return errExhausted
	}
	return err
}

// begins returns the first unit after now at which a lease begins.
func (g *Generator) begins(now int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := g.load().first
	next, ok := g.next.Next(now)
	if ok && (due <= now || next < due) {
		due = next
	}
	return max(due, now+1)
}
