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

// A Source grants leases: a [Space], or a service in front of one. It is safe for concurrent use.
// It may also have the method [Space.CheckSecret], which Keep then calls first.
type Source interface {
	// Take leases nodes for each window from first to last, as [Space.Take] does:
	//
	//   - Each lease is of one of these windows, from its first second to its last.
	//   - Each has exactly as many nodes as are asked for.
	//   - No window has two leases.
	//   - If a window has none, the error says why.
	//
	// A keeper uses no lease of an answer that breaks one of the first three rules.
	Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error)

	// Limits returns the limits of the space, which never change.
	Limits() Limits

	// String says what the source is, without passwords.
	String() string
}

// checkLeases returns which of the first three rules of Source.Take the leases of an answer break, or
// nil.
func checkLeases(s Source, leases []randflake.Lease, first, last int64, nodes uint32) error {
	limits := s.Limits()
	leased := map[int64]bool{} // by window
	for _, lease := range leases {
		window := limits.WindowOf(lease.Start)
		whole := lease.Start.Equal(limits.start(window)) && lease.End.Equal(limits.start(window+1))
		has := int64(lease.LastNode) - int64(lease.FirstNode) + 1 // 0 or less if they are in the wrong order
		var want string
		switch {
		case window < first || window > last:
			want = fmt.Sprintf("a lease of one of the windows %d to %d", first, last)
		case !whole:
			want = "a lease of exactly one window of " + limits.Window.String()
		case has != int64(nodes):
			want = fmt.Sprintf("exactly %d nodes", nodes)
		case leased[window]: // if it is the same lease, its IDs would be too
			want = "one lease for each window"
		}
		if want != "" {
			return fmt.Errorf("lease: %s granted %+v, which breaks a rule of Source.Take: want %s", s, lease, want)
		}
		leased[window] = true
	}
	return nil
}

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
// once. Once it has lived a window, it takes leases further ahead, at random moments: package
// plan says when. It never renews a lease, and never gives one back. It is safe for concurrent use.
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
func Keep(
	ctx context.Context, source Source, secret randflake.Secret, options ...Option,
) (*Keeper[*randflake.Generator], error) {
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

func keep[G Generator](
	ctx context.Context, source Source, s settings, begin func(randflake.Lease) (G, error),
) (*Keeper[G], error) {
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

// Close closes the generator and ends the keeper. Nobody else gets its leases, even before they
// end. Close always returns nil.
func (k *Keeper[G]) Close() error {
	if !k.closed.Swap(true) {
		k.generator.Close()
		k.loop.close()
		k.unlisten()
	}
	return nil
}

// refused counts a refusal of the generator, and wakes the loop unless err is ErrExhausted: leases
// that follow are for other seconds. If waiting is set, the caller goes on waiting for an ID, and
// is not counted. If the wait fails later, as at a deadline, refused is called again, and counts.
func (k *Keeper[G]) refused(err error, waiting bool) {
	exhausted := errors.Is(err, randflake.ErrExhausted)
	if !waiting {
		k.refusals.Add(1)
		if exhausted {
			k.exhausted.Add(1)
		}
	}
	if !exhausted {
		k.loop.wakeUp()
	}
}
