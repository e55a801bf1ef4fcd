package randflake

import (
	"fmt"
	"time"
)

// The layout of a raw value, from the highest bit to the lowest:
//
//	timestamp (30 bits) | node (17 bits) | sequence (17 bits)
const (
	timestampBits = 30 // seconds since Epoch
	nodeBits      = 17
	sequenceBits  = 17 // numbers the IDs of one node in one second

	nodeShift      = sequenceBits
	timestampShift = sequenceBits + nodeBits
)

const (
	// Epoch is the Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC.
	Epoch int64 = 1730000000

	// MaxTimestamp is the Unix second of the highest timestamp, the last one that an ID can carry:
	// 2058-11-05 17:10:23 UTC.
	MaxTimestamp int64 = Epoch + 1<<timestampBits - 1

	// MaxNode is the highest node: 131,071.
	MaxNode = 1<<nodeBits - 1

	// MaxSequence is the highest sequence number: 131,071.
	MaxSequence = 1<<sequenceBits - 1
)

// pack returns the raw value of a Unix second, a node and a sequence number. Each must be in its
// range.
func pack(second int64, node, sequence uint32) uint64 {
	return uint64(second-Epoch)<<timestampShift | uint64(node)<<nodeShift | uint64(sequence)
}

// secondOf returns the Unix second in a raw value.
func secondOf(raw uint64) int64 { return int64(raw>>timestampShift) + Epoch }

// Fields are the three numbers that an ID holds.
type Fields struct {
	Time     time.Time // a whole second, in UTC
	Node     uint32    // 0 to MaxNode
	Sequence uint32    // 0 to MaxSequence
}

// Within returns nil if an ID with these fields could have been made under the lease: if its
// second, or a part of it, lies in [Start, End), and its node in [FirstNode, LastNode]. Otherwise
// it returns an error that wraps ErrImplausible and says what is out of range.
//
// An ID is not authenticated: every 64-bit value opens, made by a generator or not. A random one
// passes as an ID of a one-hour lease on one node once in 39 billion tries. A window of time over
// all nodes can be written as a lease, here with bounds that need not be whole seconds:
//
//	sinceLaunch := randflake.Lease{LastNode: randflake.MaxNode, Start: launch, End: time.Now()}
//	err := cipher.Inspect(id).Within(sinceLaunch)
func (f Fields) Within(l Lease) error {
	second := f.Time.Truncate(time.Second)
	next := second.Add(time.Second)
	switch {
	case !l.Start.Before(l.End):
		return fmt.Errorf("%w: time %s is not in an empty lease, from %s to %s",
			ErrImplausible, rfc3339(second), rfc3339(l.Start), rfc3339(l.End))
	case !next.After(l.Start):
		return fmt.Errorf("%w: time %s is before %s", ErrImplausible, rfc3339(second), rfc3339(l.Start))
	case !second.Before(l.End):
		return fmt.Errorf("%w: time %s is not before %s", ErrImplausible, rfc3339(second), rfc3339(l.End))
	case f.Node < l.FirstNode || f.Node > l.LastNode:
		return fmt.Errorf("%w: node %d is not one of %d to %d",
			ErrImplausible, f.Node, l.FirstNode, l.LastNode)
	}
	return nil
}

// Compose returns the ID with the given fields; the time is rounded down to a whole second. For a
// field that does not fit the layout it returns an error that wraps ErrInvalidID, and ErrEndOfLife
// as well if the time is after MaxTimestamp.
//
// Compose does not look at leases: to make unique IDs use a Generator.
func (c *Cipher) Compose(f Fields) (ID, error) {
	second := f.Time.Unix()
	switch {
	case second < Epoch:
		return 0, fmt.Errorf("%w: time %s is before the epoch, %s", ErrInvalidID, rfc3339(f.Time), epochText)
	case second > MaxTimestamp:
		return 0, fmt.Errorf("%w: time %s: %w", ErrInvalidID, rfc3339(f.Time), ErrEndOfLife)
	case f.Node > MaxNode:
		return 0, fmt.Errorf("%w: node %d is above %d", ErrInvalidID, f.Node, MaxNode)
	case f.Sequence > MaxSequence:
		return 0, fmt.Errorf("%w: sequence %d is above %d", ErrInvalidID, f.Sequence, MaxSequence)
	}
	return c.Encrypt(Raw(pack(second, f.Node, f.Sequence))), nil
}

// Inspect opens an ID. The fields are always valid; Within tells whether they are plausible.
func (c *Cipher) Inspect(id ID) Fields { return c.Decrypt(id).Fields() }

var epochText = rfc3339(time.Unix(Epoch, 0))

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
