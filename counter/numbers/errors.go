package numbers

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with
// [errors.Is]. If a counter fails, the error wraps that of package counter or lease, for instance
// lease.ErrCounterEnded if all numbers of a period are taken.
var (
	// ErrInvalidPattern says that a pattern can't be used.
	ErrInvalidPattern = errors.New("numbers: invalid pattern")

	// errInvalidOption says that a name or an option can't be used.
	errInvalidOption = alike.Error("numbers: invalid option", randflake.ErrInvalidOption)

	// ErrInvalidNumber says that a text is not a number of the format, or that no number has the
	// given parts.
	ErrInvalidNumber = errors.New("numbers: invalid number")
)
