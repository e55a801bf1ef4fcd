package randflake

import (
	"errors"
	"sync"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/anykey"
)

// A Generator makes IDs for one node under a lease. Its methods are safe for concurrent use; it must not be copied.
// Only NewGenerator makes a useful one: the zero Generator has neither a lease nor a secret.
type Generator struct {
	inner *root.Generator
	mu    sync.Mutex // held by UpdateLease

	// TimeSource returns the current time in Unix seconds. If it is nil the system clock is asked. It is called once for
	// an ID, and once more if it turns out to be behind.
	//
	// It can be set at any time, also after IDs were made, while no other goroutine is using the generator just then.
	// Whatever it says, no ID is made twice.
	TimeSource func() int64
}

// LeaseInfo is the lease of a Generator.
type LeaseInfo struct {
	NodeID     int64
	LeaseStart int64 // the first Unix second
	LeaseEnd   int64 // the last Unix second: it is part of the lease
}

// NewGenerator returns a generator for a node and the Unix seconds from leaseStart to leaseEnd, both included. The
// secret is 16 bytes long; the generator keeps a copy.
//
// The errors, the first that applies: ErrInvalidLease when leaseEnd is before leaseStart; ErrInvalidNode when nodeID is
// not in the range of 0 to RANDFLAKE_MAX_NODE; ErrInvalidLease when leaseStart is before RANDFLAKE_EPOCH_OFFSET;
// ErrRandflakeDead when leaseEnd is after RANDFLAKE_MAX_TIMESTAMP; ErrInvalidSecret when the secret has another length.
// As in v1.8, 16 zero bytes are a secret: anybody can open its IDs.
func NewGenerator(nodeID, leaseStart, leaseEnd int64, secret []byte) (*Generator, error) {
	switch {
	case leaseEnd < leaseStart:
		return nil, ErrInvalidLease
	case nodeID < 0 || nodeID > RANDFLAKE_MAX_NODE:
		return nil, ErrInvalidNode
	case leaseStart < RANDFLAKE_EPOCH_OFFSET:
		return nil, ErrInvalidLease
	case leaseEnd > RANDFLAKE_MAX_TIMESTAMP:
		return nil, ErrRandflakeDead
	case len(secret) != 16:
		return nil, ErrInvalidSecret
	}
	lease := root.Lease{
		FirstNode: uint32(nodeID),
		LastNode:  uint32(nodeID),
		Start:     time.Unix(leaseStart, 0),
		End:       endAfter(leaseEnd),
	}
	g := new(Generator)
	// One generator with one clock, which looks at TimeSource on every call, and strict: sequences count up, and each
	// second has all its 131,072 IDs, as in v1.8. Without either, Generate would be several times faster, but a node's
	// IDs of a second take milliseconds as it is.
	inner, err := root.New(anykey.Secret([16]byte(secret)).(root.Secret), lease, root.WithClock(g.now), root.Strict())
	if err != nil {
		return nil, err
	}
	g.inner = inner
	return g, nil
}

// endAfter returns the end of a lease whose last second is given.
func endAfter(last int64) time.Time { return time.Unix(last+1, 0) }

// now asks TimeSource or the system clock.
func (g *Generator) now() time.Time {
	if g.TimeSource != nil {
		return time.Unix(g.TimeSource(), 0)
	}
	return time.Now()
}

// Generate returns a new ID. It never waits: when no ID can be proven unique it returns one of
//
//   - ErrInvalidLease: the clock is before the lease's start or after its end;
//   - ErrResourceExhausted: all 131,072 IDs of the current second are used up;
//   - ErrConsistencyViolation: the clock is within the lease, but behind the newest ID by more than
//     10 seconds, or by less while that ID's second is used up;
//   - ErrRandflakeDead: the clock is after RANDFLAKE_MAX_TIMESTAMP.
func (g *Generator) Generate() (int64, error) {
	if g.inner == nil {
		return 0, ErrInvalidLease
	}
	var id [1]root.ID
	if _, err := g.inner.Fill(id[:]); err != nil {
		return 0, g.translate(err)
	}
	return int64(id[0]), nil
}

// translate returns this package's error for one of Fill in the root package.
func (g *Generator) translate(err error) error {
	switch {
	case errors.Is(err, root.ErrExhausted):
		return ErrResourceExhausted
	case errors.Is(err, root.ErrLeaseNotStarted), errors.Is(err, root.ErrLeaseEnded):
		return ErrInvalidLease
	case errors.Is(err, root.ErrClockBackward):
		// Outside the lease comes first here, and after IDs were made only the clock can tell.
		if g.now().Before(g.inner.Lease().Start) {
			return ErrInvalidLease
		}
		return ErrConsistencyViolation
	case errors.Is(err, root.ErrEndOfLife):
		return ErrRandflakeDead
	}
	return err
}

// GenerateString is Generate, and returns the ID as EncodeString does.
func (g *Generator) GenerateString() (string, error) {
	id, err := g.Generate()
	if err != nil {
		return "", err
	}
	return EncodeString(id), nil
}

// Inspect opens an ID that was made with the generator's secret, by whatever node. The timestamp is in Unix seconds.
//
// An ID is not authenticated: every 64-bit value opens to something, and the error is nil for all of them. Whether that
// is plausible is for the caller to judge. The zero Generator returns ErrInvalidSecret.
func (g *Generator) Inspect(id int64) (timestamp, nodeID, sequence int64, err error) {
	if g.inner == nil {
		return 0, 0, 0, ErrInvalidSecret
	}
	fields := g.inner.Cipher().Inspect(root.ID(id))
	return fields.Time.Unix(), int64(fields.Node), int64(fields.Sequence), nil
}

// InspectString is Inspect for the text form, and returns ErrInvalidID when DecodeString does.
func (g *Generator) InspectString(id string) (timestamp, nodeID, sequence int64, err error) {
	value, err := DecodeString(id)
	if err != nil {
		return 0, 0, 0, err
	}
	return g.Inspect(value)
}

// UpdateLease moves the end of the lease to a later one, and reports whether it did: leaseStart must be that of the
// lease, leaseEnd must be after the present one and no later than RANDFLAKE_MAX_TIMESTAMP. Otherwise the lease stays as
// it is.
func (g *Generator) UpdateLease(leaseStart, leaseEnd int64) bool {
	if g.inner == nil || leaseEnd > RANDFLAKE_MAX_TIMESTAMP {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	lease, end := g.inner.Lease(), endAfter(leaseEnd)
	if leaseStart != lease.Start.Unix() || !end.After(lease.End) {
		return false
	}
	return g.inner.Extend(end) == nil
}

// GetLeaseInfo returns the node and the lease in force, or, of the zero Generator, zeros.
func (g *Generator) GetLeaseInfo() LeaseInfo {
	if g.inner == nil {
		return LeaseInfo{}
	}
	lease := g.inner.Lease()
	return LeaseInfo{
		NodeID:     int64(lease.FirstNode),
		LeaseStart: lease.Start.Unix(),
		LeaseEnd:   lease.End.Unix() - 1,
	}
}
