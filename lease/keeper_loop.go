package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/internal/vmgen"
)

// kept is what the background goroutine knows about its leases.
type kept struct {
	heldLease      // under which IDs are made
	lost      bool // another process may hold its nodes after its end,
	over      bool // or even before that, so that the generator is frozen

	next  *Record // another lease, granted and not yet in use
	owner Token   // of an acquisition with an unknown outcome
}

// A heldLease is the newest known state of a lease.
type heldLease struct {
	held Record

	// renewal is the token of a renewal of just that state which has an unknown outcome, and may yet arrive. All
	// attempts at it carry the same token: one of them at most takes effect, and it does not matter which.
	renewal Token
}

// clockTolerance is how far behind the newest ID the clock may be before the generator refuses.
const clockTolerance = 10 * time.Second

// run keeps the lease until ctx ends, or until the generator is closed by other code.
func (k *Keeper[G]) run(ctx context.Context) {
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
			k.pace.acted(err == nil && why == none, k.generator.Lease().End.Sub(k.settings.now()))
			k.report(why, err)
		}
	}
	k.finish()
}

// trouble returns why the generator refuses at present, if it does. A refusal that was noted may be long past when the
// pause after the last act is over, so the generator is asked.
func (k *Keeper[G]) trouble() (reason, error) {
	noted := reason(k.reason.Swap(uint32(none)))
	if noted == none && k.reported != stopped {
		return none, nil
	}
	err := k.generator.Ready()
	if errors.Is(err, randflake.ErrClosed) {
		return none, err
	}
	return reasonOf(err), nil
}

