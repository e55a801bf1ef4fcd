// Package objectkey names objects in an object store by ULID, and finds those of an interval of time by listing no others.
package objectkey

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/ulid"
)

// The errors of this package. Those that carry more detail wrap one of these, so compare with errors.Is.
var (
	// ErrInvalidFormat says that keys can't be made, or can't be split, as asked for.
	ErrInvalidFormat = errors.New("objectkey: invalid format")

	// ErrInvalidKey says that these Keys did not make this key.
	ErrInvalidKey = errors.New("objectkey: invalid key")
)

const (
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // the digits of ULIDs
	textSize  = 26
)

// A Format says how the keys of objects are made of ULIDs: a prefix, the 26 characters, a suffix.
//
//	Format{Prefix: "events/", Splits: []int{6, 8}, Delimiter: "/", Suffix: ".json"}
//	events/01JDA7/3N/0Q8ZJ5V3D1W9K2M4PX.json
type Format struct {
	Prefix string // of all keys; it ends in a delimiter of its own, or in none

	// Splits are the numbers of characters of the ULID, 1 to 25 and ascending, after which the delimiter follows. The
	// first 10 characters are the time, so 5 make a folder of 9.3 hours (2^25 ms), 6 of 17.5 minutes (2^20 ms), 7 of 33
	// s, 8 of 1.024 s, 9 of 32 ms and 10 of 1 ms.
	Splits    []int
	Delimiter string // not empty when there are splits, and without digits and upper-case letters of ULIDs

	Suffix string
}

// Keys are the keys of objects named by ULID, in one format. They sort as the ULIDs do, so an interval of time is an
// interval of keys. Keys are immutable and safe for concurrent use.
type Keys struct {
	prefix, delimiter, suffix string
	splits                    []int
	size                      int // of every key, in bytes
}

// New returns the keys of a format. A format that can't be is an error that wraps ErrInvalidFormat.
func New(format Format) (*Keys, error) {
	last := 0
	for _, split := range format.Splits {
		if split <= last || split >= textSize {
			return nil, fmt.Errorf("%w: splits %d: want 1 to %d, ascending", ErrInvalidFormat, format.Splits, textSize-1)
		}
		last = split
	}
	// A delimiter with a ULID's characters would let a store find folders where there are none.
	if last > 0 && (format.Delimiter == "" || strings.ContainsAny(format.Delimiter, crockford)) {
		return nil, fmt.Errorf("%w: delimiter %q: want some characters that are none of a ULID's", ErrInvalidFormat, format.Delimiter)
	}
	return &Keys{
		prefix:    format.Prefix,
		delimiter: format.Delimiter,
		suffix:    format.Suffix,
		splits:    slices.Clone(format.Splits),
		size:      len(format.Prefix) + textSize + len(format.Splits)*len(format.Delimiter) + len(format.Suffix),
	}, nil
}

// Key returns the key of the object that id names.
func (k *Keys) Key(id ulid.ID) string {
	return string(append(k.appendChars(make([]byte, 0, k.size), id, textSize), k.suffix...))
}

// Parse returns the ULID that the key is of. Its error wraps ErrInvalidKey when there is no ID of which Key makes that
// key, byte for byte.
func (k *Keys) Parse(key string) (ulid.ID, error) {
	text, ok := k.chars(key)
	id, err := ulid.Parse(string(text[:]))
	if !ok || err != nil || k.Key(id) != key {
		return ulid.ID{}, fmt.Errorf("%w: %q: want one like %q", ErrInvalidKey, key, k.Key(ulid.ID{}))
	}
	return id, nil
}

// chars returns the 26 characters in the places of a key where a ULID's are, when the key is as long as keys are.
func (k *Keys) chars(key string) (text [textSize]byte, ok bool) {
	if len(key) != k.size {
		return text, false
	}
	key = key[len(k.prefix):]
	for i := range text {
		if slices.Contains(k.splits, i) {
			key = key[len(k.delimiter):]
		}
		text[i], key = key[0], key[1:]
	}
	return text, true
}

// appendChars appends the prefix and the first n characters of id. Where there is a split after the last of them its
// delimiter is the end.
func (k *Keys) appendChars(key []byte, id ulid.ID, n int) []byte {
	text := id.String()
	key = append(key, k.prefix...)
	done := 0
	for _, split := range k.splits {
		if split > n {
			break
		}
		key = append(append(key, text[done:split]...), k.delimiter...)
		done = split
	}
	return append(key, text[done:n]...)
}
