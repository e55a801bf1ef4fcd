package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/door"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease/metrics"
)

// A Source grants leases: a [Space], or a service in front of one. It is safe for concurrent use.
type Source interface {
	// Take leases nodes for the seconds of the windows from to to, as [Space.Take] does.
	Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error)

	// Limits returns the limits of the space.
	Limits() Limits

	// String says what it is, without passwords.
	String() string
}

// A Generator makes IDs under leases: a *randflake.Generator, or one of package snowflake. KeepFor panics for another type.
type Generator interface {
	// Lease returns the lease in force.
	Lease() randflake.Lease

	// Close closes the generator.
	Close() (lastUsed time.Time, err error)
}

var _ Generator = (*randflake.Generator)(nil)

// An Option is an option of Keep and KeepFor.
type Option struct{ set func(*settings) error }

type settings struct {
	nodes      uint32
	outage     time.Duration
	waits      time.Duration
	logger     *slog.Logger
	label      string
	clock      func() time.Time // nil for the system's
	generating []randflake.Option

	stale func() bool // whether this process became a copy since the last call
}

// WithNodes leases n contiguous nodes, 1 to 131,072, instead of one. Each makes 131,072 IDs a second.
func WithNodes(n int) Option {
	return Option{func(s *settings) error {
		if n < 1 || n > randflake.MaxNode+1 {
			return fmt.Errorf("%w: %d nodes: want 1 to %d", ErrInvalid, n, randflake.MaxNode+1)
		}
		s.nodes = uint32(n)
		return nil
	}}
}

// WithOutage leases enough windows ahead to survive a store outage of d, as far as the space's limits allow. It starts after the
// first window. The default is 3 minutes. Where the space has a reserve, the leases always outlive a loss of data.
func WithOutage(d time.Duration) Option {
	return Option{func(s *settings) error { s.outage = max(d, 0); return nil }}
}

// WithWait makes Keep wait up to d where waiting helps, instead of returning a WaitError: until the window ends if all of its
// nodes are taken, or until leases are granted again after a loss of data. The log says until when. By default Keep doesn't wait.
func WithWait(d time.Duration) Option {
	return Option{func(s *settings) error { s.waits = d; return nil }}
}

// WithLogger makes the keeper log to l instead of slog.Default(): a line for each lease, with its nodes, seconds and label, and
// one when no more IDs can be made, or they go on. For no log use slog.DiscardHandler.
func WithLogger(l *slog.Logger) Option {
	return Option{func(s *settings) error {
		if l == nil {
			return fmt.Errorf("%w: logger is nil: leave WithLogger out for slog.Default", ErrInvalid)
		}
		s.logger = l
		return nil
	}}
}

// WithLabel says in the log whose leases they are, in place of the host's name and the program's.
func WithLabel(label string) Option {
	return Option{func(s *settings) error { s.label = label; return nil }}
}

// WithClock makes the generator and the keeper take the time from now instead of the system clock, for tests and simulations.
// The keeper's timers are not affected. now must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return Option{func(s *settings) error {
		if now == nil {
			return fmt.Errorf("%w: clock is nil: leave WithClock out for the system's", ErrInvalid)
		}
		s.clock = now
		return nil
	}}
}

// Generating makes Keep create the generator with these options.
func Generating(options ...randflake.Option) Option {
	return Option{func(s *settings) error { s.generating = options; return nil }}
}

