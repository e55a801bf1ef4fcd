package mask

import (
	"crypto/aes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter/numbers/ff1"
	"github.com/randflake/randflake/ulid"
)

// A UUIDSpace is a kind of thing that returns the masker of its UUIDs. Otherwise it is as a [Space].
type UUIDSpace[T ~[16]byte] interface{ Masker() *UUIDMasker[T] }

// A UUID holds a UUID of version 7, whose first 48 bits are the time, and shows one of version 4, whose bits all look random. It does so
// as an [ID] does: the database reads and writes the inner UUID, and everything else shows the masked one. T is any type of 16 bytes,
// such as that of Go's package uuid, of google/uuid or of gofrs/uuid. The zero UUID holds zeros, which can't be masked or stored.
//
// It isn't an ID of another inner type, as its text is a UUID without a prefix, and so is its column.
type UUID[S UUIDSpace[T], T ~[16]byte] struct {
	_      [0]*S
	_      [0]*T
	hidden [2]randflake.ID
}

// OfUUID returns the UUID with the given inner one. One of another version than 7 is an error where it is masked or stored.
func OfUUID[S UUIDSpace[T], T ~[16]byte](inner T) UUID[S, T] {
	high, low := binary.BigEndian.Uint64(inner[:8]), binary.BigEndian.Uint64(inner[8:])
	return UUID[S, T]{hidden: [2]randflake.ID{hide(randflake.Raw(high)), hide(randflake.Raw(low))}}
}

// Inner returns the inner UUID, which is not encrypted.
func (id UUID[S, T]) Inner() (inner T) {
	binary.BigEndian.PutUint64(inner[:8], uint64(reveal(id.hidden[0])))
	binary.BigEndian.PutUint64(inner[8:], uint64(reveal(id.hidden[1])))
	return inner
}

// IsZero reports whether the inner UUID is zero, as the one of an ID.
func (id UUID[S, T]) IsZero() bool { return id == UUID[S, T]{} }

// ParseUUID opens the text of a masked UUID, in either case. The error wraps ErrInvalidID, or is one of UUIDMasker.Open.
func ParseUUID[S UUIDSpace[T], T ~[16]byte](text string) (id UUID[S, T], err error) {
	err = id.UnmarshalText([]byte(text))
	return id, err
}

// String returns the masked form, or if there is none, the error's text in brackets.
func (id UUID[S, T]) String() string {
	text, err := id.MarshalText()
	if err != nil {
		return "[" + err.Error() + "]"
	}
	return string(text)
}

// Format prints what String returns, for every verb, in quotes for %q.
func (id UUID[S, T]) Format(f fmt.State, verb rune) { format(f, verb, id.String()) }

// MarshalText returns the masked form, which is also what JSON and package slog have. The error is one of UUIDMasker.Mask.
func (id UUID[S, T]) MarshalText() ([]byte, error) {
	masked, err := (*new(S)).Masker().Mask(id.Inner())
	if err != nil {
		return nil, err
	}
	return []byte(ulid.FormatUUID(ulid.ID(masked))), nil
}

// UnmarshalText is ParseUUID.
func (id *UUID[S, T]) UnmarshalText(text []byte) error {
	masked, err := ulid.ParseUUID(string(text))
	if err != nil {
		return fmt.Errorf("%w: %.40q: want a UUID", ErrInvalidID, text)
	}
	inner, err := (*new(S)).Masker().Open(T(masked))
	if err == nil {
		*id = OfUUID[S](inner)
	}
	return err
}

