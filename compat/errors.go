package randflake

import "errors"

// The errors of this package. They are never wrapped, so both == and [errors.Is] find them.
var (
	// ErrRandflakeDead says that a lease ends after RANDFLAKE_MAX_TIMESTAMP, or that the clock is after it.
	ErrRandflakeDead = errors.New("randflake: the format ends at 2058-11-05T17:10:23Z")

	// ErrInvalidSecret says that a secret is not 16 bytes long.
	ErrInvalidSecret = errors.New("randflake: invalid secret: want 16 bytes")

	// ErrInvalidLease says that a lease ends before it starts or starts before the epoch, or that the clock is outside
	// the lease: take a new one.
	ErrInvalidLease = errors.New("randflake: invalid lease, or the clock is outside it: take a new one")

	// ErrInvalidNode says that a node is not in the range of 0 to RANDFLAKE_MAX_NODE.
	ErrInvalidNode = errors.New("randflake: invalid node: want 0 to 131071")

	// ErrResourceExhausted says that the node has no ID left in the current second. The next second has new ones.
	ErrResourceExhausted = errors.New("randflake: no ID left in this second: wait for the next one or use more nodes")

	// ErrConsistencyViolation says that the clock is too far behind the newest ID to make another: by more than 10
	// seconds, or by less while that ID's second is used up. It ends when the clock has caught up.
	ErrConsistencyViolation = errors.New("randflake: clock is behind the newest ID: wait until it has caught up")

	// ErrInvalidID says that a text is not an ID.
	ErrInvalidID = errors.New("randflake: invalid ID: want 1 to 13 base32hex digits of at most 64 bits")
)
