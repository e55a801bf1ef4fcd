package randflake

import (
	"fmt"
	"unsafe"
)

// A Cipher turns raw values into IDs and back: it is the block cipher SPARX-64/128 under one secret, with its round
// keys expanded. It is safe for concurrent use. NewCipher makes one; the zero Cipher has no keys, and panics.
//
// A Cipher prints as "[redacted]", since its round keys reveal the secret. A printer that does not call Format, such as
// one of unexported fields, shows an address.
type Cipher struct {
	schedule unsafe.Pointer // to roundKeys: no printer follows it, as reflection does not tell what is there
}

// NewCipher returns the cipher of a secret. It panics when the secret is unset.
func NewCipher(secret Secret) *Cipher { return newCipher(secret.bytes()) }

func newCipher(key *[16]byte) *Cipher { return &Cipher{schedule: unsafe.Pointer(expandKey(key))} }

func (c *Cipher) keys() *roundKeys {
	if c == nil || c.schedule == nil {
		panic("randflake: no Cipher, or the zero one: make one with NewCipher")
	}
	return (*roundKeys)(c.schedule)
}

// Encrypt returns the ID of a raw value. The block is the value's 8 little-endian bytes.
func (c *Cipher) Encrypt(raw Raw) ID {
	return ID(encryptBlock(c.keys(), uint64(raw)))
}

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(id ID) Raw {
	return Raw(decryptBlock(c.keys(), uint64(id)))
}

// DecryptSlice is Decrypt of each ID in ids, into the raw values of dst, and much faster for many. It panics if dst is shorter.
func (c *Cipher) DecryptSlice(dst []Raw, ids []ID) {
	decryptBlocks(c.keys(), asUint64(dst[:len(ids):len(dst)]), asUint64(ids))
}

// asUint64 returns IDs or raw values, in the same memory, as the unsigned integers that the kernels work on. An int64
// has the size and alignment of a uint64.
func asUint64[T ID | Raw](values []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// Format prints "[redacted]" for every verb.
func (Cipher) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }
