package randflake

import (
	"database/sql/driver"
	"errors"
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

var epochText = rfc3339(time.Unix(Epoch, 0))

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// A Raw is what an ID encrypts: second, node and sequence in one integer, from high to low. Raws
// sort by second, so a table with Raws as its keys grows at its end. Within one second their order
// means nothing.
//
// A Raw reveals when and where it was made. Keep it in the database; show the ID. So package fmt
// prints a Raw as "[inner]", and encoding it as text or JSON is an error. For struct fields,
// package mask has a type that shows the ID.
//
// Encrypt and Decrypt of a [Cipher] convert a Raw to its ID and back, and can't fail:
//
//	id := cipher.Encrypt(raw)
//	raw = cipher.Decrypt(id)
type Raw uint64

// Fields returns what the raw value holds. Every raw value holds valid fields.
func (r Raw) Fields() Fields {
	return Fields{
		Time:     time.Unix(secondOf(uint64(r)), 0).UTC(),
		Node:     uint32(r>>nodeShift) & MaxNode,
		Sequence: uint32(r) & MaxSequence,
	}
}

const inner = "[inner]"

// Format prints "[inner]" for every verb that package fmt leaves to it.
func (Raw) Format(f fmt.State, _ rune) { f.Write([]byte(inner)) }

var errInner = errors.New("randflake: a raw value is not for the outside: show it as a mask.ID, or encrypt it to an ID")

// MarshalText returns an error, so package json refuses a Raw, too.
func (Raw) MarshalText() ([]byte, error) { return nil, errInner }

// MarshalBinary returns an error, for package gob.
func (Raw) MarshalBinary() ([]byte, error) { return nil, errInner }

// Value returns the raw value as a signed integer with the same 64 bits, for a BIGINT column.
//
// From 2041-10-31 22:21:52 UTC on the highest bit is set, and BIGINTs are negative: they sort
// before all older ones, and id > $1 misses them. ORDER BY id < 0, id keeps the order of time. In
// an unsigned column (MySQL's BIGINT UNSIGNED, written as uint64(r)) the order holds to the end of
// the format, in 2058.
func (r Raw) Value() (driver.Value, error) { return int64(r), nil }

// Scan reads an integer column, in the forms that ID.Scan describes. For a column that may be NULL
// use a pointer.
func (r *Raw) Scan(src any) error {
	value, err := scanInteger(src, "an integer column")
	if err != nil {
		return err
	}
	*r = Raw(value)
	return nil
}

// A Lease is the right to make IDs for a contiguous range of nodes, with seconds in an interval.
// Under one secret, generators whose leases share no node in any second never make the same ID.
// Each node gives 131,072 IDs a second.
//
// This package does not decide who holds which lease. Package lease does; the leases that it grants
// are disjoint.
type Lease struct {
	FirstNode, LastNode uint32 // both included, at most MaxNode

	// Start is the first second, and End the one after the last. New wants whole seconds. The
	// earliest Start is Epoch, and the latest End is MaxTimestamp + 1.
	Start, End time.Time
}

// check returns an error that wraps ErrInvalidLease when l can't be used.
func (l Lease) check() error {
	start, end := l.Start.Unix(), l.End.Unix()
	switch {
	case l.FirstNode > l.LastNode:
		return fmt.Errorf("%w: first node %d is above last node %d", ErrInvalidLease, l.FirstNode, l.LastNode)
	case l.LastNode > MaxNode:
		return fmt.Errorf("%w: last node %d is above %d", ErrInvalidLease, l.LastNode, MaxNode)
	case l.Start.Nanosecond() != 0:
		return fmt.Errorf("%w: start %s is not a whole second", ErrInvalidLease, rfc3339(l.Start))
	case l.End.Nanosecond() != 0:
		return fmt.Errorf("%w: end %s is not a whole second", ErrInvalidLease, rfc3339(l.End))
	case end <= start:
		return fmt.Errorf("%w: end %s is not after start %s",
			ErrInvalidLease, rfc3339(l.End), rfc3339(l.Start))
	case start < Epoch:
		return fmt.Errorf("%w: start %s is before the epoch, %s", ErrInvalidLease, rfc3339(l.Start), epochText)
	case end > MaxTimestamp+1:
		return fmt.Errorf("%w: end %s: %w", ErrInvalidLease, rfc3339(l.End), ErrEndOfLife)
	}
	return nil
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
