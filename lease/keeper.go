package lease

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/store"
)

// A Keeper keeps the lease of a generator. It renews the lease in the background, rides out outages of the store, and
// takes another lease when this one is lost or of no more use, so that its generator refuses only when no ID can be
// proven unique. It is safe for concurrent use.
type Keeper[G Generator] struct {
	store     Source
	settings  settings
	generator G
	callLimit time.Duration // how long one call of the store may take, and all that Close does

	// Written by refused, in the goroutines that make IDs.
	refusals  atomic.Uint64
	exhausted atomic.Uint64
	reason    atomic.Uint32 // the newest refusal that nothing was done about, a reason
	wake      chan struct{} // of capacity 1: a reason was noted

	mark vmgen.Mark // older than the leases; the background goroutine's alone
	kept kept       // the background goroutine's alone
	pace pace       // the background goroutine's alone

	close    func() error  // shutdown, once
	stop     func()        // tells the background goroutine to finish
	done     chan struct{} // closed when it has
	closeErr error         // what finishing came to, once done is closed

	mu       sync.Mutex
	status   Status    // all but what Status computes
	reported condition // how things stood after the last act
	closing  bool
}

// Keep acquires a lease from leases, starts to keep it and returns its keeper, whose generator makes IDs with secret.
// All generators with one secret must have their leases from one store.
//
// ctx limits the acquisition only. Keep returns ErrInvalidRequest if an option is out of range or the store does not grant
// such a TTL, randflake.ErrInvalidSecret if the secret is unset, and the errors of [Source.Acquire]. The keeper has a
// goroutine, and the lease, until Close. It does not close the store.
//
// After a loss of data the store grants nothing at first, so Keep returns ErrNoRange. Then it grants leases that start
// later; until then the generator returns randflake.ErrLeaseNotStarted.
func Keep(ctx context.Context, leases Source, secret randflake.Secret, options ...Option) (*Keeper[*randflake.Generator], error) {
	settings, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	if secret.IsZero() {
		return nil, fmt.Errorf("lease: keep: %w: it is not set", randflake.ErrInvalidSecret)
	}
	settings.keys = store.KeysOf(secret)
	return keep(ctx, leases, settings, func(lease randflake.Lease, onRefusal func(error, bool)) (*randflake.Generator, error) {
		options := append(slices.Clone(settings.generating), randflake.OnRefusal(onRefusal))
		if settings.clock != nil {
			options = append(options, randflake.WithClock(settings.clock))
		}
		return randflake.New(secret, lease, options...)
	})
}

// KeepFor is Keep for other kinds of generators. It calls begin once, with the first lease, and keeps the lease of the
// generator that begin returns; closing the keeper closes the generator. If begin fails, KeepFor releases the lease and
// returns an error that wraps that of begin. If begin is nil or returns a zero generator without an error, the error wraps
// ErrInvalidRequest.
//
// Each time that the generator can't make an ID it must call onRefusal with the error, in any goroutine, and say whether
// the caller goes on waiting for it. The keeper acts on errors that wrap randflake.ErrLeaseNotStarted, ErrLeaseEnded or
// ErrClockBackward, and counts those that a caller gets. onRefusal returns at once and is safe for concurrent use. If the
// generator has a method Waited() uint64, as those of this project have, it is Status.Waits.
//
// All generators that could make the same IDs must have their leases from one store. The generator must use the clock of
// WithClock, and its format must not end before the time of WithUntil.
func KeepFor[G Generator](ctx context.Context, leases Source, begin func(lease randflake.Lease, onRefusal func(err error, waiting bool)) (G, error), options ...Option) (*Keeper[G], error) {
	settings, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	if begin == nil {
		return nil, fmt.Errorf("%w: begin is nil", ErrInvalidRequest)
	}
	return keep(ctx, leases, settings, begin)
}

var listen = vmgen.Listen // for tests