func newSettings(options []Option) (settings, error) {
	host, _ := os.Hostname()
	machine := vmgen.Now()
	s := settings{nodes: 1, outage: 3 * time.Minute, logger: slog.Default(), label: host + "/" + filepath.Base(os.Args[0])}
	s.stale = func() bool {
		was := machine
		machine = vmgen.Now()
		return was.Stale()
	}
	for i, option := range options {
		if option.set == nil {
			return s, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalid, i+1)
		}
		if err := option.set(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// A Keeper keeps a generator in leases. It takes those of the present window and the next one at once, and once it has lived a
// window, some ahead, at a random moment of each window. It never renews one and never gives one back. It is safe for
// concurrent use.
type Keeper[G Generator] struct {
	generator G
	loop      *loop
	unlisten  func() // of copies of the machine
	closed    atomic.Bool

	refusals, exhausted atomic.Uint64
}

// Keep takes leases from source and returns a keeper, whose generator makes IDs with secret. All generators with one secret
// must have their leases from one space.
//
// ctx limits the first takes only. Keep returns a WaitError where waiting helps, unless WithWait says otherwise: ErrFull if all nodes of this
// window and the next one are taken, ErrLoss after a loss of data. If only the next window could be leased, the generator returns
// randflake.ErrLeaseNotStarted until it begins. The keeper has a goroutine until Close. It does not close the source.
func Keep(ctx context.Context, source Source, secret randflake.Secret, options ...Option) (*Keeper[*randflake.Generator], error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	if secret.IsZero() {
		return nil, fmt.Errorf("lease: keep: %w: it is not set", randflake.ErrInvalidSecret)
	}
	if c, ok := source.(interface{ CheckSecret(check [8]byte) error }); ok {
		if err := c.CheckSecret(secret.CheckValue()); err != nil {
			return nil, fmt.Errorf("lease: keep: %w", err)
		}
	}
	if s.clock != nil {
		s.generating = append(slices.Clone(s.generating), randflake.WithClock(s.clock))
	}
	return keep(ctx, source, s, func(lease randflake.Lease) (*randflake.Generator, error) {
		return randflake.New(secret, lease, s.generating...)
	})
}

// KeepFor is Keep for other kinds of generators: begin makes one with the first lease. If WithClock is given, the generator must
// use that clock too.
func KeepFor[G Generator](ctx context.Context, source Source, begin func(randflake.Lease) (G, error), options ...Option) (*Keeper[G], error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	return keep(ctx, source, s, begin)
}

func keep[G Generator](ctx context.Context, source Source, s settings, begin func(randflake.Lease) (G, error)) (*Keeper[G], error) {
	if s.clock == nil {
		s.clock = time.Now
	}
	k := &Keeper[G]{loop: newLoop(source, s), unlisten: vmgen.Listen()} // before there is a lease
	err := k.loop.start(ctx, func(lease randflake.Lease) (handover.Queue[randflake.Lease], error) {
		var err error
		if k.generator, err = begin(lease); err != nil {
			return nil, err
		}
		queue := door.Open[handover.Queue[randflake.Lease]](k.generator)
		queue.OnRefusal(k.refused)
		return queue, nil
	})
	if err != nil {
		k.unlisten()
		return nil, err
	}
	return k, nil
}

// Generator returns the generator, which stays the same. It makes IDs without the keeper.
func (k *Keeper[G]) Generator() G { return k.generator }

// Close closes the generator and ends the keeper. What it has leased is nobody else's until the windows end. It always returns
// nil.
func (k *Keeper[G]) Close() error {
	if !k.closed.Swap(true) {
		k.generator.Close()
		k.loop.close()
		k.unlisten()
	}
	return nil
}

// refused is told of every refusal of the generator, also of those that no caller gets because it goes on waiting.
func (k *Keeper[G]) refused(err error, waiting bool) {
	exhausted := errors.Is(err, randflake.ErrExhausted)
	if !waiting {
		k.refusals.Add(1)
		if exhausted {
			k.exhausted.Add(1)
		}
	}
	if !exhausted {
		k.loop.refused()
	}
}

// A Status is a snapshot of a keeper.
type Status struct {
	// Healthy says that an ID can be made now, and that the last attempt to take what is wanted succeeded or leases are left
	// for longer than a window. It turns false while there is still time to act.
	Healthy bool

	Lease   randflake.Lease // in force
	End     time.Time       // until which leases follow each other
	Err     error           // of the last attempt to take what is wanted; nil if it succeeded
	Stopped time.Time       // since when no ID can be made for want of a lease; zero while they can
	Closed  bool            // whether the keeper was closed
	// DetectsCopies says that the system tells at once when this machine was copied.
	DetectsCopies bool

	// Counts since Keep.
	Taken, Failed uint64 // leases, and attempts to take one that failed
	Copies        uint64 // times that this machine turned out to be a copy of another one, with the leases of the original
	Claimed       uint64 // IDs made, without the latest: those of a processor's run, or of a Snowflake's unit, count when the next one begins
	Refusals      uint64 // calls that returned an error for want of an ID, unless their context was canceled
	Exhausted     uint64 // refusals with randflake.ErrExhausted: too few nodes
	Waits         uint64 // calls that had to wait for an ID, whatever came of it
}

// Status returns a snapshot. It never waits for the store.
func (k *Keeper[G]) Status() Status {
	k.loop.mu.Lock()
	s := k.loop.status
	k.loop.mu.Unlock()
	s.Lease, s.Closed, s.DetectsCopies = k.generator.Lease(), k.closed.Load(), vmgen.Now().Detects()
	queue := door.Open[handover.Queue[randflake.Lease]](k.generator)
	s.Healthy = !s.Closed && queue.Ready() == nil &&
		(s.Err == nil || s.End.Sub(k.loop.clock()) > k.loop.source.Limits().Window)
	s.Exhausted = k.exhausted.Load() // first, as refused adds to it last: it is a part of the refusals
	s.Refusals = k.refusals.Load()
	s.Claimed, s.Waits = queue.Counts()
	return s
}

var _ metrics.Reporter = (*Keeper[*randflake.Generator])(nil)

// Metrics implements [metrics.Reporter]: always the same ones in the same order.
func (k *Keeper[G]) Metrics() []metrics.Metric {
	s, counter := k.Status(), metrics.Counter
	return []metrics.Metric{
		counter("randflake_leases_taken_total", "Leases that this process has taken.", s.Taken),
		counter("randflake_lease_failures_total", "Failed attempts to take a lease.", s.Failed),
		counter("randflake_machine_copies_total", "Times that the machine turned out to be a copy of another one, so that its leases were left to the original.", s.Copies),
		counter("randflake_ids_claimed_total", "IDs claimed by callers, without the latest: those of a processor's run of up to 4,096, or of a Snowflake's unit of time, are added when the next one begins.", s.Claimed),
		counter("randflake_ids_refused_total", "Calls that returned an error because there was no ID for them; not those that waited and were served, or were canceled.", s.Refusals),
		counter("randflake_ids_exhausted_total", "Calls that returned an error because the leased nodes had no ID left in that second: more nodes help.", s.Exhausted),
		counter("randflake_ids_waits_total", "Calls that had to wait for an ID, whether they got one or not.", s.Waits),
		metrics.Gauge("randflake_lease_end_timestamp_seconds", "Unix time until which this process has leases without a gap.", s.End.Unix()),
		metrics.Gauge("randflake_lease_window_seconds", "Seconds of a window, for which leases are taken.", k.loop.source.Limits().Window.Seconds()),
		metrics.Gauge("randflake_lease_nodes", "Nodes of the lease under which IDs are made; each makes 131,072 Randflake IDs a second.", int(s.Lease.LastNode-s.Lease.FirstNode)+1),
		metrics.Flag("randflake_lease_healthy", "1 if IDs can be made, and leases are taken ahead or left for longer than a window, otherwise 0.", s.Healthy),
		metrics.Flag("randflake_machine_copies_detectable", "1 if the system tells at once when the machine was copied, by VMClock or VMGENID, otherwise 0.", s.DetectsCopies),
	}
}
