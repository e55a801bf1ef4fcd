package objectkey

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/ulid"
)

func mustKeys(t testing.TB, format Format) *Keys {
	t.Helper()
	keys, err := New(format)
	require.NoError(t, err)
	return keys
}

func TestKey(t *testing.T) {
	const text = "01JDA7K3N0Q8ZJ5V3D1W9K2M4P"
	for _, c := range []struct {
		format Format
		want   string
	}{
		{Format{}, "01JDA7K3N0Q8ZJ5V3D1W9K2M4P"},
		{Format{Prefix: "a/", Suffix: ".json"}, "a/01JDA7K3N0Q8ZJ5V3D1W9K2M4P.json"},
		{Format{Prefix: "a/", Splits: []int{6}, Delimiter: "/"}, "a/01JDA7/K3N0Q8ZJ5V3D1W9K2M4P"},
		{Format{Splits: []int{6, 8, 10}, Delimiter: "/", Suffix: "/data"}, "01JDA7/K3/N0/Q8ZJ5V3D1W9K2M4P/data"},
		{Format{Splits: []int{1, 25}, Delimiter: "--"}, "0--1JDA7K3N0Q8ZJ5V3D1W9K2M4--P"},
		{Format{Prefix: "a", Delimiter: "/"}, "a01JDA7K3N0Q8ZJ5V3D1W9K2M4P"},
	} {
		keys := mustKeys(t, c.format)
		id := ulid.MustParse(text)
		require.Equal(t, keys.Key(id), c.want, "%+v", c.format)
		require.Gives(t, id, "%+v: %s is of", c.format, c.want)(keys.Parse(c.want))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, format := range []Format{
		{Splits: []int{0}, Delimiter: "/"},
		{Splits: []int{-1}, Delimiter: "/"},
		{Splits: []int{26}, Delimiter: "/"},
		{Splits: []int{6, 6}, Delimiter: "/"},
		{Splits: []int{8, 6}, Delimiter: "/"},
		{Splits: []int{6}},
		{Splits: []int{6}, Delimiter: "0"},
		{Splits: []int{6}, Delimiter: "/Z"},
	} {
		require.Refuses(t, ErrInvalidFormat, "%+v", format)(New(format))
	}
}

func TestParseRefusesOtherKeys(t *testing.T) {
	keys := mustKeys(t, Format{Prefix: "a/", Splits: []int{6, 8}, Delimiter: "/", Suffix: ".json"})
	for _, key := range []string{
		"",
		"a/",
		"a/01JDA7/",
		"b/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4P.json",
		"a/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4P.JSON",
		"a/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4P",
		"a/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4P.json.gz",
		"a/01JDA7/K3-N0Q8ZJ5V3D1W9K2M4P.json",
		"a/01JDA7K/3/N0Q8ZJ5V3D1W9K2M4P.json",
		"a/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4.json",
		"a/01jda7/k3/n0q8zj5v3d1w9k2m4p.json", // it would sort elsewhere
		"a/01JDA7/K3/N0Q8ZJ5V3D1W9K2M4U.json", // no digit of ULIDs
		"a/81JDA7/K3/N0Q8ZJ5V3D1W9K2M4P.json", // more than 128 bits
	} {
		require.Refuses(t, ErrInvalidKey, "%q", key)(keys.Parse(key))
	}
}

// randomFormat returns one of many formats, all of which are valid.
func randomFormat(random *rand.Rand) Format {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	format := Format{
		Prefix:    pick("", "a", "a/", "a/b/", "é/", "0", "\xff"),
		Delimiter: pick("/", "-", "~", "//", "é", "\x00", "i"),
		Suffix:    pick("", ".json", "/0", "~", "\x00"),
	}
	for split := 1; split < textSize; split++ {
		if random.IntN(6) == 0 || (split == 6 || split == 8 || split == 10) && random.IntN(2) == 0 {
			format.Splits = append(format.Splits, split)
		}
	}
	return format
}

func randomID(random *rand.Rand) (id ulid.ID) {
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	return id
}

// Whatever the format, keys sort as IDs do, and each is that of one ID.
func TestKeysSortAsIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		format := randomFormat(random)
		keys := mustKeys(t, format)
		near := randomID(random)
		ids := make([]ulid.ID, 100)
		for i := range ids {
			ids[i] = randomID(random)
			copy(ids[i][:], near[:random.IntN(17)])
		}
		slices.SortFunc(ids, ulid.ID.Compare)
		var last string
		for i, id := range ids {
			key := keys.Key(id)
			back, err := keys.Parse(key)
			require.Must(t, err == nil && back == id, "%+v: %q is of %v, %v, want %v", format, key, back, err, id)
			if i > 0 && strings.Compare(last, key) != ids[i-1].Compare(id) {
				t.Fatalf("%+v: %q and %q sort otherwise than %v and %v", format, last, key, ids[i-1], id)
			}
			last = key
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("a/", "/", ".json", byte(6), "a/01JDA7/K3N0Q8ZJ5V3D1W9K2M4P.json")
	f.Add("a/", "0", "", byte(6), "a/01JDA7K3N0Q8ZJ5V3D1W9K2M4P")
	f.Add("a/", "/", "", byte(6), "a/01jda7/k3n0q8zj5v3d1w9k2m4p")
	f.Add("", "--", "", byte(25), "01JDA7K3N0Q8ZJ5V3D1W9K2M4--P")
	f.Add("", "/", "", byte(1), "8/1JDA7K3N0Q8ZJ5V3D1W9K2M4P")
	f.Add("", "/", "", byte(1), "0/0000000000000000000000000")
	f.Add("", "/", "", byte(1), "\x00/\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, prefix, delimiter, suffix string, split byte, key string) {
		keys, err := New(Format{prefix, []int{int(split)}, delimiter, suffix})
		if err != nil {
			require.ErrorIs(t, err, ErrInvalidFormat, "format")
			return
		}
		id, err := keys.Parse(key)
		switch {
		case err != nil:
			require.That(t, errors.Is(err, ErrInvalidKey) && id == (ulid.ID{}), "%q is of %v, %v", key, id, err)
		case keys.Key(id) != key:
			t.Errorf("%q is of %v, which is %q", key, id, keys.Key(id))
		}
	})
}

