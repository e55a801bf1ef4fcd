package randflake

import (
	"context"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// Wait is Generate, but waits where waiting helps: for the next second after ErrExhausted, for the
// clock to catch up after ErrClockBackward and for the lease's start after ErrLeaseNotStarted. It
// returns the other errors at once. If ctx ends first, the error wraps both the cause of that and
// the reason for the wait. Close wakes waiting callers, and so does package lease with another
// lease.
//
// Callers waiting in Wait and FillWait are served in order. Generate and Fill do not queue, and may
// take IDs that a waiting caller would have got.
func (g *Generator) Wait(ctx context.Context) (ID, error) {
	st := g.load()
	if g.leases.Line.Empty() {
		// Generate's lines once more: with a call instead, Wait takes twice the time.
		s := st.Work.quick.pin()
		if s != nil {
			if s.claimedAt == coarse.Seconds.Published() && !st.Machine.Stale() {
				i := s.idsLeft - 1
				if i < batchSize {
					s.idsLeft = i
					id := s.ids[i]
					st.Work.quick.unpin(s)
					return ID(id), nil
				}
			}
		}
		st.Work.quick.unpin(s)
		id, err := g.generate()
		if g.pause(err) == 0 {
			return id, g.leases.Tell(err)
		}
	}
	var id [1]ID
	_, err := g.FillWait(ctx, id[:])
	if err != nil {
		return 0, err
	}
	return id[0], nil
}

// FillWait is Fill, but waits as Wait does until dst is full; later callers wait until then. If err
// is not nil, the first n IDs are good all the same.
func (g *Generator) FillWait(ctx context.Context, dst []ID) (n int, err error) {
	machine := g.load().Machine
	if g.leases.Line.Empty() {
		n, err = g.fill(dst)
		if g.pause(err) == 0 {
			return n, g.leases.Tell(err)
		}
	}
	m, err := g.fillInLine(ctx, dst[n:])
	canceled := ctx.Err() == context.Canceled
	switch {
	case machine.Stale(): // as in fill, once more: another goroutine may have served this caller
		return 0, g.leases.Tell(errCopied)
	case canceled: // by the caller, who gave up
		return n + m, err
	}
	return n + m, g.leases.Tell(err)
}

// fillInLine is FillWait for a caller that has to queue. It does not report its refusal.
func (g *Generator) fillInLine(ctx context.Context, dst []ID) (n int, err error) {
	g.leases.Waited.Add(1)
	err = g.leases.Line.Wait(ctx, func() (pause time.Duration, err error) {
		made, err := g.fill(dst[n:])
		n += made
		pause = g.pause(err)
		if pause > 0 {
			g.leases.TellWaiting(err)
		}
		return pause, err
	})
	return n, err
}

// pause returns how long to wait before it helps to try again after err, or 0 when it does not. A
// second begins with new IDs, and leases start with a second.
func (g *Generator) pause(err error) time.Duration {
	switch err {
	case ErrExhausted, ErrClockBackward, ErrLeaseNotStarted:
		return coarse.UntilNext(g.clock.Time(), time.Second)
	}
	return 0
}
