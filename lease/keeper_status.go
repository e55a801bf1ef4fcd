package lease

import (
	"context"
	"log/slog"
	"time"

	"github.com/randflake/randflake/internal/vmgen"
)

// A Status is a snapshot of a keeper.
type Status struct {
	// Healthy says that by the generator's clock the lease is in force with more than a third of the TTL left, and that
	// the generator does not need another one. It turns false while there is still time to act.
	Healthy bool

	// Held is the number of leases that the keeper holds: usually 1; 2 from the acquisition of another one until the old
	// one is released; 0 if the only one was lost, and after Close. A lease whose release failed does not count: it
	// expires by itself.
	Held int

	// Record is the newest known state of the lease under which IDs are made.
	Record Record

	// End is the end of that lease, and Left the time until then by the generator's clock, negative after it.
	End  time.Time
	Left time.Duration

	TTL       time.Duration // of leases, by WithTTL
	FormatEnd time.Time     // the first second after the end of the ID format
	Closed    bool          // whether the keeper is being closed, or was
	Watched   bool          // whether the system tells at once when this machine was copied

	// Err is the error of the last attempt to keep the lease, or nil if it succeeded. Since is the time of the first of
	// the failures in a row, by the generator's clock.
	Err   error
	Since time.Time

	// Counts since Keep.
	Acquired, AcquisitionsFailed uint64 // leases, including the first
	Renewed, RenewalsFailed      uint64 // renewals
	Lost                         uint64 // leases that the store gave up or gave to another owner
	Frozen                       uint64 // lost leases that were not used to their end, because another owner may have used the same seconds
	Copies                       uint64 // times that this machine turned out to be a copy of another one, with the leases of the original
	Replaced                     uint64 // times that the generator switched to another lease
	Released, ReleasesFailed     uint64 // leases; after a failure the nodes are free when the lease expires
	Issued                       uint64 // IDs made, see randflake.Generator.Issued
	Refusals                     uint64 // calls that returned an error for want of an ID, unless their context was canceled
	Exhausted                    uint64 // refusals with randflake.ErrExhausted: too few nodes
	Waits                        uint64 // calls that had to wait for an ID, whatever came of it
}

// Status returns a snapshot. It never waits for the store.
func (k *Keeper[G]) Status() Status {
	k.mu.Lock()
	s, closing, refusing := k.status, k.closing, k.closing || k.reported == stopped
	k.mu.Unlock()
	now, lease := k.settings.now(), k.generator.Lease()
	s.End, s.Left, s.TTL, s.Closed = lease.End, lease.End.Sub(now), k.settings.ttl, closing
	until, _ := untilSecond(k.settings.until)
	s.FormatEnd = time.Unix(until, 0).UTC()
	s.Healthy = !refusing && !now.Before(lease.Start) && s.Left > k.settings.ttl/3 &&
		reason(k.reason.Load()) != backward
	s.Watched = vmgen.Now().Watched()
	s.Issued = k.generator.Issued()
	s.Exhausted = k.exhausted.Load() // first, as refused adds to it last: it is a part of the refusals
	s.Refusals = k.refusals.Load()
	if g, ok := any(k.generator).(interface{ Waited() uint64 }); ok {
		s.Waits = g.Waited()
	}
	return s
}

// count changes the counters.
func (k *Keeper[G]) count(change func(*Status)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.status)
}

// A condition is a state of the keeper whose changes are logged.
type condition uint8

const (
	unknown condition = iota
	good
	failing // IDs are made, but the lease is not renewed
	ending  // IDs are made, but the lease can't be renewed any more
	stopped // no ID is made
)

// condition returns the condition after an attempt to deal with why.
func (k *Keeper[G]) condition(why reason, err error) condition {
	now, lease := k.settings.now(), k.generator.Lease()
	switch {
	case !now.Before(lease.End) || k.kept.over:
		return stopped
	case err != nil && (why == backward || now.Before(lease.Start)):
		return stopped
	case k.kept.lost:
		return ending
	case err != nil:
		return failing
	}
	return good
}

// report publishes the condition after an attempt, and logs it if it has changed.
func (k *Keeper[G]) report(why reason, err error) {
	now := k.condition(why, err)
	k.mu.Lock()
	before, sameLease := k.reported, k.status.Record.Owner == k.kept.held.Owner
	k.reported, k.status.Record = now, k.kept.held
	if err == nil {
		k.status.Since = time.Time{}
	} else if k.status.Err == nil {
		k.status.Since = k.settings.now().UTC()
	}
	k.status.Err = err
	k.mu.Unlock()
	if now != before || !sameLease {
		k.log(before, now, sameLease, err)
	}
}

// log writes the line about a change.
func (k *Keeper[G]) log(before, now condition, sameLease bool, err error) {
	switch {
	case now == stopped:
		k.write(slog.LevelError, "no ID can be made until there is a lease for the present", err)
	case now == ending:
		k.write(slog.LevelWarn, "lease is lost: IDs go on until its end, or another lease", err)
	case now == failing:
		k.write(slog.LevelWarn, "lease is not renewed: IDs go on until its end", err)
	case before == unknown:
		k.write(slog.LevelInfo, "lease acquired", err)
	case sameLease:
		k.write(slog.LevelInfo, "lease is kept again", err)
	default:
		k.write(slog.LevelInfo, "lease replaced", err)
	}
}

// reportClosed publishes and logs the result of closing.
func (k *Keeper[G]) reportClosed() {
	k.mu.Lock()
	k.closing = true
	k.status.Record, k.status.Err, k.status.Since = k.kept.held, k.closeErr, time.Time{}
	if k.closeErr != nil {
		k.status.Since = k.settings.now().UTC()
	}
	k.mu.Unlock()
	if k.closeErr != nil {
		k.write(slog.LevelWarn, "closed, but lease not given back: it runs out by itself", k.closeErr)
		return
	}
	k.write(slog.LevelInfo, "closed, lease given back", nil)
}

func (k *Keeper[G]) write(level slog.Level, message string, err error) {
	lease := k.generator.Lease()
	attrs := []slog.Attr{
		slog.Int64("firstNode", int64(lease.FirstNode)),
		slog.Int64("lastNode", int64(lease.LastNode)),
		slog.Time("start", lease.Start),
		slog.Time("end", lease.End),
		slog.String("label", k.settings.label),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	k.settings.logger.LogAttrs(context.Background(), level, "randflake: "+message, attrs...)
}
