package randflake

import (
	"crypto/aes"
	"crypto/cipher"
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
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Secret is the 128-bit key of one ID space. It opens every ID of that space and predicts the next ones. Two secrets
// make two spaces, whose IDs may collide.
//
// The key of a space can be changed: [Secret.Then] adds the next key to a secret, with the second from which on it makes
// IDs. IDs of all keys of a secret differ, and each opens.
//
// A Secret prints as "[redacted]" in packages fmt and slog, and encoding it, as JSON for example, is an error. In
// memory it is encrypted under a random key of the process, so that printers that call no methods, such as those of
// unexported fields, the verb %w or a traceback, show noise. Only Hex reveals it.
//
// The zero Secret is unset. Functions that need a secret refuse it with an error that wraps ErrInvalidSecret; NewCipher
// and the methods CheckValue, Derive and Hex, which return no error, panic with one. 16 zero bytes are not a valid
// secret.
//
// Secrets may be compared with ==.
type Secret struct {
	// veiledMark and the 16 bytes, encrypted, in hexadecimal: text that can't be taken for the secret. For each further
	// key there is a comma, the second from which on it makes IDs, "@" and the same again.
	veiled string
}

// A Key is a key of a secret, as a secret of its own, and the second from which on it makes IDs: the zero Time for the
// first key, which makes all IDs before the second one does.
type Key struct {
	Secret Secret
	From   time.Time
}

const (
	redacted   = "[redacted]"
	veiledMark = "veiled:"
)

var errZeroSecret = fmt.Errorf("%w: it is not set, or all zeros, so that anybody could open its IDs: make one with NewSecret or with the command: randflake secret", ErrInvalidSecret)

var errSecretText = errors.New("randflake: a secret is not encoded: leave it out, or write what its method Hex returns")

// NewSecret returns a fresh random secret from crypto/rand.
func NewSecret() Secret {
	var key [16]byte
	rand.Read(key[:]) // never fails, by its contract
	return veil(key)
}

// SecretFromBytes returns the secret with the given 16 bytes, which it copies. For another length, or 16 zero bytes,
// the error wraps ErrInvalidSecret.
func SecretFromBytes(b []byte) (Secret, error) {
	if len(b) != 16 {
		return Secret{}, fmt.Errorf("%w: want 16 bytes, got %d", ErrInvalidSecret, len(b))
	}
	if [16]byte(b) == [16]byte{} {
		return Secret{}, errZeroSecret
	}
	return veil([16]byte(b)), nil
}

// ParseSecret reads a secret from 32 hexadecimal digits, or from the base64 of its 16 bytes (RFC 4648, either alphabet,
// with or without padding). A secret with several keys has a line for each; those after the first end with the time from
// which on the key makes IDs, as in " from 2026-12-01T00:00:00Z". For other text, and for 16 zero bytes, the error wraps
// ErrInvalidSecret and does not quote the text.
func ParseSecret(text string) (Secret, error) {
	line, rest, more := strings.Cut(text, "\n")
	if !more {
		return parseKey(text)
	}
	secret, err := parseKey(strings.TrimSuffix(line, "\r"))
	for n := 2; err == nil && more; n++ {
		line, rest, more = strings.Cut(rest, "\n")
		key, beginning, found := strings.Cut(strings.TrimSuffix(line, "\r"), " from ")
		from, wrong := time.Parse(time.RFC3339, beginning)
		if !found || wrong != nil {
			return Secret{}, fmt.Errorf("%w: line %d: want a key and from when it makes IDs, as in: KEY from 2026-12-01T00:00:00Z", ErrInvalidSecret, n)
		}
		var next Secret
		if next, err = parseKey(key); err == nil {
			secret, err = secret.Then(next, from)
		}
	}
	if err != nil {
		return Secret{}, err
	}
	return secret, nil
}

// parseKey is ParseSecret for one key.
func parseKey(text string) (Secret, error) {
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
		return Secret{}, fmt.Errorf("%w: want 32 hexadecimal digits or the base64 of 16 bytes, in plain text without quotes, got %d characters", ErrInvalidSecret, len(text))
	}
	return SecretFromBytes(decoded)
}

