package mask

import (
	"errors"
	"fmt"

	"github.com/randflake/randflake"
)

// The errors of this package; compare with [errors.Is].
var (
	// ErrNoCipher says that there is no Masker, or that it has no cipher.
	ErrNoCipher = errors.New("mask: kind has no cipher: set it before IDs are masked or opened")

	errNegative = fmt.Errorf("%w: inner value is negative", randflake.ErrInvalidID)

	// errNumber doesn't show the number, which may be an inner value.
	errNumber = fmt.Errorf("%w: a decimal number: want a masked ID", randflake.ErrInvalidID)
)

// An implausibleError is for a masked ID that opens to a value that can't exist.
type implausibleError struct {
	masked string

	// is compares the cause, which may contain the inner value: inside of a function no printer finds it.
	is func(target error) bool
}

func newImplausible(masked string, cause error) error {
	return &implausibleError{masked, func(target error) bool { return errors.Is(cause, target) }}
}

func (e *implausibleError) Error() string {
	return fmt.Sprintf("%v: %q opens to no plausible value: it was not masked under this secret",
		randflake.ErrInvalidID, e.masked)
}

func (e *implausibleError) Unwrap() error { return randflake.ErrInvalidID }

func (e *implausibleError) Is(target error) bool { return e.is(target) }
