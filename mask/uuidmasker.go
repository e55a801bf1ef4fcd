package mask

import (
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/ff1"
	"github.com/randflake/randflake/internal/hidden"
	"github.com/randflake/randflake/ulid"
)

// A UUIDMasker masks and opens the UUIDs of one kind of thing. It is safe for concurrent use.
type UUIDMasker[T ~[16]byte] struct {
	cipher *ff1.Cipher
	check  func(inner T) error
}

// NewUUIDMasker returns the masker of a kind of thing, whose name must never change: its key is
// derived from secret and the name. check is as that of [NewMasker]: one that allows
// for ten months of times lets one of 10,000 made-up UUIDs pass. It panics if secret is zero.
//
// What is encrypted is 122 bits, which are all but the version and the variant, by FF1-AES-128 of
// radix 2 without a tweak.
func NewUUIDMasker[T ~[16]byte](secret randflake.Secret, kind string, check func(inner T) error) *UUIDMasker[T] {
	key := hidden.Key(secret.Derive("mask.UUID FF1-AES-128\x00"+kind, 1))
	cipher, err := ff1.New(hidden.AES(key), 2, 122, nil)
	if err != nil {
		panic(err) // never: halves of 61 bits are possible
	}
	return &UUIDMasker[T]{cipher, check}
}

// Mask returns the masked form of inner. The error is ErrNoCipher if there is no masker, or wraps
// randflake.ErrInvalidID if inner is not of version 7.
func (m *UUIDMasker[T]) Mask(inner T) (masked T, err error) {
	if m == nil || m.cipher == nil {
		return T{}, ErrNoCipher
	}
	if err := checkVersion(inner, 7); err != nil {
		return T{}, err
	}
	return convert(inner, 4, m.cipher.EncryptHalves), nil
}

// Unmask returns the UUID that was masked. The error is ErrNoCipher if there is no masker, or wraps
// randflake.ErrInvalidID if masked is not of version 4 or the masker's check returns an error, as for
// [Masker.Unmask].
func (m *UUIDMasker[T]) Unmask(masked T) (inner T, err error) {
	if m == nil || m.cipher == nil {
		return T{}, ErrNoCipher
	}
	if err := checkVersion(masked, 4); err != nil {
		return T{}, err
	}
	inner = convert(masked, 7, m.cipher.DecryptHalves)
	if m.check != nil {
		if err := m.check(inner); err != nil {
			return T{}, newImplausible(ulid.FormatUUID(ulid.ID(masked)), err)
		}
	}
	return inner, nil
}

// checkVersion returns an error, which does not show u, unless u has a version and the variant of RFC 9562.
func checkVersion[T ~[16]byte](u T, version byte) error {
	if u[6]>>4 != version || u[8]>>6 != 2 {
		return fmt.Errorf("%w: UUID of another kind: want version %d", randflake.ErrInvalidID, version)
	}
	return nil
}

// A UUID has 48 bits, a version of 4, and 12 bits; then a variant of 2, and 62 bits (RFC 9562). Encrypted are
// the 60 bits around the version and the 62 after the variant. The highest of the latter goes to the former, as FF1
// wants two halves of 61.
const (
	variantBits uint64 = 3 << 62
	variant     uint64 = 2 << 62
	highest     uint64 = 1 << 61 // of the bits after the variant
)

// convert returns u with another version, and what f makes of its other 122 bits.
func convert[T ~[16]byte](u T, version uint64, f func(high, low uint64) (uint64, uint64)) (converted T) {
	around := withoutVersion(binary.BigEndian.Uint64(u[:8]))
	after := binary.BigEndian.Uint64(u[8:]) &^ variantBits
	high, low := f(around<<1|after>>61, after&^highest)
	around = high >> 1
	after = high<<61&highest | low
	binary.BigEndian.PutUint64(converted[:8], withVersion(around, version))
	binary.BigEndian.PutUint64(converted[8:], variant|after)
	return converted
}

// withoutVersion returns the bits around the version in the first half of a UUID.
func withoutVersion(first uint64) uint64 { return first>>16<<12 | first&0xfff }

// withVersion puts a version between the bits around it.
func withVersion(around, version uint64) uint64 { return around>>12<<16 | version<<12 | around&0xfff }