func keep[G Generator](ctx context.Context, leases Source, settings settings, begin func(randflake.Lease, func(error, bool)) (G, error)) (*Keeper[G], error) {
	if leases == nil {
		return nil, fmt.Errorf("%w: store is nil", ErrInvalidRequest)
	}
	k := &Keeper[G]{
		store:     leases,
		settings:  settings,
		callLimit: min(max(settings.ttl/6, time.Second), 10*time.Second),
		wake:      make(chan struct{}, 1),
		done:      make(chan struct{}),
	}
	k.close = sync.OnceValue(k.shutdown)
	settings.monitor.ttl.Store(int64(settings.ttl / time.Second))
	unlisten := listen() // before there is a lease
	if err := k.begin(ctx, begin); err != nil {
		unlisten()
		return nil, err
	}
	status := k.Status
	settings.monitor.keeper.Store(&status)
	background, stop := context.WithCancel(context.Background())
	k.stop = stop
	go func() {
		defer unlisten()
		k.run(background)
	}()
	return k, nil
}

// begin acquires the first lease and makes the generator.
func (k *Keeper[G]) begin(ctx context.Context, begin func(randflake.Lease, func(error, bool)) (G, error)) error {
	k.mark = vmgen.Now()
	held, err := k.store.Acquire(ctx, k.settings.request(NewToken(k.settings.now()), false))
	if err != nil {
		k.settings.monitor.failed.Add(1)
		return fmt.Errorf("lease: keep: acquire: %w", err)
	}
	k.generator, err = begin(held.Lease(), k.refused)
	if err == nil && reflect.ValueOf(&k.generator).Elem().IsZero() {
		err = fmt.Errorf("%w: begin returned neither a generator nor an error", ErrInvalidRequest)
	}
	if err != nil {
		k.giveBackUnused(ctx, held)
		return fmt.Errorf("lease: keep: %w", err)
	}
	k.kept.held = held
	k.status.Acquired, k.status.Held = 1, 1
	k.pace = newPace(k.settings)
	k.scheduleRenewal()
	k.dropCopied()
	k.report(none, nil)
	return nil
}

// Generator returns the generator, which is the same for the keeper's whole life. It makes IDs without the keeper.
func (k *Keeper[G]) Generator() G { return k.generator }

// Close closes the generator and releases the lease with the last second that was really used, so that another process can
// have its nodes at once. If the release fails Close returns an error, which is harmless: the lease expires by itself.
//
// Close returns within about ten seconds, even if the store does not answer. Another Close waits for the first and
// returns the same error.
func (k *Keeper[G]) Close() error { return k.close() }

func (k *Keeper[G]) shutdown() error {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	k.generator.Close()
	k.stop()
	// A store that does not heed its context must not hold up the caller.
	timeout := time.NewTimer(k.callLimit + time.Second)
	defer timeout.Stop()
	select {
	case <-k.done:
		return k.closeErr
	case <-timeout.C:
		return errors.New("lease: release: store does not return, even with its context done; the lease runs out by itself")
	}
}

// A reason says why the generator refused, where another call of the store may help.
type reason uint32

const (
	none       reason = iota
	notStarted        // randflake.ErrLeaseNotStarted
	ended             // randflake.ErrLeaseEnded
	backward          // randflake.ErrClockBackward
)

// refused is told of every refusal of the generator, also of those that no caller gets because it goes on waiting.
func (k *Keeper[G]) refused(err error, waiting bool) {
	if !waiting {
		k.refusals.Add(1)
		if errors.Is(err, randflake.ErrExhausted) {
			k.exhausted.Add(1)
		}
	}
	if why := reasonOf(err); why != none {
		k.alarm(why)
	}
}

// reasonOf returns what a refusal says of the lease.
func reasonOf(err error) reason {
	switch {
	case errors.Is(err, randflake.ErrLeaseNotStarted):
		return notStarted
	case errors.Is(err, randflake.ErrLeaseEnded):
		return ended
	case errors.Is(err, randflake.ErrClockBackward):
		return backward
	}
	return none
}

// alarm notes the reason before it wakes the loop: when the loop finds none, an earlier round dealt with it already.
func (k *Keeper[G]) alarm(why reason) {
	if k.reason.Load() != uint32(why) {
		k.reason.Store(uint32(why))
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}