// Then returns the secret with one more key, next, which makes the IDs from a whole second on that is later than those of
// its keys so far. The keys before go on to open theirs: never leave out one that has made IDs.
//
// A generator with several keys leaves out about as many of its raw values as the time of the earlier keys is of the
// format's 34 years, and takes a little longer for each key. Before a process makes IDs with the new key, the space must
// know it: see lease.Rotate. The errors wrap ErrInvalidSecret.
func (s Secret) Then(next Secret, from time.Time) (Secret, error) {
	if s.IsZero() || next.IsZero() {
		return Secret{}, errZeroSecret
	}
	keys := s.Keys()
	switch last := keys[len(keys)-1].From; {
	case strings.Contains(next.veiled, ","):
		return Secret{}, fmt.Errorf("%w: next key: it is several", ErrInvalidSecret)
	case strings.Contains(s.veiled, next.veiled):
		return Secret{}, fmt.Errorf("%w: next key: the secret has it already: want a new one, from NewSecret", ErrInvalidSecret)
	case from.Nanosecond() != 0 || from.Unix() <= Epoch || from.Unix() > MaxTimestamp:
		return Secret{}, fmt.Errorf("%w: next key: it begins at %s: want a whole second of the format, after %s and up to %s",
			ErrInvalidSecret, from.UTC().Format(time.RFC3339Nano), rfc3339(time.Unix(Epoch, 0)), rfc3339(time.Unix(MaxTimestamp, 0)))
	case !from.After(last):
		return Secret{}, fmt.Errorf("%w: next key: it begins at %s: want a time after %s, when the key before begins", ErrInvalidSecret, rfc3339(from), rfc3339(last))
	}
	return Secret{fmt.Sprintf("%s,%d@%s", s.veiled, from.Unix(), next.veiled)}, nil
}

// Keys returns the keys of the secret, in the order in which they make IDs: one, unless Then added others, and none if
// the secret is unset.
func (s Secret) Keys() (keys []Key) {
	if s.IsZero() {
		return nil
	}
	for i, part := range strings.Split(s.veiled, ",") {
		var key Key
		if i > 0 {
			var from string
			from, part, _ = strings.Cut(part, "@")
			second, _ := strconv.ParseInt(from, 10, 64)
			key.From = time.Unix(second, 0).UTC()
		}
		key.Secret.veiled = part
		keys = append(keys, key)
	}
	return keys
}

// Hex reveals the secret, as 32 hexadecimal digits that ParseSecret reads, and a line for each further key. Write them
// only where nobody but the secret's users can read.
func (s Secret) Hex() string {
	text := hex.EncodeToString(s.bytes()[:])
	for _, key := range s.Keys()[1:] {
		text += fmt.Sprintf("\n%x from %s", *key.Secret.bytes(), rfc3339(key.From))
	}
	return text
}

// IsZero reports whether the secret is unset.
func (s Secret) IsZero() bool { return s.veiled == "" }

// Equal reports whether two secrets are the same. Its time depends on their encrypted form alone.
func (s Secret) Equal(other Secret) bool { return s == other }

// veilCipher encrypts secrets under a key of the process. One block of AES is a permutation of the 16 bytes: two secrets
// are the same when their encrypted forms are, and otherwise these have nothing in common.
var veilCipher = sync.OnceValue(func() cipher.Block {
	var key [16]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // not with 16 bytes
	}
	return block
})

// veil returns the secret with any key, 16 zero bytes included.
func veil(key [16]byte) Secret {
	var veiled [16]byte
	veilCipher().Encrypt(veiled[:], key[:])
	return Secret{veiledMark + hex.EncodeToString(veiled[:])}
}

// bytes returns the key, the first one of several. It panics on the zero Secret.
func (s Secret) bytes() *[16]byte {
	if s.IsZero() {
		panic(errZeroSecret)
	}
	first, _, _ := strings.Cut(s.veiled, ",")
	key, err := hex.DecodeString(strings.TrimPrefix(first, veiledMark))
	if err != nil {
		panic(err) // not of what veil wrote
	}
	veilCipher().Decrypt(key, key)
	return (*[16]byte)(key)
}

// Derive returns the secret of one space of IDs, made from a master secret: HKDF-SHA-256 (RFC 5869) without salt, whose
// info is the 20 bytes "randflake space key ", the version as 4 big-endian bytes, and the name of the space. Each name
// and version has its own derived secret, from which neither the master nor another derived secret can be computed.
// Don't make IDs with the master itself. To change the key of a space, add its next version with Then.
//
// Of a master with several keys it derives one from each, with the same beginnings.
func (s Secret) Derive(space string, version uint32) Secret {
	derived := s.deriveFirst(space, version)
	for _, key := range s.Keys()[1:] {
		derived.veiled += fmt.Sprintf(",%d@%s", key.From.Unix(), key.Secret.deriveFirst(space, version).veiled)
	}
	return derived
}

// deriveFirst is Derive for the first key.
func (s Secret) deriveFirst(space string, version uint32) Secret {
	info := binary.BigEndian.AppendUint32([]byte("randflake space key "), version)
	derived, err := hkdf.Key(sha256.New, s.bytes()[:], nil, string(append(info, space...)), 16)
	if err != nil {
		panic(err) // not with this hash and length
	}
	return veil([16]byte(derived))
}

// CheckValue returns the key check value of the secret, by which two programs can compare their secrets without
// revealing them: the first 8 bytes of HMAC-SHA-256 (RFC 2104) of a fixed text under the secret. Of several keys it is
// the value of the first; Keys has the others.
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

// MarshalText returns an error, so that a configuration is neither saved without its secret nor saved with it by
// accident.
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
