package ulid

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is]. If the root
// package has an error of the same name, the error here wraps it.
var (
	// ErrTime says that the clock is before 1970 or after 10889-08-02 05:31:50.655 UTC, the last millisecond of 48
	// bits.
	ErrTime = errors.New("ulid: time is outside of a ULID's 48 bits")

	// ErrMonotonicOverflow says that the 80 bits of entropy have no room left for another ID in this millisecond. See
	// [Generator.Generate] for the probability.
	ErrMonotonicOverflow = errors.New("ulid: no room left above the newest ID of this millisecond: wait for the next one")

	// ErrInvalidID says that a text, bytes or a column's value are not an ID.
	ErrInvalidID = alike.Error("ulid: invalid ID", randflake.ErrInvalidID)

	// ErrInvalidOption says that an option can't be used; the error that wraps it says why.
	ErrInvalidOption = alike.Error("ulid: invalid option", randflake.ErrInvalidOption)

	// ErrInvalidUUID says that a text is not a UUID.
	ErrInvalidUUID = errors.New("ulid: invalid UUID")
)