// cover returns how many prefixes it takes for the part of [first, end) that is in a block: one,
// none, or as many as for the parts of the block.
func cover(block int64, chars int, first, end int64) (n int) {
	size := folderSize(chars)
	if first <= block && block+size <= end {
		return 1
	}
	if end <= block || block+size <= first {
		return 0
	}
	for part := block; part < block+size; part += folderSize(chars + 1) {
		n += cover(part, chars+1, first, end)
	}
	return n
}

func TestPrefixesAreFewest(t *testing.T) {
	keys := mustKeys(t, Format{})
	for _, c := range []struct {
		first, end int64
		want       int
	}{
		{0, endTime, 1},
		{0, endTime / 8, 1},
		{0, 1 << 20, 1},
		{1<<20 - 1, 1<<20 + 1, 2},
		{1, 1<<10 + 1<<5 + 2, 31 + 31 + 1 + 2},
		{1, endTime - 1, 564},
	} {
		require.Equal(t, len(keys.Prefixes(time.UnixMilli(c.first), time.UnixMilli(c.end))), c.want, "[%d, %d): prefixes", c.first, c.end)
	}

	random := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		ms := random.Int64N(endTime)
		from, to := randomTime(random, ms), randomTime(random, ms)
		first, end := firstMilli(from), firstMilli(to)
		want := 0
		if first < end {
			want = cover(0, 0, first, end)
		}
		n := len(keys.Prefixes(from, to))
		require.Must(t, n == want && n <= 564, "[%d, %d): %d prefixes, want %d", first, end, n, want)
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
		got, ok := keys.Listing(c.from, c.to)
		require.That(t, ok && got == c.want, "%s: %+v, %v, want %+v", c.name, got, ok, c.want)
	}
}

// near returns a millisecond at a distance from ms of any order of magnitude, or at or beside the
// edge of a block.
func near(random *rand.Rand, ms int64) int64 {
	if random.IntN(3) == 0 {
		ms = folderOf(ms, random.IntN(timeChars+1)) + int64(random.IntN(3)-1)
	} else {
		ms += random.Int64N(1<<random.IntN(48)+1) - random.Int64N(1<<random.IntN(48)+1)
	}
	return min(max(ms, 0), endTime-1)
}

// randomTime returns a time near ms, not always a whole millisecond, and at times beyond all ULIDs.
func randomTime(random *rand.Rand, ms int64) time.Time {
	if random.IntN(20) == 0 {
		return []time.Time{
			{},
			time.Unix(-1<<60, 0),
			time.Unix(1<<60, 0),
			time.UnixMilli(endTime),
			time.UnixMilli(endTime - 1).Add(1),
		}[random.IntN(5)]
	}
	return time.UnixMilli(near(random, ms)).Add(time.Duration(random.IntN(3)-1) * time.Duration(random.IntN(1_000_000)))
}

// ways are all that Keys has to turn an interval into listings; listings are by so many characters.
func ways(k *Keys, from, to time.Time, chars int) (all []Listing, err error) {
	switch chars {
	case -1:
		for _, prefix := range k.Prefixes(from, to) {
			all = append(all, Listing{Prefix: prefix})
		}
	case 0:
		if l, ok := k.Listing(from, to); ok {
			all = append(all, l)
		}
	default:
		listings, err := k.Listings(from, to, chars)
		if err != nil {
			return nil, err
		}
		return slices.Collect(listings), nil
	}
	return all, nil
}

