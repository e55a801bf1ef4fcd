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

// timeChars is the number of a ULID's characters that hold its time.
const timeChars = 10

// A Listing selects objects of a store, in the terms of ListObjectsV2 of Amazon S3: keys that begin
// with Prefix and come after StartAfter and before Until. An empty StartAfter or Until is no limit.
//
// Request keys with Prefix and StartAfter, page by page; stop at the first key that is not less
// than Until. Objects named by other formats may be among them: [Keys.Parse] returns an error for
// their keys.
type Listing struct {
	Prefix     string
	StartAfter string
	Until      string
}

// Contains reports whether the key is in the listing. Use it for stores that can't start after a
// key or don't list in order of keys.
func (l Listing) Contains(key string) bool {
	return strings.HasPrefix(key, l.Prefix) && key > l.StartAfter && !l.Ends(key)
}

// Ends reports whether a listing in order of keys ends before this key.
func (l Listing) Ends(key string) bool { return l.Until != "" && key >= l.Until }

// Listing returns the listing of all objects whose ULIDs have a time in [from, to): from is
// included, to is not. It returns false if no ULID can have such a time. The prefix is as long as
// the interval allows.
func (k *Keys) Listing(from, to time.Time) (Listing, bool) {
	k.check()
	first, end := firstMilli(from), firstMilli(to)
	if first >= end {
		return Listing{}, false
	}
	chars := timeChars
	for folderOf(first, chars) != folderOf(end-1, chars) {
		chars--
	}
	return k.within(folderOf(first, chars), chars, first, end), true
}

// Listings divides the interval of Listing by the first chars characters of the ULID, 1 to 10. It
// returns one listing for each such prefix, in order. The first and the last listing are limited by
// StartAfter and Until if necessary. If the keys have a split after chars characters, the prefixes
// are the folders that a store calls common prefixes. Use it to process an interval in parallel, or
// in portions.
//
// The listings are made one by one, as there may be many: a year has some 30,000 folders of 6
// characters. If chars is not 1 to 10, the error wraps ErrInvalidFormat.
func (k *Keys) Listings(from, to time.Time, chars int) (iter.Seq[Listing], error) {
	k.check()
	if chars < 1 || chars > timeChars {
		return nil, fmt.Errorf("%w: listings of %d characters: want 1 to %d", ErrInvalidFormat, chars, timeChars)
	}
	first, end := firstMilli(from), firstMilli(to)
	return func(yield func(Listing) bool) {
		for ms := folderOf(first, chars); ms < end; ms += folderSize(chars) {
			if first >= end || !yield(k.within(ms, chars, first, end)) {
				return
			}
		}
	}, nil
}

// Prefixes returns the shortest list of prefixes, in order, that covers all objects of the interval
// and no other objects of this format. Use it where only prefixes are possible: in lifecycle rules,
// inventories and policies, and with stores that can't start after a key. There are up to 564
// prefixes for an interval that begins and ends at odd milliseconds, and few for round times. A
// prefix that ends at a split includes the delimiter.
func (k *Keys) Prefixes(from, to time.Time) []string {
	k.check()
	var prefixes []string
	for ms, end := firstMilli(from), firstMilli(to); ms < end; {
		chars := timeChars
		for chars > 0 && isWhole(ms, end, chars-1) {
			chars--
		}
		prefixes = append(prefixes, k.point(ms, chars))
		ms += folderSize(chars)
	}
	return prefixes
}

// within returns the listing of the times in [first, end) that share their first chars characters
// with ms. ms is the first time with these characters.
func (k *Keys) within(ms int64, chars int, first, end int64) Listing {
	l := Listing{Prefix: k.point(ms, chars)}
	// The 10 characters of a time are a prefix of its keys, so they sort before these keys, and
	// after all keys of earlier times.
	if first > ms {
		l.StartAfter = k.point(first, timeChars)
	}
	if end < ms+folderSize(chars) {
		l.Until = k.point(end, timeChars)
	}
	return l
}

// point returns the prefix of all keys that have the first chars characters of the time ms.
func (k *Keys) point(ms int64, chars int) string {
	var id ulid.ID
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	return string(k.appendChars(nil, id, chars))
}

// folderSize returns how many milliseconds a folder has: all those with the same first chars characters. The
// first character has 3 bits.
func folderSize(chars int) int64 {
	if chars == 0 {
		return endTime
	}
	return 1 << (5 * (timeChars - chars))
}

// folderOf returns the first millisecond of the folder of ms.
func folderOf(ms int64, chars int) int64 { return ms &^ (folderSize(chars) - 1) }

// isWhole reports whether [ms, end) begins with a whole folder.
func isWhole(ms, end int64, chars int) bool {
	return folderOf(ms, chars) == ms && ms+folderSize(chars) <= end
}

// firstMilli returns the first Unix millisecond that does not begin before t, limited to 0 to endTime.
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
