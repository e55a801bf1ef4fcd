package mask

import "github.com/randflake/randflake"

// A Masker masks and unmasks the inner IDs of one kind of thing, under one secret. It is safe for
// concurrent use. NewMasker and MaskerOf make one.
type Masker[T Inner] struct {
	cipher *randflake.Cipher
	check  func(inner T) error
}

// NewMasker returns the masker of a kind of thing, whose name must never change. Its key is that of
// the secret Derive("mask "+kind, 1), which "randflake secret derive" makes for "randflake mask". It
// panics if secret is zero.
//
// check, if not nil, returns an error if inner can't exist. It is called with opened values, not with
// values from the database. For example, a check that calls a layout's Inspect and returns an error
// for a time in the future finds most forgeries.
func NewMasker[T Inner](secret randflake.Secret, kind string, check func(inner T) error) *Masker[T] {
	return MaskerOf(randflake.NewCipher(secret.Derive("mask "+kind, 1)), check)
}

// MaskerOf is NewMasker with a cipher of its own, which no other kind should have. Over randflake.Raw
// it may be the generator's: the masked form is then the Randflake ID itself.
func MaskerOf[T Inner](cipher *randflake.Cipher, check func(inner T) error) *Masker[T] {
	return &Masker[T]{cipher, check}
}

// Mask returns the masked form of inner. The error is ErrNoCipher if there is no cipher, or for a
// negative value wraps randflake.ErrInvalidID.
func (m *Masker[T]) Mask(inner T) (randflake.ID, error) {
	if m == nil || m.cipher == nil {
		return 0, ErrNoCipher
	}
	if inner < 0 {
		return 0, errNegative
	}
	return m.cipher.Encrypt(randflake.Raw(inner)), nil
}

// Unmask returns the value that was masked. The error is ErrNoCipher if there is no cipher, or wraps
// randflake.ErrInvalidID if the value is negative or the masker's check returns an error. That error's text
// contains neither the inner value nor the text of the check's error, but [errors.Is] finds the latter.
func (m *Masker[T]) Unmask(masked randflake.ID) (T, error) {
	if m == nil || m.cipher == nil {
		return 0, ErrNoCipher
	}
	inner := T(m.cipher.Decrypt(masked))
	if inner < 0 {
		return 0, newImplausible(masked.String(), errNegative)
	}
	if m.check != nil {
		if err := m.check(inner); err != nil {
			return 0, newImplausible(masked.String(), err)
		}
	}
	return inner, nil
}

// maskerOf returns the masker M of a kind of IDs or UUIDs, or nil if K is an interface, as in
// ID[Kind[T], T].
func maskerOf[K interface{ Masker() M }, M any]() (masker M) {
	var kind K
	if any(kind) == nil {
		return masker
	}
	return kind.Masker()
}