// wantOneForEachPrefix checks that there is one listing for each prefix that objects in the
// interval have, and none for others.
func wantOneForEachPrefix(t *testing.T, keys *Keys, listings []Listing, from, to time.Time, chars int) {
	t.Helper()
	first, end := firstMilli(from), firstMilli(to)
	var got, want []string
	for _, l := range listings {
		got = append(got, l.Prefix)
	}
	for ms := first; ms < end; ms = folderOf(ms, chars) + folderSize(chars) {
		want = append(want, keys.point(ms, chars))
	}
	require.Must(t, slices.Equal(got, want),
		"%d characters, [%v, %v): listings of %q, want %q", chars, from, to, got, want)
}

// In random formats, each way lists exactly the objects of a random interval, each once, among
// others around it. A store lists in order of keys, after StartAfter; its client stops at Until.
func TestListingsAreExact(t *testing.T) {
	spans := 150
	if testing.Short() {
		spans = 30
	}
	for chars := -1; chars <= timeChars; chars++ {
		random := rand.New(rand.NewPCG(8, uint64(chars+1)))
		for range spans {
			ms := random.Int64N(endTime)
			keys := mustKeys(t, randomFormat(random))
			from, to := randomTime(random, ms), randomTime(random, ms)
			const most = 100 // listings, so that the test ends
			if end := firstMilli(from) + most*folderSize(max(chars, 0)); chars > 1 && firstMilli(to) > end {
				to = time.UnixMilli(end)
			}
			listings, err := ways(keys, from, to, chars)
			require.NoError(t, err)
			if chars > 0 {
				wantOneForEachPrefix(t, keys, listings, from, to, chars)
			}
			for range 50 {
				id := randomID(random)
				if random.IntN(4) == 0 { // the least or the greatest of its millisecond
					copy(id[6:], bytes.Repeat([]byte{"\x00\xff"[random.IntN(2)]}, 10))
				}
				at := []int64{near(random, ms), firstMilli(from), firstMilli(to), firstMilli(to) - 1}[random.IntN(4)]
				id, _ = ulid.Compose(ulid.Fields{Time: time.UnixMilli(min(max(at, 0), endTime-1)), Entropy: [10]byte(id[6:])})

				key := keys.Key(id)
				found, want := 0, 0
				if at := ulid.Inspect(id).Time; !at.Before(from) && at.Before(to) {
					want = 1
				}
				for _, l := range listings {
					listed := strings.HasPrefix(key, l.Prefix) && key > l.StartAfter && (l.Until == "" || key < l.Until)
					require.Must(t, l.Contains(key) == listed, "%+v: %q: Contains says %v", l, key, !listed)
					if listed {
						found++
					}
				}
				require.Must(t, found == want,
					"%d characters, [%v, %v): %q is in %d listings of %+v, want %d", chars, from, to, key, found, listings, want)
			}
		}
	}
}

func TestNoListing(t *testing.T) {
	keys := mustKeys(t, Format{Prefix: "e/"})
	now := time.UnixMilli(1_800_000_000_000)
	for _, c := range [][2]time.Time{
		{now, now},
		{now, now.Add(-time.Hour)},
		{now.Add(1), now.Add(time.Millisecond - 1)}, // no millisecond begins in between
		{time.Time{}, time.UnixMilli(0)},
		{time.UnixMilli(endTime - 1).Add(1), time.Unix(1<<60, 0)},
	} {
		for chars := -1; chars <= timeChars; chars++ {
			listings, err := ways(keys, c[0], c[1], chars)
			require.That(t, len(listings) == 0 && err == nil, "%d characters, %v: %+v, %v", chars, c, listings, err)
		}
	}
	for _, chars := range []int{-1, 0, 11, 26} {
		listings, err := keys.Listings(time.Time{}, now, chars)
		require.That(t, errors.Is(err, ErrInvalidFormat) && listings == nil, "%d characters: %v", chars, err)
	}
	all, _ := keys.Listings(time.Time{}, time.Unix(1<<60, 0), timeChars)
	for l := range all { // made one by one: a caller may stop after the first of very many
		want := (Listing{Prefix: "e/0000000000"})
		require.That(t, l == want, "%+v, want %+v", l, want)
		break
	}
}

// Keys that nobody made say so.
func TestNoKeys(t *testing.T) {
	from, to := time.Unix(0, 0), time.Unix(1, 0)
	for _, k := range []*Keys{{}, nil} {
		idtest.Unmade(t, "make them with New", map[string]func(){
			"Key":      func() { k.Key(ulid.ID{}) },
			"Parse":    func() { k.Parse("") },
			"Listing":  func() { k.Listing(from, to) },
			"Listings": func() { k.Listings(from, to, 6) },
			"Prefixes": func() { k.Prefixes(from, to) },
		})
	}
}
