// Package randflake is a drop-in for gosuda.org/randflake v1.8: change the import path to
// github.com/randflake/randflake/compat and nothing else. Therefore the package is not named for its directory: calls
// such as randflake.NewGenerator must go on compiling. For gosuda.org/randflake/v2 there is package compat/v2.
//
// IDs are the same bit for bit: this package opens the IDs of v1.8, and the other way round. The generator is that of
// github.com/randflake/randflake, where new code is at home: it has leases of many nodes, bulk generation, and stores
// that grant leases. What it brings here:
//
//   - No ID is made twice, however many are asked for in one second. v1.8 repeats IDs when a second's are used up.
//   - A clock that steps back costs errors, never a duplicate. Up to 10 seconds behind the newest ID, IDs go on in that
//     ID's second, even if the clock is now before the lease.
//   - IDs of all seconds up to 2058-11-05 17:10:23 UTC open, also those after 2041-10-31, which v1.8 refuses.
//
// What else a program may notice: the sequence numbers of each second begin at 0. [DecodeString] takes only what
// [EncodeString] writes, in either case and with leading zeros: an empty text, padding and more than 64 bits are
// [ErrInvalidID]. After the last second of the format [Generator.Generate] returns [ErrRandflakeDead]. The zero
// [Generator] returns errors where it would have panicked. The errors read differently. Package compat/sparx64 is the
// drop-in for gosuda.org/randflake/sparx64.
//
// # Which implementations agree
//
// By their sources, and by the test vectors that the first two share with this package:
//
//   - Go and Python (gosuda/randflake), v0.1.0 to v2.1.0: the same IDs. They have the text form from v1.6.1 on.
//   - TypeScript (there too), v1.0.0 to v2.1.0: the same IDs, with the text form from v1.8.0 on.
//   - PHP (Adambean/randflake-id-php), where it packs integers with "P" (little-endian): the same IDs from generate(true),
//     which it writes as unsigned decimals, strconv.FormatUint(uint64(id), 10). Its earlier versions, which pack
//     with "J" and require paragonie/constant_time_encoding, have another format: neither integers nor texts agree. They
//     also trim white space and zero bytes off a secret and refuse what is left, so that 4.6% of random secrets can't be
//     used there.
//
// No two generators with one secret, in any of these implementations, may ever share both a node and a second. None of
// them sees to that: it is for the program that gives them their leases, also when it moves from one to another.
package randflake

import (
	"strconv"

	root "github.com/randflake/randflake"
)

// The layout of an ID, from the highest bit to the lowest: timestamp, node, sequence. The names are those of the
// package that this one stands in for.
const (
	// RANDFLAKE_EPOCH_OFFSET is the Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC.
	RANDFLAKE_EPOCH_OFFSET = 1730000000

	RANDFLAKE_TIMESTAMP_BITS = root.TimestampBits // bits that count seconds since the epoch
	RANDFLAKE_NODE_BITS      = root.NodeBits      // bits that name the node
	RANDFLAKE_SEQUENCE_BITS  = root.SequenceBits  // bits that number the IDs of one second

	// RANDFLAKE_MAX_TIMESTAMP is the last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC.
	RANDFLAKE_MAX_TIMESTAMP = RANDFLAKE_EPOCH_OFFSET + 1<<RANDFLAKE_TIMESTAMP_BITS - 1

	RANDFLAKE_MAX_NODE     = root.MaxNode     // the highest node
	RANDFLAKE_MAX_SEQUENCE = root.MaxSequence // the highest sequence number
)

// EncodeString returns the text form of an ID: the unsigned value in base32hex, in lower case, without padding and
// without leading zeros.
func EncodeString(id int64) string { return root.ID(id).String() }

// DecodeString reads the text form of an ID: 1 to 13 base32hex digits, 0-9 and a-v in either case, of at most 64 bits.
// For anything else it returns ErrInvalidID.
func DecodeString(s string) (int64, error) {
	id, err := strconv.ParseUint(s, 32, 64)
	if err != nil || len(s) > 13 {
		return 0, ErrInvalidID
	}
	return int64(id), nil
}
