package objectkey

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/ulid"
)

// A testbed is a store with objects in one format, in order of keys, and some that others put there.
type testbed struct {
	format Format
	keys   *Keys
	ids    []ulid.ID
	stored []string
}

// randomTestbed has objects around ms, and times on the edges of blocks of all sizes among them.
func randomTestbed(t *testing.T, random *rand.Rand, ms int64) testbed {
	w := testbed{format: randomFormat(random)}
	w.keys = mustKeys(t, w.format)
	for range 200 {
		id := randomID(random)
		switch random.IntN(8) {
		case 0:
			id = ulid.ID{} // the least and the greatest of their millisecond
		case 1:
			for i := range id {
				id[i] = 0xff
			}
		}
		id, _ = ulid.Compose(ulid.Fields{Time: time.UnixMilli(near(random, ms)), Entropy: [10]byte(id[6:])})
		w.ids = append(w.ids, id)
	}
	slices.SortFunc(w.ids, ulid.ID.Compare)
	w.ids = slices.Compact(w.ids)
	for _, id := range w.ids {
		w.stored = append(w.stored, w.keys.Key(id))
	}
	return w
}

// near returns a millisecond at a distance from ms of any order of magnitude, or at or beside the
// edge of a block.
func near(random *rand.Rand, ms int64) int64 {
	switch random.IntN(10) {
	case 0:
		return []int64{0, 1, endTime - 1, endTime - 2}[random.IntN(4)]
	case 1, 2, 3:
		ms = blockOf(ms, random.IntN(timeChars+1)) + int64(random.IntN(3)-1)
	default:
		ms += random.Int64N(1<<random.IntN(48)+1) - random.Int64N(1<<random.IntN(48)+1)
	}
	return min(max(ms, 0), endTime-1)
}

// randomTime returns a time near ms, not always a whole millisecond, and at times beyond all ULIDs.
func randomTime(random *rand.Rand, ms int64) time.Time {
	if random.IntN(20) == 0 {
		return []time.Time{{}, time.Unix(-1<<60, 0), time.Unix(1<<60, 0), time.UnixMilli(endTime), time.UnixMilli(endTime - 1).Add(1)}[random.IntN(5)]
	}
	t := time.UnixMilli(near(random, ms))
	if random.IntN(2) == 0 {
		t = t.Add(time.Duration(random.IntN(2_000_000) - 1_000_000))
	}
	return t
}

// during returns the keys of the objects with times in [from, to), by comparing each one's time.
func (w testbed) during(from, to time.Time) (keys []string) {
	for _, id := range w.ids {
		if at := ulid.Inspect(id).Time; !at.Before(from) && at.Before(to) {
			keys = append(keys, w.keys.Key(id))
		}
	}
	return keys
}

