package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// A tenure is what the background goroutine knows about its leases.
type tenure struct {
	held    Record // the newest known state of the record under which IDs are made
	pending bool   // a renewal of just that state has an unknown outcome, and may yet arrive
	doubt   int64  // the newest end, in Unix seconds, that a renewal has which may be a copy's; see lookUp
	lost    bool   // somebody else may hold held's nodes after its end

	next *Record // another lease, granted and not yet in use
}

// clockTolerance is how far behind the newest ID the clock may be before the generator refuses.
const clockTolerance = 10 * time.Second

// run keeps the lease until ctx ends, or until somebody closes the generator under it.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for k.pace.wait(ctx, k.wake) {
		why, err := k.trouble()
		if err == nil {
			err = k.act(ctx, why)
		}
		if errors.Is(err, randflake.ErrClosed) {
			break
		}
		if ctx.Err() == nil {
			k.pace.acted(err == nil && why == none)
			k.report(why, err)
		}
	}
	k.finish()
}

// trouble returns why the holder refuses at present, if it does. A refusal that was noted may
// be long past when the pause after the last act is over, so it is tried with an ID that nobody
// gets, and that does not count.
func (k *Keeper) trouble() (reason, error) {
	noted := reason(k.reason.Swap(uint32(none)))
	if noted == none && k.reported != stopped {
		return none, nil
	}
	err := k.holder.Try()
	if err == nil {
		return none, nil
	}
	k.refusals.Add(^uint64(0))
	switch {
	case errors.Is(err, randflake.ErrExhausted):
		k.exhausted.Add(^uint64(0))
	case errors.Is(err, randflake.ErrClosed):
		return none, err
	}
	return reason(k.reason.Swap(uint32(none))), nil
}

// act does what is due, and what helps against why.
func (k *Keeper) act(ctx context.Context, why reason) error {
	t := &k.tenure
	if t.next != nil {
		if why == none && k.untilMove() > 0 {
			k.scheduleMove()
			return nil
		}
		return k.move(ctx)
	}
	if !t.lost && (k.pace.isDue() || why == ended) {
		if err := k.renew(ctx); err != nil {
			return err
		}
	}
	if t.lost || why == backward || why == notStarted && k.startsLate(t.held) {
		return k.change(ctx, why)
	}
	return nil
}

