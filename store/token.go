package store

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// A Token names a holder, or a change, of what a space keeps, so that its maker knows it again. The zero Token stands for none.
type Token [16]byte

// NewToken returns a token that no other call returns: the second of now, in 6 bytes, and 10 random bytes.
func NewToken(now time.Time) (t Token) {
	rand.Read(t[:]) // never fails, by its contract
	var second [8]byte
	binary.BigEndian.PutUint64(second[:], uint64(now.Unix()))
	copy(t[:6], second[2:])
	return t
}

// Second returns the Unix second in which the token was made.
func (t Token) Second() int64 {
	var second [8]byte
	copy(second[2:], t[:6])
	return int64(binary.BigEndian.Uint64(second[:]))
}

// String returns the token as 32 hexadecimal digits.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// MarshalText returns the token as 32 hexadecimal digits.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *Token) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(t)) {
		return fmt.Errorf("store: token %q: want %d hexadecimal digits", text, hex.EncodedLen(len(t)))
	}
	var parsed Token
	if _, err := hex.Decode(parsed[:], text); err != nil {
		return fmt.Errorf("store: token %q: %w", text, err)
	}
	*t = parsed
	return nil
}
