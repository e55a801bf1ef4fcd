package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Generator makes IDs under leases: a *randflake.Generator, one of package snowflake, or a type
// that embeds one of these.
type Generator interface {
	// Lease returns the lease in force.
	Lease() randflake.Lease

	// Close closes the generator.
	Close() (lastUsed time.Time, err error)

	// Handover is for this package.
	Handover(handover.Key) handover.Queue[randflake.Lease]
}

var _ Generator = (*randflake.Generator)(nil)

// A Keeper keeps a generator in leases. It takes leases of the present window and the next one at
// once. Once it has lived a window, it takes leases further ahead, at random moments. It never renews
// a lease, and never gives one back. It is safe for concurrent use.
type Keeper[G Generator] struct {
	generator G
	loop      *loop
	unlisten  func() // ends the notices of copies of the machine
	closed    atomic.Bool

	refusals, exhausted atomic.Uint64
}

// Keep takes leases from source and returns a keeper, whose generator makes IDs with secret. All
// generators with one secret must have their leases from one space, or of parts: see [Config].
//
// ctx limits the first takes only. Where waiting helps, Keep returns a WaitError, unless WithWait
// lets it wait that long. The WaitError is of ErrFull if this window and the next one have fewer
// nodes left than are wanted, and of ErrLoss after a loss of data. If only the next window could be
// leased, the generator returns randflake.ErrLeaseNotStarted until that window begins. The keeper
// has a goroutine until Close, which leaves the source open.
func Keep(ctx context.Context, source Source, secret randflake.Secret, options ...Option) (*Keeper[*randflake.Generator], error) {
	if secret.IsZero() {
		return nil, fmt.Errorf("lease: keep: %w: it is not set", randflake.ErrInvalidSecret)
	}
	// A space knows which secret it is for. Other sources may know none.
	if c, ok := source.(interface{ CheckSecret(check [8]byte) error }); ok {
		if err := c.CheckSecret(secret.CheckValue()); err != nil {
			return nil, fmt.Errorf("lease: keep: %w", err)
		}
	}
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	generating := slices.Clone(s.generating) // the caller's slice stays as it is
	if s.clock != nil {
		generating = append(generating, randflake.WithClock(s.clock)) // last, so that it wins
	}
	return keep(ctx, source, s, func(lease randflake.Lease) (*randflake.Generator, error) {
		return randflake.New(secret, lease, generating...)
	})
}

// KeepFor is Keep for other kinds of generators: begin makes one with the first lease. If WithClock
// is given, the generator must use that clock too.
func KeepFor[G Generator](
	ctx context.Context, source Source, begin func(randflake.Lease) (G, error), options ...Option,
) (*Keeper[G], error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	return keep(ctx, source, s, begin)
}

func keep[G Generator](ctx context.Context, source Source, s settings, begin func(randflake.Lease) (G, error)) (*Keeper[G], error) {
	k := &Keeper[G]{
		loop:     newLoop(source, s),
		unlisten: vmgen.Listen(), // so that a copy made during the first take is noticed
	}
	leases, err := k.loop.takeFirst(ctx)
	if err == nil {
		k.generator, err = begin(leases[0])
	}
	if err != nil {
		k.unlisten()
		return nil, fmt.Errorf("lease: keep: %w", err)
	}
	queue := k.generator.Handover(handover.Key{})
	queue.OnRefusal(k.refused)
	k.loop.start(ctx, queue, leases)
	return k, nil
}

// Generator returns the generator, which stays the same. It makes IDs without a call of the keeper.
func (k *Keeper[G]) Generator() G { return k.generator }

// Close closes the generator and ends the keeper. Nobody else gets its leases, even before they end. Close always
// returns nil. If it was called before, it returns at once, although the first call may still wait for a take to end.
func (k *Keeper[G]) Close() error {
	if !k.closed.Swap(true) {
		k.generator.Close()
		k.loop.close()
		k.unlisten()
	}
	return nil
}

// refused counts a caller that was refused, and wakes the loop unless err is ErrExhausted: leases
// that follow are for other seconds. If waiting is set, the caller goes on waiting for an ID, and
// is not counted. If the wait ends without one, as at a deadline, refused is called again, and counts.
func (k *Keeper[G]) refused(err error, waiting bool) {
	exhausted := errors.Is(err, randflake.ErrExhausted)
	if !waiting {
		k.refusals.Add(1) // first, as Status reads it last: so Exhaustions is never the larger
		if exhausted {
			k.exhausted.Add(1)
		}
	}
	if !exhausted {
		k.loop.wakeUp()
	}
}
