package mask

import (
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// A UUIDKind is a kind of thing that returns the masker of its UUIDs. Otherwise it is as a [Kind].
type UUIDKind[T ~[16]byte] interface{ Masker() *UUIDMasker[T] }

// A UUID holds a UUID of version 7, whose first 48 bits are the time, and shows one of version 4,
// whose bits all look random. It does so as an [ID] does: the database reads and writes the inner
// UUID, and what asks for a text gets the masked one. T is any type of 16 bytes, such as
// that of Go's package uuid, of google/uuid or of gofrs/uuid. The zero UUID holds zeros, which
// can't be masked.
//
// It isn't an ID of another inner type, as its text is a UUID without a prefix, and so is its column.
type UUID[K UUIDKind[T], T ~[16]byte] [16]byte

// OfUUID returns the UUID with the given inner one. One of another version than 7 is an error where
// it is masked.
func OfUUID[K UUIDKind[T], T ~[16]byte](inner T) UUID[K, T] { return UUID[K, T](inner) }

// Inner returns the inner UUID, which is not encrypted.
func (id UUID[K, T]) Inner() T { return T(id) }

// IsZero reports whether the inner UUID is zero, for omitempty in YAML, which never omits an array
// otherwise.
func (id UUID[K, T]) IsZero() bool { return id == UUID[K, T]{} }

// ParseUUID opens the text of a masked UUID, in either case. The error wraps randflake.ErrInvalidID, or is
// one of UUIDMasker.Unmask.
func ParseUUID[K UUIDKind[T], T ~[16]byte](text string) (id UUID[K, T], err error) {
	err = id.UnmarshalText([]byte(text))
	return id, err
}

// UnmarshalText is ParseUUID.
func (id *UUID[K, T]) UnmarshalText(text []byte) error {
	masked, err := ulid.ParseUUID(string(text))
	if err != nil {
		return fmt.Errorf("%w: want the 36 characters of a UUID, got %d bytes", randflake.ErrInvalidID, len(text))
	}
	inner, err := maskerOf[K]().Unmask(T(masked))
	if err == nil {
		*id = OfUUID[K](inner)
	}
	return err
}

// MarshalText returns the masked form, which is also what JSON and package slog have. The error is
// one of UUIDMasker.Mask.
func (id UUID[K, T]) MarshalText() ([]byte, error) {
	masked, err := maskerOf[K]().Mask(id.Inner())
	if err != nil {
		return nil, err
	}
	return []byte(ulid.FormatUUID(ulid.ID(masked))), nil
}

// String returns the masked form, or if there is none, the error's text in brackets.
func (id UUID[K, T]) String() string { return shown(id.MarshalText()) }

// Format prints what String returns, for every verb that package fmt leaves to it, in quotes for
// %q.
func (id UUID[K, T]) Format(f fmt.State, verb rune) { format(f, verb, id.String()) }
