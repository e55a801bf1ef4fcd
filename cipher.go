package randflake

import (
	"fmt"
	"unsafe"

	"github.com/randflake/randflake/internal/hidden"
)

// A Cipher turns raw values into IDs and back: it is the block cipher SPARX-64/128 under one
// secret, with its round keys expanded. It is safe for concurrent use. NewCipher makes one. The
// zero Cipher has no keys: methods that need them panic.
//
// A Cipher prints as "[redacted]", since its round keys reveal the secret. A printer that can't
// call Format, as for an unexported field, shows an address.
type Cipher struct {
	schedule hidden.Pointer[roundKeys]
}

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher { return newCipher(secret.bytes()) }

func newCipher(key *[16]byte) *Cipher { return &Cipher{hidden.To(expandKey(key))} }

func (c *Cipher) keys() *roundKeys {
	if c == nil || c.schedule.Get() == nil {
		panic("randflake: no Cipher, or the zero one: make one with NewCipher")
	}
	return c.schedule.Get()
}

// Encrypt returns the ID of a raw value. For other implementations: raw values and IDs alike are
// blocks of 8 bytes, little-endian.
func (c *Cipher) Encrypt(raw Raw) ID {
	return ID(encryptBlock(c.keys(), uint64(raw)))
}

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw {
	return Raw(decryptBlock(c.keys(), uint64(id)))
}

// EncryptSlice is Encrypt of each raw value, into the IDs of dst, and much faster for many. It
// panics if dst is shorter than raws.
func (c *Cipher) EncryptSlice(dst []ID, raws []Raw) {
	encryptBlocks(c.keys(), asUint64(head(dst, len(raws))), asUint64(raws))
}

// DecryptSlice is Decrypt of each ID, into the raw values of dst, and much faster for many. It
// panics if dst is shorter than ids.
func (c *Cipher) DecryptSlice(dst []Raw, ids []ID) {
	decryptBlocks(c.keys(), asUint64(head(dst, len(ids))), asUint64(ids))
}

// Compose returns the ID with the given fields; the time is rounded down to a whole second. For a
// field that does not fit the layout it returns an error that wraps ErrInvalidID, and ErrEndOfLife
// as well if the time is after MaxTimestamp.
//
// Compose does not look at leases: to make unique IDs use a Generator.
func (c *Cipher) Compose(f Fields) (ID, error) {
	second := f.Time.Unix()
	switch {
	case second < Epoch:
		return 0, fmt.Errorf("%w: time %s is before the epoch, %s", ErrInvalidID, rfc3339(f.Time), epochText)
	case second > MaxTimestamp:
		return 0, fmt.Errorf("%w: time %s: %w", ErrInvalidID, rfc3339(f.Time), ErrEndOfLife)
	case f.Node > MaxNode:
		return 0, fmt.Errorf("%w: node %d is above %d", ErrInvalidID, f.Node, MaxNode)
	case f.Sequence > MaxSequence:
		return 0, fmt.Errorf("%w: sequence %d is above %d", ErrInvalidID, f.Sequence, MaxSequence)
	}
	return c.Encrypt(Raw(pack(second, f.Node, f.Sequence))), nil
}

// Inspect opens an ID. The fields are always valid; Within tells whether they are plausible.
func (c *Cipher) Inspect(id ID) Fields { return c.Decrypt(id).Fields() }

// Format prints "[redacted]" for every verb that package fmt leaves to it.
func (Cipher) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// Backend names the implementation of the cipher that this process uses in bulk: "avx512", "avx2",
// "neon", "sve2", or "generic", which is plain Go.
func Backend() string { return active.String() }

// head returns the first n elements of s. The third index makes it panic if s is shorter: s[:n]
// alone could reach beyond s, into its capacity.
func head[T any](s []T, n int) []T { return s[:n:len(s)] }

// asUint64 returns IDs or raw values, in the same memory, as the unsigned integers that the kernels
// work on. An int64 has the size and alignment of a uint64.
func asUint64[T ID | Raw](values []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
