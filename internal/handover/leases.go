package handover

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/internal/vmgen"
)

// Leases are those of one generator. The life of each lease L:
//
//	pending    handed over; its time has not come, or another lease is in force
//	in force   the state has it; used once an ID was claimed
//	over       nothing can be claimed any more: its time ended, or the clock went to another lease's time
//	dropped    over before its end: the machine is a copy of another one
//
// A lease in force that was not used goes back to pending when another one comes into force, unless its
// time has ended. Times are in whatever unit the generator counts.
type Leases[L, W any] struct {
	InForce atomic.Pointer[State[L, W]]

	maker  Maker[L, W]
	errors Errors

	mu      sync.Mutex // guards pending, and is held while the state is replaced
	pending []L

	// Line has the waiting callers. Add, Drop and Close serve them.
	Line *queue.Queue

	// refused tells the keeper of each refusal, and with true each time that a caller goes on waiting.
	// It is nil without a keeper.
	refused func(err error, waiting bool)

	_      [64]byte      // keeps these counts off the cache line that each call reads
	Made   atomic.Uint64 // IDs handed out, late and not quite all
	Waited atomic.Uint64 // calls that had to wait
}

// A State is replaced as a whole when another lease comes into force. It is never changed itself.
type State[L, W any] struct {
	Machine vmgen.Generation // whose lease it is: stale in a copy of that machine
	Work    W                // what IDs are made with
	Lease   L
	Closed  bool // by Close; Work is over
	Dropped bool // by Drop; Work is over
}

// A Maker is a generator as its leases see it. Its methods are called one at a time.
type Maker[L, W any] interface {
	// Interval returns the units [first, end) of a lease.
	Interval(lease L) (first, end int64)

	// Begin returns what IDs are made with under a lease that comes into force in unit now.
	Begin(lease L, now int64) W

	// End ends all claims. It returns what is left without any ID, and whether there were claims. It is
	// called once for each result of Begin.
	End(work W) (over W, used bool)
}

// Errors are a generator's own, for what its leases refuse.
type Errors struct {
	Closed            error
	Copied            error // in a copy of its machine
	Ended, NotStarted error // without a later lease, and before one
}

// Start puts a generator's first lease in force.
func (l *Leases[L, W]) Start(m Maker[L, W], errs Errors, line *queue.Queue, first L, work W) {
	l.maker = m
	l.errors = errs
	l.Line = line
	l.InForce.Store(&State[L, W]{Machine: vmgen.Now(), Work: work, Lease: first})
}

// Add adds a lease to those that are pending.
func (l *Leases[L, W]) Add(lease L) error {
	return l.change(func(*State[L, W]) error {
		l.pending = append(l.pending, lease)
		return nil
	})
}

// Drop ends all leases at once, in a copy of the machine. The generator then works with new ones.
func (l *Leases[L, W]) Drop() {
	l.change(func(st *State[L, W]) error {
		l.pending = nil
		work, _ := l.end(st)
		l.InForce.Store(&State[L, W]{Machine: vmgen.Now(), Work: work, Lease: st.Lease, Dropped: true})
		return nil
	})
}

// Close ends all leases for good. The state keeps the last one.
func (l *Leases[L, W]) Close() error {
	return l.change(func(st *State[L, W]) error {
		l.pending = nil
		work, _ := l.end(st)
		neverStale := vmgen.Of(nil) // callers get ErrClosed in a copy of the machine, too
		l.InForce.Store(&State[L, W]{Machine: neverStale, Work: work, Lease: st.Lease, Closed: true})
		if st.Machine.Stale() {
			return l.errors.Copied
		}
		return nil
	})
}

// change calls f with the state while no other call replaces it, and then serves the waiting
// callers. If the generator is closed it does not call f, and returns the error for that.
func (l *Leases[L, W]) change(f func(st *State[L, W]) error) error {
	defer l.Line.Serve() // after Unlock: who is served may call Follow, which locks mu
	l.mu.Lock()
	defer l.mu.Unlock()
	st := l.InForce.Load()
	if st.Closed {
		return l.errors.Closed
	}
	return f(st)
}

// Follow is called when st refused with err at unit now. It returns nil if another lease is in force
// by then, so that another attempt may succeed, and otherwise the error that callers get.
func (l *Leases[L, W]) Follow(st *State[L, W], now int64, err error) error {
	if l.switchLease(st, now) {
		return nil
	}
	if err == l.errors.Ended {
		_, later := l.Next(now)
		if later {
			return l.errors.NotStarted
		}
	}
	return err
}

// switchLease puts a pending lease of unit now in force, in place of that of st, and forgets those that
// are over. If there is none it returns false and keeps all, as the clock may be wrong. It returns
// true, too, if st is no longer in force; a claim that met ended work always ends here.
//
// switchLease and Rework don't serve the line: a waiting caller may have called them, with the line
// locked. The line goes on by its timer.
func (l *Leases[L, W]) switchLease(st *State[L, W], now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.InForce.Load() != st {
		return true
	}
	i := slices.IndexFunc(l.pending, func(lease L) bool {
		first, end := l.maker.Interval(lease)
		return first <= now && now < end
	})
	if i < 0 {
		return false
	}
	next := l.pending[i]
	l.pending = slices.Delete(l.pending, i, i+1)
	_, reusable := l.end(st)
	if reusable {
		l.pending = append(l.pending, st.Lease)
	}
	l.pending = slices.DeleteFunc(l.pending, func(lease L) bool {
		_, end := l.maker.Interval(lease)
		return end <= now
	})
	l.InForce.Store(&State[L, W]{Machine: st.Machine, Work: l.maker.Begin(next, now), Lease: next})
	return true
}

// end ends all claims under a state. It reports whether the lease can be put in force again: if it
// was neither used nor dropped.
func (l *Leases[L, W]) end(st *State[L, W]) (over W, reusable bool) {
	if st.Dropped {
		return st.Work, false
	}
	over, used := l.maker.End(st.Work)
	return over, !used
}

// Next returns the first unit of the next pending lease that begins after now, if there is one.
func (l *Leases[L, W]) Next(now int64) (next int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lease := range l.pending {
		first, _ := l.maker.Interval(lease)
		if first > now && (!ok || first < next) {
			next = first
			ok = true
		}
	}
	return next, ok
}

// Rework gives st other work under its lease, unless another call has replaced st.
func (l *Leases[L, W]) Rework(st *State[L, W], work W) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.InForce.Load() == st {
		changed := *st
		changed.Work = work
		l.InForce.Store(&changed)
	}
}

// Counts returns how many IDs were handed out, and how many calls had to wait.
func (l *Leases[L, W]) Counts() (made, waited uint64) {
	return l.Made.Load(), l.Waited.Load()
}

// OnRefusal sets what Tell and TellWaiting call.
func (l *Leases[L, W]) OnRefusal(f func(err error, waiting bool)) { l.refused = f }

// Tell returns err, and tells the keeper of it unless it is nil.
func (l *Leases[L, W]) Tell(err error) error {
	if err != nil && l.refused != nil {
		l.refused(err, false)
	}
	return err
}

// TellWaiting tells the keeper why a caller goes on waiting.
func (l *Leases[L, W]) TellWaiting(err error) {
	if l.refused != nil {
		l.refused(err, true)
	}
}
