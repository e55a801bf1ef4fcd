package dudect

import (
	"slices"

	"github.com/randflake/randflake"
)

// A subject is what is measured: calls of one kind, several in a row since one of them takes less than
// the clock can tell.
type subject struct {
	name   string
	calls  int // in one measurement, all of the same class
	blocks int // that one call encrypts

	// expand makes the cipher of each call, where the classes differ by the key. Without it they differ
	// by the plaintext, under one cipher.
	expand  func(randflake.Secret) *randflake.Cipher
	encrypt func(c *randflake.Cipher, dst []randflake.ID, src []randflake.Raw)

	// control returns the same with a planted fault, a new one for each measurement.
	control     func(subject) subject
	controlName string
}

// bulkBlocks fill the kernels of all backends.
const bulkBlocks = 128

const (
	keepsResult = "keeps its last result"
	keepsKeys   = "keeps its last round keys"
)

func subjects() []subject {
	return []subject{
		{"plaintext, one block", 16, 1, nil, encryptOne, keepResult, keepsResult},
		{"plaintext, 128 blocks", 4, bulkBlocks, nil, encryptMany, keepResult, keepsResult},
		{"key, one block", 4, 1, randflake.NewCipher, encryptOne, keepKeys, keepsKeys},
		{"key, 128 blocks", 4, bulkBlocks, randflake.NewCipher, encryptMany, keepKeys, keepsKeys},
	}
}

func encryptOne(c *randflake.Cipher, dst []randflake.ID, src []randflake.Raw) {
	dst[0] = c.Encrypt(src[0])
}

func encryptMany(c *randflake.Cipher, dst []randflake.ID, src []randflake.Raw) {
	c.EncryptSlice(dst, src)
}

// keepResult plants an optimization that looks innocent: it has the last result ready when the same is
// asked again.
func keepResult(s subject) subject {
	var last []randflake.Raw
	var result []randflake.ID
	encrypt := s.encrypt
	s.encrypt = func(c *randflake.Cipher, dst []randflake.ID, src []randflake.Raw) {
		if slices.Equal(src, last) {
			copy(dst, result)
			return
		}
		encrypt(c, dst, src)
		last, result = append(last[:0], src...), append(result[:0], dst...)
	}
	return s
}

// keepKeys plants another one: it expands a secret only when it is another than the last one.
func keepKeys(s subject) subject {
	var last randflake.Secret
	var cipher *randflake.Cipher
	expand := s.expand
	s.expand = func(secret randflake.Secret) *randflake.Cipher {
		if cipher == nil || !secret.Equal(last) {
			last, cipher = secret, expand(secret)
		}
		return cipher
	}
	return s
}
