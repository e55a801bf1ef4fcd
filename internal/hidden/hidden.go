// Package hidden keeps keys from printers. Methods alone can't: package fmt calls none for unexported fields,
// and others look into structs, and follow pointers, by reflection.
package hidden

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"unsafe"
)

// block encrypts under a key of the process.
var block = sync.OnceValue(func() cipher.Block {
	var key [aes.BlockSize]byte
	rand.Read(key[:]) // never fails, by its contract
	b, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // not with 16 bytes
	}
	return b
})

// A Key is 16 bytes. One block of AES is a permutation of them: two keys are equal when their encrypted forms are, and
// otherwise these have nothing in common.
type Key struct {
	text string // prefix and the encrypted bytes in hexadecimal, which can't be taken for the key; or empty
}

const prefix = "hidden:"

// KeyOf hides a key. It is never the zero Key.
func KeyOf(key [aes.BlockSize]byte) Key {
	block().Encrypt(key[:], key[:])
	return Key{prefix + hex.EncodeToString(key[:])}
}

// Bytes returns the key. It panics on the zero Key.
func (k Key) Bytes() *[aes.BlockSize]byte {
	key, err := hex.DecodeString(strings.TrimPrefix(k.text, prefix))
	if err != nil {
		panic(err) // not of what KeyOf wrote
	}
	block().Decrypt(key, key)
	return (*[aes.BlockSize]byte)(key)
}

// A Pointer points to something that printers don't find: reflection does not tell what is behind it.
type Pointer[T any] struct{ to unsafe.Pointer }

// To hides what p points to.
func To[T any](p *T) Pointer[T] { return Pointer[T]{unsafe.Pointer(p)} }

// Get returns the pointer; nil from the zero Pointer.
func (p Pointer[T]) Get() *T { return (*T)(p.to) }

// Block returns the cipher b, whose round keys are as good as the key, behind a Pointer.
func Block(b cipher.Block) cipher.Block { return hiddenBlock{To(&b)} }

type hiddenBlock struct{ block Pointer[cipher.Block] }

func (b hiddenBlock) BlockSize() int          { return (*b.block.Get()).BlockSize() }
func (b hiddenBlock) Encrypt(dst, src []byte) { (*b.block.Get()).Encrypt(dst, src) }
func (b hiddenBlock) Decrypt(dst, src []byte) { (*b.block.Get()).Decrypt(dst, src) }
