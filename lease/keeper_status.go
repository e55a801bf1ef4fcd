package lease

import (
	"context"
	"log/slog"
	"time"
)

// A Status is a snapshot of how a lease fares.
type Status struct {
	// Healthy says that the lease is in force by the generator's clock, that more than a third of the TTL is left of
	// it, and that the generator does not wait for another one. It turns false while there is still time to do
	// something.
	Healthy bool

	// Held is how many leases the keeper holds: 1, or 2 while it has another one and has not given the old one back
	// yet, or 0 when the store gave its only one up or gave it to another owner, and after Close. One that could not be
	// given back is not held any more: it runs out.
	Held int

	// Record is the newest known state of the lease under which IDs are made.
	Record Record

	// Left is how much is left of that lease by the generator's clock, negative after its end.
	Left time.Duration

	// Err is why the last attempt to keep the lease failed, and Since when the first one did after one that went well,
	// by the generator's clock. When the last one went well, or there was none, Err is nil.
	Err   error
	Since time.Time

	// Counts since Keep.
	Acquired, AcquisitionsFailed uint64 // leases; the first one counts
	Renewed, RenewalsFailed      uint64 // renewals
	Lost                         uint64 // leases that the store gave up or gave to another owner
	Frozen                       uint64 // lost leases that were not used to their end, as another owner may have used the same seconds
	Replaced                     uint64 // times that the generator went on with another lease
	Released, ReleasesFailed     uint64 // leases given back; a failure costs nothing but time
	Issued                       uint64 // IDs made, as randflake.Generator.Issued has them
	Refusals                     uint64 // times that the generator had no ID to give, tries of waiting callers included
	Exhausted                    uint64 // those of them for want of nodes: randflake.ErrExhausted
}

// Status returns a snapshot. It never waits for the store.
func (k *Keeper[G]) Status() Status {
	k.mu.Lock()
	s, refusing := k.status, k.closing || k.reported == stopped
	k.mu.Unlock()
	now, lease := k.settings.now(), k.generator.Lease()
	s.Left = lease.End.Sub(now)
	s.Healthy = !refusing && !now.Before(lease.Start) && s.Left > k.settings.ttl/3 &&
		reason(k.reason.Load()) != backward
	s.Issued = k.generator.Issued()
	s.Exhausted = k.exhausted.Load() // first, as refused adds to it last: it is a part of the refusals
	s.Refusals = k.refusals.Load()
	return s
}

// count changes the counters.
func (k *Keeper[G]) count(change func(*Status)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.status)
}

// A condition is how things stand, as far as it is worth a line in the log.
type condition uint8

const (
	unknown condition = iota
	good
	failing // IDs are made, but the lease is not renewed
	ending  // IDs are made, but the lease can't be renewed any more
	stopped // no ID is made
)

// condition says how things stand after an act that was to help against why.
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

// report publishes how things stand after an act, and logs it if that has changed.
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

// reportClosed publishes and logs what finishing came to.
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
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	k.settings.logger.LogAttrs(context.Background(), level, "randflake: "+message, attrs...)
}
