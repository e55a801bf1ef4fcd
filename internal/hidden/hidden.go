// Package hidden keeps keys from printers. Methods alone can't: package fmt calls none for
// unexported fields, and other printers look into structs, and follow pointers, by reflection.
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

// block is AES-128 under a key of the process.
var block = sync.OnceValue(func() cipher.Block {
	var key [16]byte
	rand.Read(key[:]) // never fails, by its contract
	b, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // never: 16 bytes are a key
	}
	return b
})

// A Key is 16 bytes. It holds them encrypted under a key of the process: printers show noise.
// Encryption is a permutation, so == compares keys.
type Key struct {
	text string // prefix and the encrypted bytes in hexadecimal; empty in the zero Key
}

// prefix shows a person that what a printer prints is no key.
const prefix = "hidden:"

// KeyOf hides a key. It is never the zero Key.
func KeyOf(key [16]byte) Key {
	block().Encrypt(key[:], key[:])
	return Key{prefix + hex.EncodeToString(key[:])}
}

// Bytes returns the key. It panics on the zero Key.
func (k Key) Bytes() *[16]byte {
	if k.text == "" {
		panic("hidden: no key")
	}
	key, err := hex.DecodeString(strings.TrimPrefix(k.text, prefix))
	if err != nil {
		panic(err) // never: KeyOf wrote it
	}
	block().Decrypt(key, key)
	return (*[16]byte)(key)
}

// A Pointer hides what it points to: it holds an unsafe.Pointer, behind which reflection finds no
// type.
type Pointer[T any] struct{ to unsafe.Pointer }

// To hides what p points to.
func To[T any](p *T) Pointer[T] { return Pointer[T]{unsafe.Pointer(p)} }

// Get returns the pointer; nil from the zero Pointer.
func (p Pointer[T]) Get() *T { return (*T)(p.to) }

// AES returns AES-128 under a key. It hides its round keys, which are as good as the key.
func AES(key Key) cipher.Block {
	b, err := aes.NewCipher(key.Bytes()[:])
	if err != nil {
		panic(err) // never: 16 bytes are a key
	}
	return hiddenBlock{To(&b)}
}

// A hiddenBlock has a pointer to the interface, as a Pointer holds nothing else.
type hiddenBlock struct{ to Pointer[cipher.Block] }

func (b hiddenBlock) BlockSize() int          { return (*b.to.Get()).BlockSize() }
func (b hiddenBlock) Encrypt(dst, src []byte) { (*b.to.Get()).Encrypt(dst, src) }
func (b hiddenBlock) Decrypt(dst, src []byte) { (*b.to.Get()).Decrypt(dst, src) }
