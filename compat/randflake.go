// Package randflake is a drop-in for gosuda.org/randflake v1.8: change the import path to
// github.com/randflake/randflake/compat and nothing else. The package is not named after its
// directory, so that calls such as randflake.NewGenerator still compile. For
// gosuda.org/randflake/v2 there is package compat/v2.
//
// IDs are the same bit for bit: this package opens the IDs of v1.8, and v1.8 opens the IDs of this
// package. Texts are the same too, which github.com/randflake/randflake neither writes nor reads.
// The generator is that package's. New code should use it: it has leases of many nodes, bulk
// generation, and stores that grant leases. The differences from v1.8 are:
//
//   - No ID is made twice, however many are requested in one second. v1.8 repeats IDs when the IDs of a second are used
//     up.
//   - A clock that steps back causes errors, never a duplicate. While the clock is up to 10 seconds behind the newest
//     ID, new IDs are made in that ID's second, even if the clock is now before the lease.
//   - IDs of all seconds up to 2058-11-05 17:10:23 UTC can be opened. v1.8 returns errors for IDs after 2041-10-31.
//
// There are smaller differences too. The sequence numbers of each second begin at 0. [DecodeString]
// accepts only the texts of [EncodeString], also in upper case and with leading zeros: for an empty
// text, padding and more than 64 bits it returns [ErrInvalidID]. After the last second of the
// format [Generator.Generate] returns [ErrRandflakeDead]. The zero [Generator] returns errors
// instead of panicking. The texts of the errors differ.
//
// Package compat/sparx64 is the drop-in for gosuda.org/randflake/sparx64.
//
// # Which implementations agree
//
// The following is based on their sources, and for the first two on test vectors that they share
// with this package:
//
//   - Go and Python (gosuda/randflake), v0.1.0 to v2.1.0: the same IDs. They have the text form from v1.6.1 on.
//   - TypeScript (same repository), v1.0.0 to v2.1.0: the same IDs, with the text form from v1.8.0 on.
//   - PHP (Adambean/randflake-id-php), in versions that pack integers with "P" (little-endian): the same IDs from
//     generate(true), which writes them as unsigned decimals, strconv.FormatUint(uint64(id), 10). Earlier versions,
//     which pack with "J" and require paragonie/constant_time_encoding, have another format: neither integers nor texts
//     agree. They also trim white space and zero bytes off a secret and then reject the shorter secret, so 4.6% of
//     random secrets can't be used there.
//
// No two generators with the same secret, in any of these implementations, may ever share both a
// node and a second. The implementations don't check that: the program that assigns leases must
// ensure it, also when it moves from one implementation to another.
package randflake

import (
	"errors"
	"strconv"

	root "github.com/randflake/randflake"
)

// The layout of an ID, from the highest bit to the lowest: timestamp, node, sequence. The names are
// those of the package that this one replaces.
const (
	// RANDFLAKE_EPOCH_OFFSET is the Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC.
	RANDFLAKE_EPOCH_OFFSET = 1730000000

	RANDFLAKE_TIMESTAMP_BITS = 30 // bits that count seconds since the epoch
	RANDFLAKE_NODE_BITS      = 17 // bits that name the node
	RANDFLAKE_SEQUENCE_BITS  = 17 // bits that number the IDs of one second

	// RANDFLAKE_MAX_TIMESTAMP is the last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC.
	RANDFLAKE_MAX_TIMESTAMP = RANDFLAKE_EPOCH_OFFSET + 1<<RANDFLAKE_TIMESTAMP_BITS - 1

	RANDFLAKE_MAX_NODE     = root.MaxNode     // the highest node
	RANDFLAKE_MAX_SEQUENCE = root.MaxSequence // the highest sequence number
)

// EncodeString returns the text form of an ID: the unsigned value in base32hex, in lower case,
// without padding or leading zeros.
func EncodeString(id int64) string { return strconv.FormatUint(uint64(id), 32) }

// DecodeString reads the text form of an ID: 1 to 13 base32hex digits, 0-9 and a-v in either case,
// of at most 64 bits. For anything else it returns ErrInvalidID.
func DecodeString(s string) (int64, error) {
	id, err := strconv.ParseUint(s, 32, 64)
	if err != nil || len(s) > 13 {
		return 0, ErrInvalidID
	}
	return int64(id), nil
}

// The errors of this package. They are never wrapped, so both == and [errors.Is] find them.
var (
	// ErrRandflakeDead says that a lease ends after RANDFLAKE_MAX_TIMESTAMP, or that the clock is after it.
	ErrRandflakeDead = errors.New("randflake: the format ends at 2058-11-05T17:10:23Z")

	// ErrInvalidSecret says that a secret is not 16 bytes long.
	ErrInvalidSecret = errors.New("randflake: invalid secret: want 16 bytes")

	// ErrInvalidLease says that a lease ends before it starts or starts before the epoch, that the
	// clock is outside the lease, or that the lease is that of the machine of which this one is a
	// copy: take a new one.
	ErrInvalidLease = errors.New("randflake: invalid lease, or the clock is outside it: take a new one")

	// ErrInvalidNode says that a node is not in the range of 0 to RANDFLAKE_MAX_NODE.
	ErrInvalidNode = errors.New("randflake: invalid node: want 0 to 131071")

	// ErrResourceExhausted says that the node has no ID left in the current second. The next second
	// has new ones.
	ErrResourceExhausted = errors.New("randflake: no ID left in this second: wait for the next one or use more nodes")

	// ErrConsistencyViolation says that the clock is too far behind the newest ID to make another:
	// by more than 10 seconds, or by less while that ID's second is used up. It ends when the clock
	// has caught up.
	ErrConsistencyViolation = errors.New("randflake: clock is behind the newest ID: wait until it has caught up")

	// ErrInvalidID says that a text is not an ID.
	ErrInvalidID = errors.New("randflake: invalid ID: want 1 to 13 base32hex digits of at most 64 bits")
)