// renew raises the end of the lease, or finds that it is lost.
func (k *Keeper) renew(ctx context.Context) error {
	err := k.tryRenew(ctx)
	switch {
	case errors.Is(err, ErrLost):
		k.tenure.lost = true
		k.count(func(s *Status) { s.Lost++; s.Held-- })
		return nil
	case closing(ctx, err):
		return err
	case err != nil:
		k.count(func(s *Status) { s.RenewalsFailed++ })
		return errors.Join(fmt.Errorf("lease: renew: %w", err), k.extend()) // to what was read back
	}
	k.count(func(s *Status) { s.Renewed++ })
	k.scheduleRenewal()
	if err := k.extend(); err != nil {
		return err
	}
	if end, now := k.holder.Lease().End, k.settings.now(); !now.Before(end) {
		return fmt.Errorf("lease: renewed up to %s, but the clock says %s: is it wrong, or the store's?",
			end.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// tryRenew calls the store until it knows where it stands. A renewal whose reply was lost, or that
// arrives late, makes the next one fail with ErrLost though the lease is still ours; then Lookup tells.
func (k *Keeper) tryRenew(ctx context.Context) error {
	t := &k.tenure
	if t.pending {
		if err := k.lookUp(ctx); err != nil {
			return err
		}
	}
	err := k.renewOnce(ctx)
	if !t.pending || !errors.Is(err, ErrLost) {
		return err
	}
	if err := k.lookUp(ctx); err != nil {
		return err
	}
	if t.pending {
		return err // the store refuses the very state that it has
	}
	return k.renewOnce(ctx)
}

func (k *Keeper) renewOnce(ctx context.Context) error {
	t := &k.tenure
	return k.call(ctx, func(ctx context.Context) error {
		rec, err := k.store.Renew(ctx, t.held, k.settings.ttl)
		switch {
		case err == nil:
			t.held, t.pending = rec, false
		case !errors.Is(err, ErrLost):
			t.pending = true
		}
		return err
	})
}

// lookUp reads the record back while a renewal is pending, and makes it the known state. Only that
// renewal can have changed the record behind its holder's back, and only once. Where more has changed, a
// copy of this process, as of a virtual machine that was cloned, holds the lease too, and took it:
// ErrLost. What changed once may be the copy's doing as well; then the next renewal parts the two.
func (k *Keeper) lookUp(ctx context.Context) error {
	t := &k.tenure
	return k.call(ctx, func(ctx context.Context) error {
		rec, err := k.store.Lookup(ctx, t.held)
		if err != nil {
			return err
		}
		switch rec.Version {
		case t.held.Version:
		case t.held.Version + 1:
			t.pending, t.doubt = false, rec.HighWater
		default:
			return fmt.Errorf("%w: another process renewed it: is this one a copy?", lost(t.held))
		}
		t.held = rec
		return nil
	})
}

// extend lets the generator go on to the end of the known state. It may have been told of a later
// end before, and that stays good.
func (k *Keeper) extend() error {
	end := k.tenure.held.Lease().End
	if !end.After(k.holder.Lease().End) {
		return nil
	}
	return k.holder.Extend(end)
}

// change acquires another lease and moves onto it as soon as that is right.
func (k *Keeper) change(ctx context.Context, why reason) error {
	var rec Record
	err := k.call(ctx, func(ctx context.Context) (err error) {
		rec, err = k.store.Acquire(ctx, k.settings.request())
		return err
	})
	switch {
	case closing(ctx, err):
		return err
	case err != nil:
		k.count(func(s *Status) { s.AcquisitionsFailed++ })
		return fmt.Errorf("lease: acquire: %w", err)
	}
	k.count(func(s *Status) { s.Acquired++; s.Held++ })
	if err := k.check(rec, why); err != nil {
		k.giveBack(ctx, unused(rec))
		return err
	}
	k.tenure.next = &rec
	if why == none && k.untilMove() > 0 {
		k.scheduleMove()
		return nil
	}
	return k.move(ctx)
}

// check returns an error when rec is of no more use against why than the lease that is held. A
// lease in place of a lost one is always of use.
func (k *Keeper) check(rec Record, why reason) error {
	start, now := rec.Lease().Start, k.settings.now()
	switch {
	case k.tenure.lost:
		return nil
	case why == notStarted && start.Before(k.tenure.held.Lease().Start):
		return nil
	case why == backward && start.Sub(now) <= clockTolerance:
		return nil
	}
	return fmt.Errorf("lease: no lease starts before %s, but the clock says %s: is it wrong, or the store's, or did the store lose data?",
		start.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// startsLate reports whether rec starts so far ahead that there may well be a better lease.
func (k *Keeper) startsLate(rec Record) bool {
	return rec.Lease().Start.Sub(k.settings.now()) > k.settings.ttl
}

// untilMove returns how long it is until the next lease serves better than the one that is held:
// until it starts or the other ends.
func (k *Keeper) untilMove() time.Duration {
	now := k.settings.now()
	return min(k.tenure.next.Lease().Start.Sub(now), k.holder.Lease().End.Sub(now))
}

// scheduleMove makes the move due in time, or an early look where the clock may be wrong.
func (k *Keeper) scheduleMove() {
	k.pace.dueIn(max(min(k.untilMove(), k.settings.ttl/3), time.Millisecond), 0)
}

// scheduleRenewal makes the next renewal due at a third of the TTL, unless the lease reaches the
// end of what IDs can hold.
func (k *Keeper) scheduleRenewal() {
	if k.tenure.held.HighWater >= randflake.MaxTimestamp {
		k.pace.due = time.Time{}
		return
	}
	k.pace.dueIn(k.settings.ttl/3, 0.1)
}

// move makes the generator go on with the next lease, and gives the old one back.
func (k *Keeper) move(ctx context.Context) error {
	t := &k.tenure
	lastUsed, err := k.holder.Replace(t.next.Lease())
	if errors.Is(err, randflake.ErrClosed) {
		return err // finish gives both leases back
	}
	if err != nil {
		k.giveBack(ctx, unused(*t.next))
		t.next = nil
		return fmt.Errorf("lease: replace: %w", err)
	}
	old, lost := t.claim(lastUsed), t.lost
	*t = tenure{held: *t.next}
	k.count(func(s *Status) { s.Replaced++ })
	k.scheduleRenewal()
	if !lost {
		k.giveBack(ctx, old) // if that fails it runs out by itself
	}
	return nil
}

// finish gives back what is held, once the generator is closed.
func (k *Keeper) finish() {
	lastUsed, _ := k.holder.Close()
	ctx, cancel := context.WithTimeout(context.Background(), k.callLimit)
	defer cancel()
	t := &k.tenure
	if t.next != nil {
		k.closeErr = k.giveBack(ctx, unused(*t.next))
	}
	if !t.lost {
		k.closeErr = errors.Join(k.giveBack(ctx, t.claim(lastUsed)), k.closeErr)
	}
	k.reportClosed()
}

// A claim is a lease that no generator uses any more.
type claim struct {
	record   Record
	pending  bool // as in tenure
	lastUsed time.Time
}

// claim returns the claim to the lease that is held. It leaves alone what a copy of this process may
// have been granted.
func (t *tenure) claim(lastUsed time.Time) claim {
	return claim{t.held, t.pending, time.Unix(max(lastUsed.Unix(), t.doubt), 0).UTC()}
}

// unused is the claim to a lease under which no ID was made.
func unused(r Record) claim { return claim{r, false, time.Unix(r.Start-1, 0).UTC()} }

// giveBack releases a lease, or finds that there is nothing to release any more. It tries twice: if the
// first attempt took effect, the second finds that out. Where a renewal is pending and the record has
// changed, a copy of this process may have renewed it and make IDs, so it is left to run out.
func (k *Keeper) giveBack(ctx context.Context, c claim) (err error) {
	defer k.count(func(s *Status) { s.Held-- })
	for range 2 {
		err = k.call(ctx, func(ctx context.Context) error {
			return k.store.Release(ctx, c.record, c.lastUsed)
		})
		if err == nil {
			k.count(func(s *Status) { s.Released++ })
			return nil
		}
		if errors.Is(err, ErrLost) {
			break
		}
	}
	if errors.Is(err, ErrLost) && !c.pending {
		return nil // released with the reply lost, or taken over
	}
	k.count(func(s *Status) { s.ReleasesFailed++ })
	return fmt.Errorf("lease: release: %w", err)
}

// closing reports whether err means nothing but that the keeper is being closed.
func closing(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, randflake.ErrClosed))
}

// call calls the store, for a limited time.
func (k *Keeper) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.callLimit)
	defer cancel()
	return f(ctx)
}
