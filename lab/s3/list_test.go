package s3test

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/ulid"
	"github.com/randflake/randflake/ulid/objectkey"
)

// pages lists what begins with l's prefix, page by page, as a user of ListObjectsV2 does it.
func pages(t *testing.T, client minio.Core, l objectkey.Listing, delimiter string, size int) iter.Seq[minio.ListBucketV2Result] {
	return func(yield func(minio.ListBucketV2Result) bool) {
		for token := ""; ; {
			page, err := client.ListObjectsV2(Bucket, l.Prefix, l.StartAfter, token, delimiter, size)
			require.Must(t, err == nil, "list %+v: %v", l, err)
			if !yield(page) || !page.IsTruncated {
				return
			}
			token = page.NextContinuationToken
		}
	}
}

// list returns the keys of the objects in the listing, up to the listing's end, and how many pages it took.
func list(t *testing.T, client minio.Core, l objectkey.Listing, pageSize int) (keys []string, n int) {
	for page := range pages(t, client, l, "", pageSize) {
		n++
		for _, object := range page.Contents {
			if l.Ends(object.Key) {
				return keys, n
			}
			keys = append(keys, object.Key)
		}
	}
	return keys, n
}

// folders returns the common prefixes that the server finds behind prefix.
func folders(t *testing.T, client minio.Core, prefix string) (found []string) {
	for page := range pages(t, client, objectkey.Listing{Prefix: prefix}, "/", 3) {
		for _, common := range page.CommonPrefixes {
			found = append(found, common.Prefix)
		}
	}
	return found
}

// start is when the objects begin: in the middle of all folders.
var start = time.Date(2026, 11, 20, 12, 34, 56, 789e6, time.UTC)

// objects makes IDs of some hours, many of them of the same millisecond as others or of one
// next to it, and some of one beside the edge of a folder.
func objects(t *testing.T, random *rand.Rand, n int) (ids []ulid.ID) {
	t.Helper()
	now := start
	generator, err := ulid.New(ulid.Strict(), ulid.WithClock(func() time.Time { return now }))
	must(t, err)
	for range n {
		switch random.IntN(8) {
		case 0:
			now = now.Add(time.Millisecond)
		case 1:
			now = now.Add(time.Duration(random.IntN(2000)) * time.Millisecond)
		case 2:
			now = now.Add(time.Duration(random.IntN(600_000)) * time.Millisecond)
		case 3:
			now = time.UnixMilli(now.UnixMilli()>>10<<10 + 1<<10 - 1) // the last millisecond of 8 characters
		}
		id, err := generator.Generate()
		must(t, err)
		ids = append(ids, id)
	}
	return ids
}

// during returns the keys of the IDs with times in [from, to).
func during(keys *objectkey.Keys, ids []ulid.ID, from, to time.Time) (want []string) {
	for _, id := range ids {
		if at := ulid.Inspect(id).Time; !at.Before(from) && at.Before(to) {
			want = append(want, keys.Key(id))
		}
	}
	return want
}

// formats have the same objects under prefixes of their own, so that each has the others in its way.
var formats = []objectkey.Format{
	{Prefix: "flat/"},
	{Prefix: "flat-", Suffix: ".json"},
	{Prefix: "minutes/", Splits: []int{6}, Delimiter: "/", Suffix: ".json"},
	{Prefix: "seconds/", Splits: []int{6, 8}, Delimiter: "/"},
	{Prefix: "all/", Splits: []int{5, 6, 7, 8, 9, 10}, Delimiter: "/", Suffix: "/data"},
	{Prefix: "dashes/", Splits: []int{8}, Delimiter: "-"},
}

// What the server lists is just the objects of the interval, whichever way it is divided.
func TestListingsOnAServer(t *testing.T) {
	client := startServer(t)
	random := rand.New(rand.NewPCG(1, 2))
	ids := objects(t, random, 150)
	for _, format := range formats {
		keys, err := objectkey.New(format)
		must(t, err)
		for _, id := range ids {
			put(t, client, keys.Key(id))
		}
		put(t, client, format.Prefix+"zz-not-a-ulid")
	}

	for _, format := range formats {
		t.Run(format.Prefix, func(t *testing.T) {
			keys, _ := objectkey.New(format)
			for range 3 {
				from, to := interval(random, ids)
				want := during(keys, ids, from, to)
				check := func(way string, got []string) {
					require.Must(t, slices.Equal(got, want),
						"%s of [%s, %s):\n got %q\nwant %q", way, from, to, got, want)
				}

				const pageSize = 7
				if l, ok := keys.Listing(from, to); ok {
					got, pages := list(t, client, l, pageSize)
					check("listing", got)
					most := len(want)/pageSize + 1
					require.That(t, pages <= most, "%d pages of %d for %d objects", pages, pageSize, len(want))
				} else {
					check("no listing", nil)
				}

				var got []string
				for _, prefix := range keys.Prefixes(from, to) {
					list, _ := list(t, client, objectkey.Listing{Prefix: prefix}, pageSize)
					got = append(got, list...)
				}
				check("prefixes", got)

				got = nil
				listings, err := keys.Listings(from, to, 6)
				must(t, err)
				for l := range listings {
					list, _ := list(t, client, l, pageSize)
					got = append(got, list...)
				}
				check("listings of 6 characters", got)
			}
		})
	}
}

// interval returns an interval from near one object to near another, now and then exactly there.
func interval(random *rand.Rand, ids []ulid.ID) (from, to time.Time) {
	near := func() time.Time {
		at := ulid.Inspect(ids[random.IntN(len(ids))]).Time
		return at.Add([]time.Duration{0, time.Millisecond, -time.Millisecond, 1, -1, time.Second, -time.Minute}[random.IntN(7)])
	}
	from, to = near(), near()
	if to.Before(from) {
		from, to = to, from
	}
	return from, to
}

// The folders that the server knows are those that Listings makes, without the empty ones.
func TestFoldersAreCommonPrefixes(t *testing.T) {
	client := startServer(t)
	ids := objects(t, rand.New(rand.NewPCG(3, 4)), 150)
	keys, err := objectkey.New(objectkey.Format{Prefix: "e/", Splits: []int{6}, Delimiter: "/"})
	must(t, err)
	for _, id := range ids {
		put(t, client, keys.Key(id))
	}
	from, to := ulid.Inspect(ids[0]).Time, ulid.Inspect(ids[len(ids)-1]).Time.Add(time.Millisecond)
	listings, err := keys.Listings(from, to, 6)
	must(t, err)
	var full []string
	for l := range listings {
		if keys, _ := list(t, client, l, 1000); len(keys) > 0 {
			full = append(full, l.Prefix)
		}
	}
	got := folders(t, client, "e/")
	require.That(t, slices.Equal(got, full) && len(got) >= 3, "common prefixes %q, listings %q", got, full)
}

func put(t *testing.T, client minio.Core, key string) {
	t.Helper()
	_, err := client.PutObject(context.Background(), Bucket, key, strings.NewReader(""), 0, "", "", minio.PutObjectOptions{})
	require.Must(t, err == nil, "put %s: %v", key, err)
}
