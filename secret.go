package randflake

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
)

// A Secret is the 128-bit key of one ID space. It opens every ID of that space, and predicts the next ones; two secrets
// are two spaces, whose IDs may collide.
//
// A Secret prints as "[redacted]" in package fmt, in slog, as JSON and as text. Code that prints it without calling its
// methods, such as a traceback, the verb %w or a printer of unexported fields, shows an address. Only Hex gives it
// away.
//
// The zero Secret is unset. What needs a secret refuses it with an error that wraps ErrInvalidSecret, or panics with
// one where it has no error to return: NewCipher and the methods CheckValue, Derive and Hex. No Secret is 16 zero
// bytes.
//
// Compare secrets with Equal: == tells only whether one is a copy of the other.
type Secret struct {
	key **[16]byte // package fmt follows one pointer, for a verb that does not go with it, and tracebacks follow none
}

const redacted = "[redacted]"

var errZeroSecret = fmt.Errorf("%w: it is not set, or all zeros, so that anybody could open its IDs: make one with NewSecret or with the command: randflake secret", ErrInvalidSecret)

// NewSecret returns a fresh random secret from crypto/rand.
func NewSecret() Secret {
	key := new([16]byte)
	rand.Read(key[:]) // never fails, by its contract
	return Secret{&key}
}

// SecretFromBytes returns the secret with the given 16 bytes, which it copies. Another length, and 16 zero bytes, are
// errors that wrap ErrInvalidSecret.
func SecretFromBytes(b []byte) (Secret, error) {
	if len(b) != 16 {
		return Secret{}, fmt.Errorf("%w: want 16 bytes, got %d", ErrInvalidSecret, len(b))
	}
	if [16]byte(b) == [16]byte{} {
		return Secret{}, errZeroSecret
	}
	return anySecret([16]byte(b)), nil
}

// anySecret returns the secret with any key, 16 zero bytes included.
func anySecret(key [16]byte) Secret {
	at := &key
	return Secret{&at}
}

// ParseSecret reads a secret from 32 hexadecimal digits, or from the base64 of its 16 bytes (RFC 4648, either alphabet,
// with or without padding). Other text, and the text of 16 zero bytes, is an error that wraps ErrInvalidSecret and does
// not repeat the text.
func ParseSecret(text string) (Secret, error) {
	var decoded []byte
	var err error
	if len(text) == 32 {
		decoded, err = hex.DecodeString(text)
	} else {
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(text, "-_") {
			encoding = base64.RawURLEncoding
		}
		decoded, err = encoding.Strict().DecodeString(strings.TrimSuffix(text, "=="))
	}
	if err != nil || len(decoded) != 16 || strings.ContainsAny(text, "\r\n") { // base64 skips line breaks
		return Secret{}, fmt.Errorf("%w: want 32 hexadecimal digits or the base64 of 16 bytes, got %d characters that are neither", ErrInvalidSecret, len(text))
	}
	return SecretFromBytes(decoded)
}

// Hex gives the secret away, as 32 hexadecimal digits that ParseSecret reads: to be written where only its users can
// read.
func (s Secret) Hex() string { return hex.EncodeToString(s.bytes()[:]) }

// IsZero reports whether the secret is unset.
func (s Secret) IsZero() bool { return s.key == nil }

// Equal reports whether two secrets are the same, in a time that does not depend on their bytes.
func (s Secret) Equal(other Secret) bool {
	if s.IsZero() || other.IsZero() {
		return s == other
	}
	return subtle.ConstantTimeCompare(s.bytes()[:], other.bytes()[:]) == 1
}

// bytes returns the key. It panics on the zero Secret.
func (s Secret) bytes() *[16]byte {
	if s.IsZero() {
		panic(errZeroSecret)
	}
	return *s.key
}

// Derive returns the secret of one space of IDs, made from a master secret: HKDF-SHA-256 (RFC 5869) without salt, whose
// info is the 20 bytes "randflake space key ", the version as 4 big-endian bytes, and the name of the space. A master
// secret has a derived one for each name and version, and neither the master nor another derived one can be found from
// it. Don't make IDs with the master itself.
//
// To rotate the key of a space, use its next version for new IDs. An ID does not say which version it was made with,
// and versions are spaces whose IDs may collide: keep the version beside each row.
func (s Secret) Derive(space string, version uint32) Secret {
	info := binary.BigEndian.AppendUint32([]byte("randflake space key "), version)
	derived, err := hkdf.Key(sha256.New, s.bytes()[:], nil, string(append(info, space...)), 16)
	if err != nil {
		panic(err) // not with this hash and length
	}
	key := (*[16]byte)(derived)
	return Secret{&key}
}

// CheckValue returns the key check value of the secret, by which two places can find out that they have the same
// secret, or not, without showing it: the first 8 bytes of HMAC-SHA-256 (RFC 2104) of a fixed text under the secret.
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

// MarshalText returns "[redacted]", which UnmarshalText refuses.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText is ParseSecret, so that a configuration file can hold a secret.
func (s *Secret) UnmarshalText(text []byte) error {
	parsed, err := ParseSecret(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