// act does what is due, and what helps against why.
func (k *Keeper[G]) act(ctx context.Context, why reason) error {
	k.dropCopied()
	t := &k.kept
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
func (k *Keeper[G]) renew(ctx context.Context) error {
	err := k.tryRenew(ctx)
	switch {
	case errors.Is(err, ErrLost):
		k.lose(err)
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
	if end, now := k.generator.Lease().End, k.settings.now(); !now.Before(end) {
		return fmt.Errorf("lease: renewed up to %s, but the clock says %s: is it wrong, or the store's?",
			end.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// lose notes that the lease is lost. It may be used to its end only if every later grant starts after it: another process
// that holds the same lease, as a copy of this one does, or its successor, may use the same seconds. Then the generator makes
// no ID until it has another lease.
func (k *Keeper[G]) lose(err error) {
	k.kept.lost, k.kept.renewal = true, Token{}
	k.count(func(s *Status) { s.Lost++; s.Held-- })
	var lost *LostError
	if !errors.As(err, &lost) || !lost.Spares(k.generator.Lease().End.Unix()-1) {
		k.kept.over = true
		k.generator.Freeze()
		k.count(func(s *Status) { s.Frozen++ })
		k.write(slog.LevelError, "lease was taken by a copy of this process, or revoked: a copy may have made the same IDs", err)
	}
}

// dropCopied drops all leases if the machine was copied: the original goes on with them. See move for a copy that comes later.
func (k *Keeper[G]) dropCopied() {
	if !k.mark.Stale() {
		return
	}
	k.mark = vmgen.Now()
	k.kept = kept{heldLease: heldLease{held: k.kept.held}, lost: true, over: true}
	k.generator.Freeze()
	k.count(func(s *Status) { s.Copies++; s.Held = 0 })
	k.write(slog.LevelWarn, "this machine is a copy of another one: its lease is left to the original, and another one taken", nil)
}

// tryRenew calls the store until it knows where it stands. A renewal whose reply was lost, or that arrives late, makes
// the next one fail with ErrLost though the lease is still ours; then Lookup tells.
func (k *Keeper[G]) tryRenew(ctx context.Context) error {
	t := &k.kept
	again := t.renewal != Token{}
	if again {
		if _, err := k.lookUp(ctx, &t.heldLease); err != nil {
			return err
		}
	}
	if t.renewal == (Token{}) {
		t.renewal, again = NewToken(k.settings.now()), false
	}
	err := k.renewOnce(ctx)
	if !again || !errors.Is(err, ErrLost) {
		return err
	}
	if found, lookupErr := k.lookUp(ctx, &t.heldLease); !found {
		return cmp.Or(lookupErr, err)
	}
	t.renewal = NewToken(k.settings.now())
	return k.renewOnce(ctx)
}

func (k *Keeper[G]) renewOnce(ctx context.Context) error {
	t := &k.kept
	return k.call(ctx, func(ctx context.Context) error {
		rec, err := k.store.Renew(ctx, t.held, Renewal{TTL: k.settings.ttl, Until: k.settings.until, Token: t.renewal, Keys: k.settings.keys})
		if err == nil {
			t.held, t.renewal = rec, Token{}
		}
		return err
	})
}

// lookUp reads a record back after a renewal of unknown outcome, and makes it the known state if that renewal changed it.
func (k *Keeper[G]) lookUp(ctx context.Context, l *heldLease) (found bool, err error) {
	err = k.call(ctx, func(ctx context.Context) error {
		rec, err := k.store.Lookup(ctx, l.held)
		if err == nil && rec.Change == l.renewal {
			*l, found = heldLease{held: rec}, true
		}
		if errors.Is(err, ErrLost) {
			return nil // the renewal said so, and why
		}
		return err
	})
	return found, err
}

// extend lets the generator go on to the end of the known state. It may have been told of a later end before, and that
// stays good.
func (k *Keeper[G]) extend() error {
	end := k.kept.held.Lease().End
	if !end.After(k.generator.Lease().End) {
		return nil
	}
	return k.generator.Extend(end)
}

// change acquires another lease and moves onto it as soon as that is right.
func (k *Keeper[G]) change(ctx context.Context, why reason) error {
	rec, err := k.acquire(ctx)
	switch {
	case closing(ctx, err):
		return err
	case err != nil:
		k.count(func(s *Status) { s.AcquisitionsFailed++ })
		return fmt.Errorf("lease: acquire: %w", err)
	}
	k.count(func(s *Status) { s.Acquired++; s.Held++ })
	if err := k.check(rec, why); err != nil {
		k.giveBackUnused(ctx, rec)
		return err
	}
	k.kept.next = &rec
	if why == none && k.untilMove() > 0 {
		k.scheduleMove()
		return nil
	}
	return k.move(ctx)
}

// acquire asks for another lease. After an unknown outcome it asks for the same one again, for a while.
func (k *Keeper[G]) acquire(ctx context.Context) (rec Record, err error) {
	t := &k.kept
	before := t.owner
	t.owner = protocol.Again(t.owner, k.settings.now())
	err = k.call(ctx, func(ctx context.Context) error {
		rec, err = k.store.Acquire(ctx, k.settings.request(t.owner, t.owner == before))
		return err
	})
	if err == nil || errors.Is(err, ErrInvalidRequest) {
		t.owner = Token{}
	}
	return rec, err
}

// check returns an error when rec is of no more use against why than the lease that is held. A lease in place of a lost
// one is always of use.
func (k *Keeper[G]) check(rec Record, why reason) error {
	start, now := rec.Lease().Start, k.settings.now()
	switch {
	case k.kept.lost:
		return nil
	case why == notStarted && start.Before(k.kept.held.Lease().Start):
		return nil
	case why == backward && start.Sub(now) <= clockTolerance:
		return nil
	}
	return fmt.Errorf("lease: no lease starts before %s, but the clock says %s: is it wrong, or the store's, or did the store lose data?",
		start.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// startsLate reports whether rec starts so far ahead that there may well be a better lease.
func (k *Keeper[G]) startsLate(rec Record) bool {
	return rec.Lease().Start.Sub(k.settings.now()) > k.settings.ttl
}

// untilMove returns how long it is until the next lease serves better than the one that is held: until it starts or the
// other ends.
func (k *Keeper[G]) untilMove() time.Duration {
	now := k.settings.now()
	return min(k.kept.next.Lease().Start.Sub(now), k.generator.Lease().End.Sub(now))
}

// scheduleMove makes the move due in time, or an early look where the clock may be wrong.
func (k *Keeper[G]) scheduleMove() {
	k.pace.dueIn(max(min(k.untilMove(), k.settings.ttl/3), time.Millisecond), 0)
}

// scheduleRenewal makes the next renewal due at a third of the TTL, unless the lease reaches the end of what IDs can
// hold.
func (k *Keeper[G]) scheduleRenewal() {
	if until, _ := untilSecond(k.settings.until); k.kept.held.HighWater+1 >= until {
		k.pace.due = time.Time{}
		return
	}
	k.pace.dueIn(k.settings.ttl/3, 0.1)
}

// move makes the generator go on with the next lease, and gives the old one back.
func (k *Keeper[G]) move(ctx context.Context) error {
	t := &k.kept
	if k.mark.Stale() { // perhaps since before Freeze, from which on the generator does not notice
		return errors.New("lease: this machine was copied meanwhile")
	}
	lastUsed, err := k.generator.Replace(t.next.Lease())
	if errors.Is(err, randflake.ErrClosed) {
		return err // finish gives both leases back
	}
	if err != nil {
		k.giveBackUnused(ctx, *t.next)
		t.next = nil
		return fmt.Errorf("lease: replace: %w", err)
	}
	old, lost := t.heldLease, t.lost
	*t = kept{heldLease: heldLease{held: *t.next}}
	k.count(func(s *Status) { s.Replaced++ })
	k.scheduleRenewal()
	if !lost {
		k.giveBack(ctx, old, lastUsed) // if that fails it runs out by itself
	}
	return nil
}

// finish gives back what is held, once the generator is closed.
func (k *Keeper[G]) finish() {
	lastUsed, _ := k.generator.Close()
	ctx, cancel := context.WithTimeout(context.Background(), k.callLimit)
	defer cancel()
	t := &k.kept
	if t.next != nil {
		k.closeErr = k.giveBackUnused(ctx, *t.next)
	}
	if !t.lost {
		k.closeErr = errors.Join(k.giveBack(ctx, t.heldLease, lastUsed), k.closeErr)
	}
	k.reportClosed()
}

// giveBackUnused releases a lease under which no ID was made.
func (k *Keeper[G]) giveBackUnused(ctx context.Context, r Record) error {
	return k.giveBack(ctx, heldLease{held: r}, time.Unix(r.Start-1, 0).UTC())
}

// giveBack releases a lease that no generator uses any more, or finds that there is nothing to release. It tries once more
// if a renewal that was under way may have changed the record, or the first attempt may have taken effect.
func (k *Keeper[G]) giveBack(ctx context.Context, l heldLease, lastUsed time.Time) (err error) {
	defer k.count(func(s *Status) { s.Held-- })
	if k.mark.Stale() {
		return errors.New("lease: not released: this machine is a copy of another one, which may use the lease")
	}
	for range 2 {
		err = k.call(ctx, func(ctx context.Context) error {
			return k.store.Release(ctx, l.held, lastUsed)
		})
		if err == nil {
			k.count(func(s *Status) { s.Released++ })
			return nil
		}
		if errors.Is(err, ErrLost) {
			if l.renewal == (Token{}) {
				return nil // released with the reply lost, or taken over
			}
			if renewed, _ := k.lookUp(ctx, &l); !renewed {
				return nil
			}
		}
	}
	k.count(func(s *Status) { s.ReleasesFailed++ })
	return fmt.Errorf("lease: release: %w", err)
}

// closing reports whether err means nothing but that the keeper is being closed.
func closing(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, randflake.ErrClosed))
}

// call calls the store, for a limited time.
func (k *Keeper[G]) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.callLimit)
	defer cancel()
	return f(ctx)
}
