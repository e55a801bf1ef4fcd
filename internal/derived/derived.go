// Package derived makes keys from a secret, for other algorithms than the cipher of IDs.
package derived

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/hidden"
)

// Key returns 16 bytes that depend on the secret and a label. It panics if secret is zero.
func Key(secret randflake.Secret, label string) []byte {
	key, _ := hex.DecodeString(secret.Derive(label, 1).Hex()) // which is always hexadecimal
	return key
}

// AES returns AES-128 under the key of a label, which printers don't show.
func AES(secret randflake.Secret, label string) cipher.Block {
	block, err := aes.NewCipher(Key(secret, label))
	if err != nil {
		panic(err) // never: 16 bytes are a key
	}
	return hidden.Block(block)
}
