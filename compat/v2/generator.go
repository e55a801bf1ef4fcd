package randflake

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/hidden"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Clock returns the present second, or an error, which [Generator.Generate] returns unchanged. It
// must be safe for concurrent use. Generate calls it once, and again if another goroutine got a
// later second from it in the meantime.
type Clock func() (UnixSeconds, error)

// A Lease is the right to make IDs for a node in the seconds from Start up to, but not including,
// EndExclusive.
type Lease struct {
	NodeID       uint32
	Start        UnixSeconds
	EndExclusive UnixSeconds // at most MaxTimestamp+1
}

// check returns ErrInvalidLease if the lease has no seconds, or seconds that the format can't express.
func (l Lease) check() error {
	if l.Start < Epoch || l.EndExclusive <= l.Start || l.EndExclusive > MaxTimestamp+1 {
		return ErrInvalidLease
	}
	return nil
}

// A Config holds the parameters of New. The Secret has 16 bytes, and New copies it. If Clock is
// nil, the system clock is used.
type Config struct {
	Lease  Lease
	Secret []byte
	Clock  Clock
}

// A Generator makes IDs for one node under a lease. New makes one; the zero Generator makes no IDs.
// It is safe for concurrent use and must not be copied.
type Generator struct {
	inner   *root.Generator
	clock   Clock
	machine vmgen.Generation // stale in a copy of the machine, where the lease is the original's

	// newest is the latest second in the lease that the clock has returned, or 0. It only grows,
	// and it is the clock of inner. So the clock of inner never goes back, whatever the Clock does.
	newest atomic.Int64

	mu    sync.Mutex // held by ExtendLease
	lease atomic.Pointer[Lease]
}

// New returns a generator for the lease. No other generator with the same secret may ever share
// both the node and a second with it, before or after. New can't check that.
//
// It returns ErrInvalidNode, ErrInvalidLease or ErrInvalidSecret, the first of them that applies.
// As in v2.1.0, 16 zero bytes are accepted as a secret, although anybody can open its IDs.
func New(config Config) (*Generator, error) {
	lease := config.Lease
	if lease.NodeID > MaxNodeID {
		return nil, ErrInvalidNode
	}
	if err := lease.check(); err != nil {
		return nil, err
	}
	if len(config.Secret) != 16 {
		return nil, ErrInvalidSecret
	}
	g := &Generator{clock: config.Clock, machine: vmgen.Now()}
	g.lease.Store(&lease)
	key := root.Secret(hidden.KeyOf([16]byte(config.Secret)))
	clock := func() time.Time { return time.Unix(g.newest.Load(), 0) }
	inner, err := root.New(key, lease.from(lease.Start, lease.EndExclusive), root.WithClock(clock), root.Strict())
	if err != nil {
		return nil, err
	}
	g.inner = inner
	return g, nil
}

// from returns the lease of the same node from start to end.
func (l Lease) from(start, end UnixSeconds) root.Lease {
	return root.Lease{
		FirstNode: l.NodeID,
		LastNode:  l.NodeID,
		Start:     time.Unix(int64(start), 0),
		End:       time.Unix(int64(end), 0),
	}
}

// Generate returns a new ID. It never waits. If it can't make an ID, it returns the first of these
// errors that applies:
//
//   - the error of the Clock;
//   - ErrInvalidLease: the clock is outside the lease, or this machine was copied since New;
//   - ErrConsistencyViolation: the clock went back;
//   - ErrResourceExhausted: the node's 131,072 IDs of this second are used up.
func (g *Generator) Generate() (int64, error) {
	if err := g.tick(); err != nil {
		return 0, err
	}
	var id [1]root.ID
	_, err := g.inner.Fill(id[:])
	switch {
	case g.machine.Stale():
		return 0, ErrInvalidLease
	case errors.Is(err, root.ErrExhausted):
		return 0, ErrResourceExhausted
	case err != nil:
		return 0, err
	}
	return int64(id[0]), nil
}

// tick reads the clock and advances newest to it.
func (g *Generator) tick() error {
	for {
		newest := g.newest.Load() // loaded before the clock is read: an earlier reading means that the clock went back
		now, err := g.now()
		if err != nil {
			return err
		}
		lease := g.Lease()
		switch {
		case now < lease.Start || now >= lease.EndExclusive:
			return ErrInvalidLease
		case int64(now) < newest:
			return ErrConsistencyViolation
		case int64(now) == newest, g.newest.CompareAndSwap(newest, int64(now)):
			return nil
		}
	}
}

func (g *Generator) now() (UnixSeconds, error) {
	if g.clock == nil {
		return UnixSeconds(time.Now().Unix()), nil
	}
	return g.clock()
}

// GenerateString is Generate, but returns the ID in the text form of EncodeString.
func (g *Generator) GenerateString() (string, error) {
	id, err := g.Generate()
	if err != nil {
		return "", err
	}
	return EncodeString(id), nil
}

// ExtendLease moves the end of the lease to the end of next, which must be a valid lease with the
// same NodeID and Start; otherwise it returns ErrInvalidLease. If the end of next is not later, it
// changes nothing and returns nil. In a copy of the machine it returns ErrInvalidLease, as the
// lease is the original's: make a new generator with another lease.
func (g *Generator) ExtendLease(next Lease) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	lease := g.Lease()
	if next.NodeID != lease.NodeID || next.Start != lease.Start {
		return ErrInvalidLease
	}
	if err := next.check(); err != nil {
		return err
	}
	if g.machine.Stale() {
		return ErrInvalidLease
	}
	if next.EndExclusive <= lease.EndExclusive {
		return nil
	}
	added := next.from(lease.EndExclusive, next.EndExclusive)
	if err := g.inner.Handover(handover.Key{}).Add(added); err != nil {
		return err
	}
	g.lease.Store(&next)
	return nil
}

// Lease returns the lease in force, or the zero Lease for the zero Generator.
func (g *Generator) Lease() Lease {
	if lease := g.lease.Load(); lease != nil {
		return *lease
	}
	return Lease{}
}

// Inspect opens an ID that was made with the generator's secret, on any node and at any time.
func (g *Generator) Inspect(id int64) Parts {
	fields := g.inner.Cipher().Inspect(root.ID(id))
	return Parts{UnixSeconds(fields.Time.Unix()), fields.Node, fields.Sequence}
}

// InspectString is Inspect for the text form. It returns ErrInvalidID if DecodeString does.
func (g *Generator) InspectString(id string) (Parts, error) {
	value, err := DecodeString(id)
	if err != nil {
		return Parts{}, err
	}
	return g.Inspect(value), nil
}
