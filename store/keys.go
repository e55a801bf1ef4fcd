package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
)

// A CheckValue is a one-way value of a key: it distinguishes keys without revealing them.
type CheckValue [8]byte

// String returns the value as 16 hexadecimal digits.
func (c CheckValue) String() string { return hex.EncodeToString(c[:]) }

// A Key is a key of a secret, as a space knows it.
type Key struct {
	Check CheckValue
	From  int64 // the Unix second from which on it makes IDs, or 0 for the first key
}

// Keys are the keys of a secret, in the order in which they make IDs; nil stands for no secret. The text form has them
// with commas between: the check value of each, and for all but the first "@" and the second from which on it makes IDs.
type Keys []Key

// KeysOf returns the keys of a secret.
func KeysOf(secret randflake.Secret) (keys Keys) {
	for i, key := range secret.Keys() {
		keys = append(keys, Key{Check: key.Secret.CheckValue()})
		if i > 0 {
			keys[i].From = key.From.Unix()
		}
	}
	return keys
}

// String returns the text form.
func (k Keys) String() string {
	var b []byte
	for i, key := range k {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, key.Check.String()...)
		if i > 0 {
			b = strconv.AppendInt(append(b, '@'), key.From, 10)
		}
	}
	return string(b)
}

// MarshalText returns the text form.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the text form.
func (k *Keys) UnmarshalText(text []byte) error {
	var keys Keys
	for part := range strings.SplitSeq(string(text), ",") {
		check, from, later := strings.Cut(part, "@")
		if len(text) == 0 {
			break
		}
		key, n := Key{}, len(keys)
		decoded, err := hex.DecodeString(check)
		if later && err == nil {
			key.From, err = strconv.ParseInt(from, 10, 64)
		}
		if err != nil || copy(key.Check[:], decoded) != len(decoded) || len(decoded) != len(key.Check) || later != (n > 0) ||
			n > 0 && key.From <= keys[n-1].From || key.From > farthest {
			return fmt.Errorf("store: check value %.200q: want 16 hexadecimal digits, and for each further key a comma, 16 digits, @ and a later second", text)
		}
		keys = append(keys, key)
	}
	*k = keys
	return nil
}

// CheckSecret returns the second from which on the keys of the space are others than those of the caller, whose grants
// must end before. The error wraps ErrWrongSecret if the space is bound to another secret, or if a grant that starts at
// second needs a key that the caller or the space does not have. A caller that shows no keys counts as one that has the
// first. A space that is bound to no secret counts as bound to the first key of keys.
func (v *View) CheckSecret(keys Keys, second int64) (until int64, err error) {
	bound := v.Meta.Check
	switch {
	case len(bound)+len(keys) == 0:
		return math.MaxInt64, nil
	case len(bound) == 0:
		bound = keys[:1]
	case len(keys) == 0:
		keys = bound[:1]
	}
	if keys[0] != bound[0] {
		return 0, fmt.Errorf("%w: its check value is %s, that of this secret is %s: is it the secret of another environment?", ErrWrongSecret, bound[0].Check, keys[0].Check)
	}
	same := 1
	for same < min(len(keys), len(bound)) && keys[same] == bound[same] {
		same++
	}
	until, missing := int64(math.MaxInt64), ""
	if same < len(keys) {
		until = keys[same].From
		missing = "the space does not know the key of this secret that begins at %s: add it to the space in time with randflake lease rotate, or take it out of the secret; if IDs of that key exist, make another space for the secret with randflake lease init"
	}
	if same < len(bound) && bound[same].From <= until {
		until = bound[same].From
		missing = "the key of the space changed at %s: start the process again with the secret that has the new key"
	}
	if second >= until {
		return 0, fmt.Errorf("%w: "+missing, ErrWrongSecret, stamp(until))
	}
	return until, nil
}

// AddKeys makes the space know further keys of its secret. From then on no grant to a caller that lacks the next key
// reaches its beginning. That must lie so far ahead that all earlier grants end before it: MaxTTL + MaxSkew at least.
// keys has the space's present keys first; if it has no others AddKeys does nothing. Keys can't be taken back.
//
// AddKeys goes by the seconds of items. For leases use lease.Rotate, which looks at their ends too.
func (s *Space) AddKeys(ctx context.Context, keys Keys) error {
	for range tries {
		v, err := s.Read(ctx, nil, Page{})
		if err != nil {
			return err
		}
		bound := v.Meta.Check
		if len(bound) > len(keys) || !slices.Equal(keys[:len(bound)], bound) {
			return fmt.Errorf("%w: %s has the keys %s, and the secret has %s: want those of the space first: was another copy of the secret rotated?", ErrWrongSecret, s, bound, keys)
		}
		if len(bound) == len(keys) {
			return nil
		}
		newest, err := s.newest(ctx, v.Meta.Barred)
		if err != nil {
			return err
		}
		reach := &Meta{MaxTTL: v.Meta.MaxTTL, MaxSkew: v.Meta.MaxSkew}
		if err := s.raiseFloor(reach, newest, v.Now); err != nil {
			return err
		}
		if next := keys[max(len(bound), 1):]; len(next) > 0 && next[0].From < reach.Floor {
			return fmt.Errorf("%w: %s: a key that begins at %s: want %s or later, after all leases that were granted without it", ErrInvalidOption, s, stamp(next[0].From), stamp(reach.Floor))
		}
		if done, _, err := s.Swap(ctx, v, Change{Keys: keys, addKeys: true}); err != nil || done {
			return err
		}
	}
	return s.contended()
}
