// Package randflake is a drop-in for gosuda.org/randflake/v2 v2.1.0: change the import path to
// github.com/randflake/randflake/compat/v2 and nothing else. IDs, their texts, errors and their order
// are the same; only what errors say differs. github.com/randflake/randflake neither writes nor
// reads these texts.
//
// The generator is that of github.com/randflake/randflake, with the stricter rules of v2: sequences
// count up from 0 in each second, and a clock that goes back by a second is an error, where the
// generator itself would continue for 10 seconds. As in v2.1.0, one [Generator] never repeats an
// ID, whatever its clock does. But neither v2.1.0 nor this package can stop two generators from
// using the same node and second, for instance after a restart. Package lease of this module can.
//
// Package compat is the drop-in for gosuda.org/randflake v1.8, and for
// gosuda.org/randflake/v2/legacy, which has the same names. Package compat/sparx64 is the drop-in
// for gosuda.org/randflake/v2/sparx64.
package randflake

import (
	"errors"
	"strconv"

	root "github.com/randflake/randflake"
)

// UnixSeconds is a time in whole seconds since 1970-01-01 00:00:00 UTC.
type UnixSeconds int64

// The limits of the parts of an ID.
const (
	Epoch        UnixSeconds = UnixSeconds(root.Epoch)        // the first second: 2024-10-27 03:33:20 UTC
	MaxTimestamp UnixSeconds = UnixSeconds(root.MaxTimestamp) // the last second: 2058-11-05 17:10:23 UTC
	MaxNodeID    uint32      = root.MaxNode
	MaxSequence  uint32      = root.MaxSequence
)

// The errors of this package. They are never wrapped.
var (
	// ErrInvalidSecret says that a secret is not 16 bytes long.
	ErrInvalidSecret = errors.New("randflake: invalid secret: want 16 bytes")

	// ErrInvalidLease says that a lease is empty or outside the format's seconds, that it does not
	// extend the present one, that the clock is outside the lease, or that the lease is that of the
	// machine of which this one is a copy.
	ErrInvalidLease = errors.New("randflake: invalid lease, or the clock is outside it: take a new one")

	// ErrInvalidNode says that a node is above MaxNodeID.
	ErrInvalidNode = errors.New("randflake: invalid node: want 0 to 131071")

	// ErrResourceExhausted says that the node has no ID left in this second. The next second has new ones.
	ErrResourceExhausted = errors.New("randflake: no ID left in this second: wait for the next one or use more nodes")

	// ErrConsistencyViolation says that the clock is at an earlier second than it was before. It
	// ends when the clock has caught up.
	ErrConsistencyViolation = errors.New("randflake: clock went back: wait until it has caught up")

	// ErrInvalidID says that a text is not an ID.
	ErrInvalidID = errors.New("randflake: invalid ID: want 1 to 13 base32hex digits in lower case, " +
		"without leading zeros, of at most 64 bits")
)

// Parts are the contents of an ID. IDs are not authenticated: any 64-bit value opens to some Parts.
type Parts struct {
	Timestamp UnixSeconds
	NodeID    uint32
	Sequence  uint32
}

// EncodeString returns the text form of an ID: the unsigned value in base32hex, in lower case,
// without padding or leading zeros.
func EncodeString(id int64) string { return strconv.FormatUint(uint64(id), 32) }

// DecodeString reads what EncodeString writes. For any other text it returns ErrInvalidID.
func DecodeString(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 32, 64)
	id := int64(n)
	if err != nil || s != EncodeString(id) {
		return 0, ErrInvalidID
	}
	return id, nil
}