// list does what a store and its client do: in order of keys, after StartAfter, until Until.
func (w testbed) list(l Listing) (keys []string) {
	for _, key := range w.stored {
		if !strings.HasPrefix(key, l.Prefix) || key <= l.StartAfter {
			continue
		}
		if l.Until != "" && key >= l.Until {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// A divider turns an interval into listings.
type divider func(k *Keys, from, to time.Time) []Listing

// dividers are all ways that Keys has, under their names.
func dividers(t *testing.T) map[string]divider {
	ways := map[string]divider{
		"listing": func(k *Keys, from, to time.Time) []Listing {
			if l, ok := k.Listing(from, to); ok {
				return []Listing{l}
			}
			return nil
		},
		"prefixes": func(k *Keys, from, to time.Time) (listings []Listing) {
			for _, prefix := range k.Prefixes(from, to) {
				listings = append(listings, Listing{Prefix: prefix})
			}
			return listings
		},
	}
	for chars := 1; chars <= timeChars; chars++ {
		ways[fmt.Sprintf("listings of %d characters", chars)] = func(k *Keys, from, to time.Time) []Listing {
			return slices.Collect(mustListings(t, k, from, to, chars))
		}
	}
	return ways
}

func mustListings(t *testing.T, k *Keys, from, to time.Time, chars int) iter.Seq[Listing] {
	t.Helper()
	listings, err := k.Listings(from, to, chars)
	if err != nil {
		t.Fatal(err)
	}
	return listings
}

// wrongListings returns how many of n random intervals in random testbeds the way does not list
// exactly, and each object once. chars is that of Keys.Listings, or 0.
func wrongListings(t *testing.T, way divider, chars, n int) (wrong int) {
	t.Helper()
	random := rand.New(rand.NewPCG(8, uint64(chars)))
	for range n {
		ms := random.Int64N(endTime)
		w := randomTestbed(t, random, ms)
		for range 10 {
			from, to := randomTime(random, ms), randomTime(random, ms)
			if random.IntN(10) == 0 {
				from = ulid.Inspect(w.ids[random.IntN(len(w.ids))]).Time // the edge is an object's time
			}
			const most = 100 // listings, so that the test ends
			if end := firstMilli(from) + most*blockSize(chars); chars > 1 && firstMilli(to) > end {
				to = time.UnixMilli(end - random.Int64N(most*blockSize(chars)))
			}
			var got []string
			for _, l := range way(w.keys, from, to) {
				list := w.list(l)
				for _, key := range w.stored {
					if _, listed := slices.BinarySearch(list, key); l.Contains(key) != listed {
						t.Fatalf("%+v: %q: Contains says %v", l, key, l.Contains(key))
					}
				}
				got = append(got, list...)
			}
			if want := w.during(from, to); !slices.Equal(got, want) {
				if wrong == 0 {
					t.Logf("%+v, [%s, %s):\n got %q\nwant %q", w.format, from.UTC(), to.UTC(), got, want)
				}
				wrong++
			}
		}
	}
	return wrong
}

func charsOf(name string) (chars int) {
	fmt.Sscanf(name, "listings of %d characters", &chars)
	return chars
}

func TestListingsAreExact(t *testing.T) {
	for name, way := range dividers(t) {
		t.Run(name, func(t *testing.T) {
			if n := wrongListings(t, way, charsOf(name), 30); n > 0 {
				t.Errorf("%d intervals are listed wrongly", n)
			}
		})
	}
}

// The test above finds a listing that is left out or there twice, limits that are left out, edges
// that are off by less than a millisecond, and a prefix that is too long.
func TestWrongListingsAreFound(t *testing.T) {
	faults := map[string]func(way divider) divider{
		"the last one is left out": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				listings := way(k, from, to)
				return listings[:max(len(listings)-1, 0)]
			}
		},
		"the first one is there twice": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				listings := way(k, from, to)
				return slices.Concat(listings[:min(len(listings), 1)], listings)
			}
		},
		"edges are rounded down": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				return way(k, from.Truncate(time.Millisecond), to.Truncate(time.Millisecond))
			}
		},
		"the end is in": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				return way(k, from, to.Add(time.Millisecond))
			}
		},
		"no limits": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				listings := way(k, from, to)
				for i := range listings {
					listings[i].StartAfter, listings[i].Until = "", ""
				}
				return listings
			}
		},
		"the prefix has another character": func(way divider) divider {
			return func(k *Keys, from, to time.Time) []Listing {
				listings := way(k, from, to)
				for i := range listings {
					listings[i].Prefix += "0"
				}
				return listings
			}
		},
	}
	for _, way := range []string{"listing", "prefixes", "listings of 6 characters"} {
		for fault, spoil := range faults {
			if way == "prefixes" && fault == "no limits" {
				continue // they have none
			}
			t.Run(way+"/"+fault, func(t *testing.T) {
				if wrongListings(t, spoil(dividers(t)[way]), charsOf(way), 10) == 0 {
					t.Error("not found")
				}
			})
		}
	}
}

// cover returns how many prefixes it takes for the part of [first, end) that is in a block: one,
// none, or as many as for the parts of the block.
func cover(block int64, chars int, first, end int64) (n int) {
	size := blockSize(chars)
	if first <= block && block+size <= end {
		return 1
	}
	if end <= block || block+size <= first {
		return 0
	}
	for part := block; part < block+size; part += blockSize(chars + 1) {
		n += cover(part, chars+1, first, end)
	}
	return n
}

