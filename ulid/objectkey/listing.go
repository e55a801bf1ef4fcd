package objectkey

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/randflake/randflake/ulid"
)

// endTime is the first Unix millisecond that a ULID can't express.
const endTime = 1 << 48

// timeChars is how many of a ULID's characters are its time.
const timeChars = 10

// A Listing is a part of a store's objects, in the terms of ListObjectsV2 of Amazon S3: those with the prefix, and of
// them those whose keys come after StartAfter and before Until. An empty StartAfter or Until is no limit.
//
// Prefix and StartAfter are what to ask for, page by page; the first key that is not less than Until ends it. Objects
// that other formats named may be in between: [Keys.Parse] tells.
type Listing struct {
	Prefix     string
	StartAfter string
	Until      string
}

// Contains reports whether the key is in the listing, for stores that can't start after a key or don't list in order of
// keys.
func (l Listing) Contains(key string) bool {
	return strings.HasPrefix(key, l.Prefix) && key > l.StartAfter && !l.Ends(key)
}

// Ends reports whether a listing in order of keys is at its end when it comes to this key.
func (l Listing) Ends(key string) bool { return l.Until != "" && key >= l.Until }

// Listing returns the listing of all objects whose ULIDs have a time in [from, to): from is in, and to is not. It
// reports false when no ULID can have such a time. The prefix is as long as the interval lets it be.
func (k *Keys) Listing(from, to time.Time) (Listing, bool) {
	first, end := firstMilli(from), firstMilli(to)
	if first >= end {
		return Listing{}, false
	}
	chars := timeChars
	for blockOf(first, chars) != blockOf(end-1, chars) {
		chars--
	}
	return k.within(blockOf(first, chars), chars, first, end), true
}

// Listings returns what Listing does, divided by the first chars characters of the ULID, 1 to 10: the listings of one
// such prefix each, in order, those at both ends limited by StartAfter and Until where need be. Where the keys are
// split there, the prefixes are the folders that a store calls common prefixes. It is for working through an interval
// in parallel, or in portions.
//
// They are made one by one, as there may be many: a year has some 30,000 folders of 6 characters. Another number of
// characters is an error that wraps ErrInvalidFormat.
func (k *Keys) Listings(from, to time.Time, chars int) (iter.Seq[Listing], error) {
	if chars < 1 || chars > timeChars {
		return nil, fmt.Errorf("%w: listings of %d characters: want 1 to %d", ErrInvalidFormat, chars, timeChars)
	}
	first, end := firstMilli(from), firstMilli(to)
	return func(yield func(Listing) bool) {
		for ms := blockOf(first, chars); ms < end; ms += blockSize(chars) {
			if first >= end || !yield(k.within(ms, chars, first, end)) {
				return
			}
		}
	}, nil
}

// Prefixes returns the fewest prefixes that the objects of the interval have, in order, and that no other objects of
// this format have. It is for what takes nothing but prefixes: lifecycle rules, inventories, policies and stores that
// can't start after a key. There are up to 564 for an interval that begins and ends at odd milliseconds, and few for
// round ones. Where a prefix ends at a split, it ends in the delimiter.
func (k *Keys) Prefixes(from, to time.Time) []string {
	var prefixes []string
	for ms, end := firstMilli(from), firstMilli(to); ms < end; {
		chars := timeChars
		for chars > 0 && blockOf(ms, chars-1) == ms && ms+blockSize(chars-1) <= end {
			chars--
		}
		prefixes = append(prefixes, k.point(ms, chars))
		ms += blockSize(chars)
	}
	return prefixes
}

// within returns the listing of what the block of times that begins at ms has in [first, end).
func (k *Keys) within(ms int64, chars int, first, end int64) Listing {
	l := Listing{Prefix: k.point(ms, chars)}
	// All characters of a time are a prefix of its keys: they sort before those, and after all keys of earlier times.
	if first > ms {
		l.StartAfter = k.point(first, timeChars)
	}
	if end < ms+blockSize(chars) {
		l.Until = k.point(end, timeChars)
	}
	return l
}

// point returns what all keys with the first characters of the time ms begin with.
func (k *Keys) point(ms int64, chars int) string {
	var id ulid.ID
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	return string(k.appendChars(nil, id, chars))
}

// blockSize returns how many milliseconds have the same first characters. The first character has 3 bits.
func blockSize(chars int) int64 {
	if chars == 0 {
		return endTime
	}
	return 1 << (5 * (timeChars - chars))
}

// blockOf returns the first millisecond that has the same first characters as ms.
func blockOf(ms int64, chars int) int64 { return ms &^ (blockSize(chars) - 1) }

// firstMilli returns the first Unix millisecond, from 0 to endTime, that does not begin before t.
func firstMilli(t time.Time) int64 {
	switch {
	case t.Before(time.UnixMilli(0)):
		return 0
	case !t.Before(time.UnixMilli(endTime)):
		return endTime
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
