package randflake

import (
	"errors"
	"sync"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/hidden"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Generator makes IDs for one node under a lease. Its methods are safe for concurrent use; it
// must not be copied. Use NewGenerator to make one: the zero Generator has neither a lease nor a
// secret.
type Generator struct {
	inner   *root.Generator
	machine vmgen.Generation // stale in a copy of the machine, where the lease is the original's

	mu    sync.Mutex
	lease LeaseInfo // guarded by mu, but for LeaseStart, which never changes

	// TimeSource returns the current time in Unix seconds. If it is nil, the system clock is used.
	// It is called once for an ID, and again if it went back, or UpdateLease's part of the lease
	// begins.
	//
	// It can be set at any time while no other goroutine is using the generator, even after IDs
	// were made. Whatever it returns, no ID is made twice.
	TimeSource func() int64
}

// LeaseInfo is the lease of a Generator.
type LeaseInfo struct {
	NodeID     int64
	LeaseStart int64 // the first Unix second
	LeaseEnd   int64 // the last Unix second, which is part of the lease
}

// NewGenerator returns a generator for a node and the Unix seconds from leaseStart to leaseEnd,
// both included. The secret is 16 bytes long; the generator keeps a copy.
//
// It returns the first of these errors that applies: ErrInvalidLease if leaseEnd is before
// leaseStart; ErrInvalidNode if nodeID is not in the range of 0 to RANDFLAKE_MAX_NODE;
// ErrInvalidLease if leaseStart is before RANDFLAKE_EPOCH_OFFSET; ErrRandflakeDead if leaseEnd is
// after RANDFLAKE_MAX_TIMESTAMP; ErrInvalidSecret if the secret has another length. As in v1.8, 16
// zero bytes are accepted as a secret, although anybody can open its IDs.
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
	g := &Generator{machine: vmgen.Now(), lease: LeaseInfo{nodeID, leaseStart, leaseEnd}}
	// As in v1.8, the clock reads TimeSource on every call, and with Strict sequences count up and
	// each second has all its 131,072 IDs. Without these two options Generate would be several
	// times faster, but making all IDs of a node's second takes only milliseconds anyway.
	key := root.Secret(hidden.KeyOf([16]byte(secret)))
	inner, err := root.New(key, leaseOf(nodeID, leaseStart, leaseEnd), root.WithClock(g.now), root.Strict())
	if err != nil {
		return nil, err
	}
	g.inner = inner
	return g, nil
}

// leaseOf returns the lease of a node for the seconds from first to last.
func leaseOf(node, first, last int64) root.Lease {
	return root.Lease{
		FirstNode: uint32(node),
		LastNode:  uint32(node),
		Start:     time.Unix(first, 0),
		End:       time.Unix(last+1, 0),
	}
}

// now reads TimeSource or the system clock.
func (g *Generator) now() time.Time {
	if g.TimeSource != nil {
		return time.Unix(g.TimeSource(), 0)
	}
	return time.Now()
}

// Generate returns a new ID. It never waits: if it can't make an ID that is certainly unique, it
// returns one of
//
//   - ErrInvalidLease: the clock is before the lease's start or after its end, or this machine was copied since NewGenerator;
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

// translate returns this package's error for an error of the root package's Fill.
func (g *Generator) translate(err error) error {
	switch {
	case errors.Is(err, root.ErrExhausted):
		return ErrResourceExhausted
	case errors.Is(err, root.ErrLeaseNotStarted), errors.Is(err, root.ErrLeaseEnded):
		return ErrInvalidLease
	case errors.Is(err, root.ErrClockBackward):
		// In this package a clock outside the lease takes precedence. After IDs were made, only
		// reading the clock shows that.
		if g.now().Unix() < g.lease.LeaseStart {
			return ErrInvalidLease
		}
		return ErrConsistencyViolation
	case errors.Is(err, root.ErrEndOfLife):
		return ErrRandflakeDead
	}
	return err
}

// GenerateString is Generate, but returns the ID in the text form of EncodeString.
func (g *Generator) GenerateString() (string, error) {
	id, err := g.Generate()
	if err != nil {
		return "", err
	}
	return EncodeString(id), nil
}

// Inspect opens an ID that was made with the generator's secret, by any node. The timestamp is in
// Unix seconds.
//
// IDs are not authenticated: every 64-bit value opens to some fields, with a nil error. The caller
// must decide whether they are plausible. The zero Generator returns ErrInvalidSecret.
func (g *Generator) Inspect(id int64) (timestamp, nodeID, sequence int64, err error) {
	if g.inner == nil {
		return 0, 0, 0, ErrInvalidSecret
	}
	fields := g.inner.Cipher().Inspect(root.ID(id))
	return fields.Time.Unix(), int64(fields.Node), int64(fields.Sequence), nil
}

// InspectString is Inspect for the text form. It returns ErrInvalidID if DecodeString does.
func (g *Generator) InspectString(id string) (timestamp, nodeID, sequence int64, err error) {
	value, err := DecodeString(id)
	if err != nil {
		return 0, 0, 0, err
	}
	return g.Inspect(value)
}

// UpdateLease moves the end of the lease to a later time, and reports whether it did. leaseStart
// must be the start of the lease. leaseEnd must be after the present end and at most
// RANDFLAKE_MAX_TIMESTAMP. Otherwise the lease stays as it is. So it does in a copy of the machine,
// as the lease is the original's: make a new generator with another lease.
func (g *Generator) UpdateLease(leaseStart, leaseEnd int64) bool {
	if g.inner == nil || g.machine.Stale() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if leaseStart != g.lease.LeaseStart {
		return false
	}
	added := leaseOf(g.lease.NodeID, g.lease.LeaseEnd+1, leaseEnd)
	if g.inner.Handover(handover.Key{}).Add(added) != nil { // not later, or too late
		return false
	}
	g.lease.LeaseEnd = leaseEnd
	return true
}

// GetLeaseInfo returns the node and the lease in force. For the zero Generator it returns zeros.
func (g *Generator) GetLeaseInfo() LeaseInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lease
}
