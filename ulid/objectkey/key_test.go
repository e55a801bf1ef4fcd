package objectkey

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/ulid"
)

func mustKeys(t testing.TB, format Format) *Keys {
	t.Helper()
	keys, err := New(format)
	if err != nil {
		t.Fatal(err)
	}
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
		if got := keys.Key(id); got != c.want {
			t.Errorf("%+v: %s, want %s", c.format, got, c.want)
		}
		if back, err := keys.Parse(c.want); err != nil || back != id {
			t.Errorf("%+v: %s is of %v, %v", c.format, c.want, back, err)
		}
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
		if keys, err := New(format); !errors.Is(err, ErrInvalidFormat) || keys != nil {
			t.Errorf("%+v: %v, %v, want ErrInvalidFormat", format, keys, err)
		}
	}
}

// Who changes the format afterwards does not change the keys.
func TestKeysAreImmutable(t *testing.T) {
	format := Format{Splits: []int{6}, Delimiter: "/"}
	keys := mustKeys(t, format)
	format.Splits[0] = 7
	if got, want := keys.Key(ulid.ID{}), "000000/00000000000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
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
		if id, err := keys.Parse(key); !errors.Is(err, ErrInvalidKey) || id != (ulid.ID{}) {
			t.Errorf("%q is of %v, %v, want ErrInvalidKey", key, id, err)
		}
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
			if back, err := keys.Parse(key); err != nil || back != id {
				t.Fatalf("%+v: %q is of %v, %v, want %v", format, key, back, err, id)
			}
			if i > 0 && strings.Compare(last, key) != ids[i-1].Compare(id) {
				t.Fatalf("%+v: %q and %q sort otherwise than %v and %v", format, last, key, ids[i-1], id)
			}
			last = key
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("a/", "/", ".json", byte(6), "a/01JDA7/K3N0Q8ZJ5V3D1W9K2M4P.json")
	f.Add("", "--", "", byte(25), "01JDA7K3N0Q8ZJ5V3D1W9K2M4--P")
	f.Add("", "/", "", byte(1), "8/1JDA7K3N0Q8ZJ5V3D1W9K2M4P")
	f.Add("a/", "0", "", byte(6), "a/01JDA7K3N0Q8ZJ5V3D1W9K2M4P")
	f.Add("a/", "/", ".json", byte(6), "a/01JDA7/K3N0Q8ZJ5V3D1W9K2M4P.json")
	f.Add("a/", "/", "", byte(6), "a/01jda7/k3n0q8zj5v3d1w9k2m4p")
	f.Add("", "--", "", byte(25), "01JDA7K3N0Q8ZJ5V3D1W9K2M4--U")
	f.Add("", "/", "", byte(1), "8/1JDA7K3N0Q8ZJ5V3D1W9K2M4P")
	f.Fuzz(func(t *testing.T, prefix, delimiter, suffix string, split byte, key string) {
		keys, err := New(Format{prefix, []int{int(split)}, delimiter, suffix})
		if err != nil {
			if !errors.Is(err, ErrInvalidFormat) {
				t.Error(err)
			}
			return
		}
		id, err := keys.Parse(key)
		if err != nil {
			if !errors.Is(err, ErrInvalidKey) {
				t.Error(err)
			}
			return
		}
		if got := keys.Key(id); got != key {
			t.Errorf("%q comes back as %q", key, got)
		}
	})
}
