package randflake

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/randflake/randflake/internal/hidden"
)

// A Secret is the 128-bit key of one ID space. It opens every ID of that space and predicts the
// next ones. Two secrets make two spaces, whose IDs may collide.
//
// A secret that has to be changed is followed by another one, with a space of leases of its own:
// see the example.
//
// A Secret prints as "[redacted]" in packages fmt and slog, and encoding it, as JSON for example,
// is an error. In memory it is encrypted under a random key of the process, so that printers that
// call no methods, such as those of unexported fields, the verb %w or a traceback, show noise. Only
// Hex reveals it.
//
// The zero Secret is unset. Functions that need a secret refuse it with an error that wraps
// ErrInvalidSecret. NewCipher, CheckValue, Derive and Hex return no error: they panic with it. 16
// zero bytes are not a valid secret either.
//
// Secrets may be compared with ==, which compares their encrypted forms.
type Secret hidden.Key

const secretSize = 16 // bytes

const redacted = "[redacted]"

var errZeroSecret = fmt.Errorf("%w: it is not set, or all zeros, so that anybody could open its IDs: "+
	"make one with NewSecret or with the command: randflake secret new",
	ErrInvalidSecret)

var errSecretText = errors.New("randflake: a secret is not encoded: leave it out, or write what its method Hex returns")

// NewSecret returns a fresh random secret from crypto/rand.
func NewSecret() Secret {
	var key [secretSize]byte
	rand.Read(key[:]) // never fails, by its contract
	return secretOf(key)
}

// SecretFromBytes returns the secret with the given 16 bytes, which it copies. For another length,
// or 16 zero bytes, the error wraps ErrInvalidSecret.
func SecretFromBytes(b []byte) (Secret, error) {
	if len(b) != secretSize {
		return Secret{}, fmt.Errorf("%w: want %d bytes, got %d", ErrInvalidSecret, secretSize, len(b))
	}
	key := [secretSize]byte(b)
	if key == [secretSize]byte{} {
		return Secret{}, errZeroSecret
	}
	return secretOf(key), nil
}

// ParseSecret reads a secret from 32 hexadecimal digits, or from the base64 of its 16 bytes (RFC
// 4648, either alphabet, with or without padding), with or without a line break at the end, as
// files have it. For other text, and for 16 zero bytes, the error wraps ErrInvalidSecret and does
// not quote the text.
func ParseSecret(text string) (Secret, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	key, err := decodeSecret(text)
	if err != nil || len(key) != secretSize {
		return Secret{}, fmt.Errorf("%w: want 32 hexadecimal digits or the base64 of 16 bytes, "+
			"in plain text without quotes, got %d bytes", ErrInvalidSecret, len(text))
	}
	return SecretFromBytes(key)
}

// decodeSecret returns the bytes that a text stands for. Its error is not for callers.
func decodeSecret(text string) ([]byte, error) {
	if len(text) == 2*secretSize {
		return hex.DecodeString(text)
	}
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("a line break, which package base64 would skip")
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	return encoding.Strict().DecodeString(strings.TrimSuffix(text, "=="))
}

// Hex reveals the secret, as 32 hexadecimal digits that ParseSecret reads. Write them only where
// nobody but the secret's users can read.
func (s Secret) Hex() string { return hex.EncodeToString(s.bytes()[:]) }

// IsZero reports whether the secret is unset.
func (s Secret) IsZero() bool { return s == Secret{} }

// secretOf takes 16 zero bytes too. The packages under compat convert a hidden.Key, as no other
// module can, because they take any key.
func secretOf(key [secretSize]byte) Secret { return Secret(hidden.KeyOf(key)) }

// bytes returns the key. It panics on the zero Secret.
func (s Secret) bytes() *[secretSize]byte {
	if s.IsZero() {
		panic(errZeroSecret)
	}
	return hidden.Key(s).Bytes()
}

// Derive returns the secret of one space of IDs, made from a master secret: HKDF-SHA-256 (RFC 5869)
// without salt, whose info is the 20 bytes "randflake space key ", the version as 4 big-endian
// bytes, and the name of the space. Each name and version has its own derived secret, from which
// neither the master nor another derived secret can be computed. Don't make IDs with the master
// itself. To change the secret of a space, take the next version.
func (s Secret) Derive(space string, version uint32) Secret {
	info := binary.BigEndian.AppendUint32([]byte("randflake space key "), version)
	derived, err := hkdf.Key(sha256.New, s.bytes()[:], nil, string(append(info, space...)), secretSize)
	if err != nil {
		panic(err) // not with this hash and length
	}
	return secretOf([secretSize]byte(derived))
}

// CheckValue returns the key check value of the secret, by which two programs can compare their
// secrets without revealing them: the first 8 bytes of HMAC-SHA-256 (RFC 2104) of a fixed text
// under the secret.
func (s Secret) CheckValue() (check [8]byte) {
	mac := hmac.New(sha256.New, s.bytes()[:])
	mac.Write([]byte("randflake key check value"))
	copy(check[:], mac.Sum(nil))
	return check
}

// Format prints "[redacted]" for every verb that package fmt leaves to it.
func (Secret) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns an error, so that a configuration is neither saved without its secret nor
// saved with it by accident.
func (Secret) MarshalText() ([]byte, error) { return nil, errSecretText }

// UnmarshalText is ParseSecret, so that a configuration file can hold a secret.
func (s *Secret) UnmarshalText(text []byte) error {
	parsed, err := ParseSecret(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
