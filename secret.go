package randflake

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
)

// A Secret is the 128-bit key of one ID space. Whoever has it can open every ID of that space
// and predict the next ones; two secrets are two spaces, whose IDs may collide.
//
// A Secret prints as "[redacted]" in package fmt, in slog, as JSON and as text. Package fmt does
// not ask the value for the verb %p, which go vet objects to, nor a value in an unexported field:
// keep a Secret out of structs that are printed whole. To store one, write
// hex.EncodeToString(secret[:]) where only its users can read.
type Secret [16]byte

const redacted = "[redacted]"

// NewSecret returns a fresh random secret from crypto/rand.
func NewSecret() Secret {
	var s Secret
	rand.Read(s[:]) // never fails, by its contract
	return s
}

// ParseSecret reads a secret from 32 hexadecimal digits, or from the base64 of its 16 bytes
// (RFC 4648, either alphabet, with or without padding). Other text is an error that wraps
// ErrInvalidSecret and does not repeat the text.
func ParseSecret(text string) (Secret, error) {
	var s Secret
	var decoded []byte
	var err error
	if len(text) == 2*len(s) {
		decoded, err = hex.DecodeString(text)
	} else {
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(text, "-_") {
			encoding = base64.RawURLEncoding
		}
		decoded, err = encoding.Strict().DecodeString(strings.TrimSuffix(text, "=="))
	}
	if err != nil || len(decoded) != len(s) || strings.ContainsAny(text, "\r\n") { // base64 skips line breaks
		return Secret{}, fmt.Errorf("%w: want 32 hexadecimal digits or the base64 of 16 bytes, got %d characters that are neither", ErrInvalidSecret, len(text))
	}
	copy(s[:], decoded)
	return s, nil
}

// CheckValue returns the key check value of the secret, by which two places can find out that they have the
// same secret, or not, without showing it: the first 8 bytes of HMAC-SHA-256 (RFC 2104) of a fixed text under the secret.
func (s Secret) CheckValue() (check [8]byte) {
	mac := hmac.New(sha256.New, s[:])
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