func TestPrefixesAreFewest(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	keys := mustKeys(t, Format{})
	most := 0
	check := func(from, to time.Time) {
		first, end := firstMilli(from), firstMilli(to)
		want := 0
		if first < end {
			want = cover(0, 0, first, end)
		}
		got := len(keys.Prefixes(from, to))
		if got != want {
			t.Fatalf("[%d, %d): %d prefixes, want %d", first, end, got, want)
		}
		most = max(most, got)
	}
	check(time.UnixMilli(1), time.UnixMilli(endTime-1))
	if most != 564 {
		t.Errorf("the most prefixes are %d, want 564", most)
	}
	for range 2000 {
		ms := random.Int64N(endTime)
		check(randomTime(random, ms), randomTime(random, ms))
	}
	if most > 564 {
		t.Errorf("%d prefixes", most)
	}
}

// What is listed, to the letter.
func TestListing(t *testing.T) {
	keys := mustKeys(t, Format{Prefix: "e/", Splits: []int{6, 8}, Delimiter: "/"})
	at := func(chars string) time.Time { return ulid.Inspect(ulid.MustParse(chars + "0000000000000000")).Time }
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     Listing
	}{
		{"one folder", at("01JDA70000"), at("01JDA80000"), Listing{"e/01JDA7/", "", ""}},
		{"one folder of the second level", at("01JDA7AB00"), at("01JDA7AC00"), Listing{"e/01JDA7/AB/", "", ""}},
		{"one millisecond", at("01JDA7ABCD"), at("01JDA7ABCE"), Listing{"e/01JDA7/AB/CD", "", ""}},
		{"from the middle of a folder", at("01JDA7ABCD"), at("01JDA80000"), Listing{"e/01JDA7/", "e/01JDA7/AB/CD", ""}},
		{"to the middle of a folder", at("01JDA70000"), at("01JDA7ABCD"), Listing{"e/01JDA7/", "", "e/01JDA7/AB/CD"}},
		{"across folders", at("01JDA6ZZZZ"), at("01JDA70001"), Listing{"e/01JDA", "e/01JDA6/ZZ/ZZ", "e/01JDA7/00/01"}},
		{"up to a folder", at("01JDA1ABCD"), at("01JDA70000"), Listing{"e/01JDA", "e/01JDA1/AB/CD", "e/01JDA7/00/00"}},
		{"all", time.Time{}, time.Unix(1<<60, 0), Listing{"e/", "", ""}},
		{"all but the first", time.UnixMilli(1), time.UnixMilli(endTime), Listing{"e/", "e/000000/00/01", ""}},
		{"all but the last", time.UnixMilli(0), time.UnixMilli(endTime - 1), Listing{"e/", "", "e/7ZZZZZ/ZZ/ZZ"}},
	} {
		if got, ok := keys.Listing(c.from, c.to); !ok || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
}

func TestEmptyIntervalsHaveNoListing(t *testing.T) {
	keys := mustKeys(t, Format{Prefix: "e/"})
	now := time.UnixMilli(1_800_000_000_000)
	for _, c := range [][2]time.Time{
		{now, now},
		{now, now.Add(-time.Hour)},
		{now.Add(1), now.Add(time.Millisecond - 1)}, // no millisecond begins in between
		{time.Time{}, time.UnixMilli(0)},
		{time.UnixMilli(endTime), time.Unix(1<<60, 0)},
		{time.UnixMilli(endTime - 1).Add(1), time.Unix(1<<60, 0)},
	} {
		for name, way := range dividers(t) {
			if listings := way(keys, c[0], c[1]); len(listings) > 0 {
				t.Errorf("%s of [%s, %s): %+v", name, c[0].UTC(), c[1].UTC(), listings)
			}
		}
	}
}

func TestListingsRefuse(t *testing.T) {
	keys := mustKeys(t, Format{})
	for _, chars := range []int{-1, 0, 11, 26} {
		if listings, err := keys.Listings(time.Time{}, time.Now(), chars); !errors.Is(err, ErrInvalidFormat) || listings != nil {
			t.Errorf("%d characters: %v", chars, err)
		}
	}
}

// Listings are made one by one: a caller may stop after the first of very many.
func TestListingsStop(t *testing.T) {
	keys := mustKeys(t, Format{})
	for l := range mustListings(t, keys, time.Time{}, time.Unix(1<<60, 0), timeChars) {
		if want := (Listing{Prefix: "0000000000"}); l != want {
			t.Errorf("%+v, want %+v", l, want)
		}
		break
	}
}