// MarshalBinary is MarshalText, for package gob.
func (id UUID[S, T]) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalParam is UnmarshalText, for gin and echo.
func (id *UUID[S, T]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *UUID[S, T]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// UnmarshalBinary is UnmarshalText.
func (id *UUID[S, T]) UnmarshalBinary(data []byte) error { return id.UnmarshalText(data) }

// Value returns the text of the inner UUID for the database. For another version than 7 the error wraps ErrInvalidID. For a BINARY(16)
// pass the 16 bytes of what Inner returns, as by inner[:], since most types of UUIDs are texts to a database.
func (id UUID[S, T]) Value() (driver.Value, error) {
	inner := id.Inner()
	return ulid.FormatUUID(ulid.ID(inner)), checkVersion(inner, 7)
}

// Scan reads the inner UUID from its text or its 16 bytes. For anything else, and for another version than 7, the error wraps
// ErrInvalidID. For a column that may be NULL use a pointer.
func (id *UUID[S, T]) Scan(src any) error {
	var inner ulid.ID
	if inner.Scan(src) != nil || checkVersion(T(inner), 7) != nil {
		return fmt.Errorf("%w: can't scan a %T: want a UUID of version 7, as text or 16 bytes", ErrInvalidID, src)
	}
	*id = OfUUID[S](T(inner))
	return nil
}

// A UUIDMasker masks and opens the UUIDs of one kind of thing. It is safe for concurrent use.
type UUIDMasker[T ~[16]byte] struct {
	cipher *ff1.Wide
	check  func(inner T) error
}

// NewUUIDMasker returns a masker with a key of its own that is derived from secret. check, if not nil, is as Check of a [Masker]: one that
// allows for ten months of times lets one of 10,000 made-up UUIDs pass. It panics if secret is zero.
//
// What is encrypted is 122 bits, which are all but the version and the variant, by FF1-AES-128 of radix 2 without a tweak.
func NewUUIDMasker[T ~[16]byte](secret randflake.Secret, check func(inner T) error) *UUIDMasker[T] {
	key, _ := hex.DecodeString(secret.Derive("mask UUID FF1-AES-128", 1).Hex())
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // not with a key of 16 bytes
	}
	cipher, err := ff1.NewWide(block, 2, 122, nil)
	if err != nil {
		panic(err) // not with halves of 61 bits
	}
	return &UUIDMasker[T]{cipher, check}
}

// Mask returns the masked form of inner. The error is ErrNoCipher if there is no masker, or wraps ErrInvalidID if inner is not of version 7.
func (m *UUIDMasker[T]) Mask(inner T) (masked T, err error) {
	if m == nil || m.cipher == nil {
		return T{}, ErrNoCipher
	}
	if err := checkVersion(inner, 7); err != nil {
		return T{}, err
	}
	return convert(inner, 4, m.cipher.Encrypt), nil
}

// Open returns the UUID that was masked. The error is ErrNoCipher if there is no masker, or wraps ErrInvalidID if masked is not of version 4
// or the masker's check returns an error, as for [Masker.Open].
func (m *UUIDMasker[T]) Open(masked T) (inner T, err error) {
	if m == nil || m.cipher == nil {
		return T{}, ErrNoCipher
	}
	if err := checkVersion(masked, 4); err != nil {
		return T{}, err
	}
	inner = convert(masked, 7, m.cipher.Decrypt)
	if m.check != nil {
		if err := m.check(inner); err != nil {
			return T{}, &implausible{ulid.FormatUUID(ulid.ID(masked)), err}
		}
	}
	return inner, nil
}

// checkVersion returns an error, which does not show u, unless u has a version and the variant of RFC 9562.
func checkVersion[T ~[16]byte](u T, version byte) error {
	if u[6]>>4 != version || u[8]>>6 != 2 {
		return fmt.Errorf("%w: UUID of another kind: want version %d", ErrInvalidID, version)
	}
	return nil
}

// convert returns u with another version, and what f makes of its other bits: 60 around the version and 62 after the variant, of which f
// gets 61 each.
func convert[T ~[16]byte](u T, version uint64, f func(high, low uint64) (uint64, uint64)) (converted T) {
	a, b := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])&(1<<62-1)
	around := a>>16<<12 | a&0xfff
	high, low := f(around<<1|b>>61, b&(1<<61-1))
	around = high >> 1
	binary.BigEndian.PutUint64(converted[:8], around>>12<<16|version<<12|around&0xfff)
	binary.BigEndian.PutUint64(converted[8:], 1<<63|high&1<<61|low)
	return converted
}
