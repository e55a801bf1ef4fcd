package mask

import (
	"errors"
	"fmt"

	"github.com/randflake/randflake"
)

// A Masker masks and opens the inner IDs of one kind of thing, under one secret. It is safe for concurrent use, and
// must not change for as long as masked IDs are out there.
type Masker[T Inner] struct {
	Cipher *randflake.Cipher

	// Check, if not nil, says why there can't be such an inner value. It is asked about values that were opened, never
	// about those that come from the database: a layout's Inspect that finds no time in the future refuses most
	// forgeries.
	Check func(inner T) error
}

// Mask returns the masked form. It fails with ErrNoCipher, and for a negative value with an error that wraps
// ErrInvalidID.
func (m *Masker[T]) Mask(inner T) (randflake.ID, error) {
	switch {
	case m == nil || m.Cipher == nil:
		return 0, ErrNoCipher
	case inner < 0:
		return 0, errNegative
	}
	return m.Cipher.Encrypt(randflake.Raw(inner)), nil
}

// Open returns what was masked. It fails with ErrNoCipher, and with an error that wraps ErrInvalidID for a masked ID
// that opens to a negative value or to one that Check refuses. Such an error holds neither the inner value nor what
// Check said, but [errors.Is] finds the latter.
func (m *Masker[T]) Open(masked randflake.ID) (T, error) {
	if m == nil || m.Cipher == nil {
		return 0, ErrNoCipher
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
	// ErrInvalidID says that something is not an ID of its space: a text that no ID has, or one that opens to a value
	// that can't be. It is randflake.ErrInvalidID.
	ErrInvalidID = randflake.ErrInvalidID

	// ErrNoCipher says that there is no Masker, or that it has no cipher.
	ErrNoCipher = errors.New("mask: space has no cipher: set it before IDs are masked or opened")
)

var errNegative = fmt.Errorf("%w: inner value is negative", ErrInvalidID)

// An implausible is the error for a masked ID that opens to what can't be. The cause may tell the inner value, so
// errors.Is finds it and nothing prints it.
type implausible struct {
	masked randflake.ID
	cause  error
}

func (e *implausible) Error() string {
	return fmt.Sprintf("%v: %q opens to no plausible value: it was not masked in this space", ErrInvalidID, e.masked)
}

func (e *implausible) Unwrap() error { return ErrInvalidID }

func (e *implausible) Is(target error) bool { return errors.Is(e.cause, target) }
