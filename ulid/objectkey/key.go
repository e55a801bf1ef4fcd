// Package objectkey names objects in an object store by ULID, and finds the objects of a time
// interval without listing others.
//
//	keys, err := objectkey.New(objectkey.Format{Prefix: "events/", Splits: []int{6}, Delimiter: "/", Suffix: ".json"})
//	key := keys.Key(id)                    // events/01JDA7/3N0Q8ZJ5V3D1W9K2M4PX.json
//	listing, ok := keys.Listing(from, to)  // what to ask the store for
package objectkey

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/ulid"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is].
var (
	// ErrInvalidFormat says that a format is invalid, or that listings can't be divided as requested.
	ErrInvalidFormat = errors.New("objectkey: invalid format")

	// ErrInvalidKey says that these Keys did not make this key.
	ErrInvalidKey = errors.New("objectkey: invalid key")
)

const textSize = 26 // characters of a ULID

// A Format defines how a ULID becomes the key of an object: a prefix, the ULID's 26 characters, and a suffix.
//
//	Format{Prefix: "events/", Splits: []int{6, 8}, Delimiter: "/", Suffix: ".json"}
//	events/01JDA7/3N/0Q8ZJ5V3D1W9K2M4PX.json
type Format struct {
	Prefix string // of all keys; no delimiter is added after it

	// Splits says after how many characters of the ULID a delimiter follows: numbers from 1 to 25,
	// ascending. The first 10 characters are the time, so 5 make a folder of 9.3 hours (2^25 ms), 6
	// of 17.5 minutes (2^20 ms), 7 of 33 s, 8 of 1.024 s, 9 of 32 ms and 10 of 1 ms.
	Splits    []int
	Delimiter string // if there are splits, not empty, and without the digits and upper-case letters of ULIDs

	Suffix string
}

// Keys makes and reads the keys of one format. Keys sort in the order of the ULIDs, so a time
// interval is an interval of keys. Keys is immutable and safe for concurrent use.
type Keys struct {
	format Format
	size   int // of every key, in bytes
}

// New returns the Keys of a format. If the format is invalid, the error wraps ErrInvalidFormat.
func New(format Format) (*Keys, error) {
	last := 0
	for _, split := range format.Splits {
		if split <= last || split >= textSize {
			return nil, fmt.Errorf("%w: splits %d: want 1 to %d, ascending", ErrInvalidFormat, format.Splits, textSize-1)
		}
		last = split
	}
	// If a delimiter contained characters of ULIDs, a store would find folders where there are none.
	if last > 0 && (format.Delimiter == "" || strings.ContainsAny(format.Delimiter, idtext.Crockford)) {
		return nil, fmt.Errorf("%w: delimiter %q: want some characters that are none of a ULID's",
			ErrInvalidFormat, format.Delimiter)
	}
	format.Splits = slices.Clone(format.Splits)
	size := len(format.Prefix) + textSize + len(format.Splits)*len(format.Delimiter) + len(format.Suffix)
	return &Keys{format, size}, nil
}

// check panics if New did not make k: each key has a size.
func (k *Keys) check() {
	if k == nil || k.size == 0 {
		panic("objectkey: no Keys, or the zero ones: make them with New")
	}
}

// Key returns the key of the object that id names.
func (k *Keys) Key(id ulid.ID) string {
	k.check()
	return string(append(k.appendChars(make([]byte, 0, k.size), id, textSize), k.format.Suffix...))
}

// Parse returns the ULID of a key. If Key does not return exactly this key for any ID, the error
// wraps ErrInvalidKey.
func (k *Keys) Parse(key string) (ulid.ID, error) {
	k.check()
	text := k.chars(key)
	id, _ := ulid.Parse(string(text[:])) // or the zero ID, whose key is another one
	if k.Key(id) != key {
		return ulid.ID{}, fmt.Errorf("%w: %q: want one like %q", ErrInvalidKey, key, k.Key(ulid.ID{}))
	}
	return id, nil
}

// chars returns the 26 characters of a key in the places of the ULID, or zero bytes if the key has
// the wrong length.
func (k *Keys) chars(key string) (text [textSize]byte) {
	if len(key) != k.size {
		return text
	}
	key = key[len(k.format.Prefix):]
	for i := range text {
		if slices.Contains(k.format.Splits, i) {
			key = key[len(k.format.Delimiter):]
		}
		text[i] = key[0]
		key = key[1:]
	}
	return text
}

// appendChars appends the prefix and the first n characters of id. If there is a split after the
// n-th character, it ends with the delimiter.
func (k *Keys) appendChars(key []byte, id ulid.ID, n int) []byte {
	text := id.String()
	key = append(key, k.format.Prefix...)
	done := 0
	for _, split := range k.format.Splits {
		if split > n {
			break
		}
		key = append(append(key, text[done:split]...), k.format.Delimiter...)
		done = split
	}
	return append(key, text[done:n]...)
}
