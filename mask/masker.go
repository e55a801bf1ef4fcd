package mask

import (
	"errors"
	"fmt"

	"github.com/randflake/randflake"
)

// A Masker masks and opens the inner IDs of one kind of thing, under one secret. It is safe for concurrent use. It must
// not change as long as masked IDs made with it are in use.
type Masker[T Inner] struct {
	// Cipher is of a secret of this space.
	Cipher *randflake.Cipher

	// Check, if not nil, returns an error if inner can't exist. It is called with opened values, not with values from
	// the database. For example, a Check that calls a layout's Inspect and returns an error for a time in the future
	// finds most forgeries.
	Check func(inner T) error
}

// check returns an error that is or wraps ErrNoCipher if there is no cipher for T.
func (m *Masker[T]) check() error {
	if m == nil || m.Cipher == nil {
		return ErrNoCipher
	}
	return nil
}

// Mask returns the masked form of inner. The error is or wraps ErrNoCipher, or for a negative value wraps ErrInvalidID.
func (m *Masker[T]) Mask(inner T) (randflake.ID, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	if inner < 0 {
		return 0, errNegative
	}
	return m.Cipher.Encrypt(randflake.Raw(inner)), nil
}

// Open returns the value that was masked. The error is or wraps ErrNoCipher, or wraps ErrInvalidID if the value is negative or
// Check returns an error. That error's text contains neither the inner value nor the text of Check's error, but
// [errors.Is] finds Check's error.
func (m *Masker[T]) Open(masked randflake.ID) (T, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	inner := T(m.Cipher.Decrypt(masked))
	if inner < 0 {
		return 0, &implausible{masked, errNegative}
	}
	if m.Check != nil {
		if err := m.Check(inner); err != nil {
			return 0, &implausible{masked, err}
		}
	}
	return inner, nil
}

// The errors of this package; compare with [errors.Is].
var (
	// ErrInvalidID says that something is not an ID of its space: its text is malformed, or it opens to a value that
	// can't exist. It is randflake.ErrInvalidID.
	ErrInvalidID = randflake.ErrInvalidID

	// ErrNoCipher says that there is no Masker, or that it has no cipher.
	ErrNoCipher = errors.New("mask: space has no cipher: set it before IDs are masked or opened")
)

var errNegative = fmt.Errorf("%w: inner value is negative", ErrInvalidID)

// An implausible is the error for a masked ID that opens to a value that can't exist. The cause may contain the inner
// value, so errors.Is finds it, but it is never printed.
type implausible struct {
	masked randflake.ID
	cause  error
}

func (e *implausible) Error() string {
	return fmt.Sprintf("%v: %q opens to no plausible value: it was not masked in this space", ErrInvalidID, e.masked)
}

func (e *implausible) Unwrap() error { return ErrInvalidID }

func (e *implausible) Is(target error) bool { return errors.Is(e.cause, target) }
