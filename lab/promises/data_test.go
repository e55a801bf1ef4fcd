package promises

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat"
	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/link"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
	"github.com/randflake/randflake/ulid/objectkey"
)

// day is when everything here is made.
var day = time.Date(2026, time.November, 29, 12, 34, 56, 789e6, time.UTC)

func secret(t *testing.T) randflake.Secret {
	s, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	require.NoError(t, err)
	return s
}

// entries has what a space keeps in each stage of its life, byte for byte: the clock is that of the test, and random words
// are AAA..., BBB... and so on.
func entries(t *testing.T) (lines []string) {
	random := regexp.MustCompile(`\b[A-Z2-7]{26}\b`)
	words := map[string]string{}
	steady := func(word string) string {
		if words[word] == "" {
			words[word] = strings.Repeat(string(rune('A'+len(words))), len(word))
		}
		return words[word]
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day))
		memory := leasetest.NewMemory()
		engine := memory.Connect()
		seen := map[string]bool{}
		note := func(when string) {
			all, err := engine.List(t.Context(), "", "", 100)
			require.NoError(t, err)
			for _, e := range all {
				now := e.Name + ": " + random.ReplaceAllStringFunc(string(e.Value), steady)
				if !seen[now] {
					lines = append(lines, when+", "+now)
				}
				seen[now] = true
			}
		}
		s, err := lease.Create(t.Context(), engine, lease.Config{NeverUsed: true, CheckValue: secret(t).CheckValue(), Trust: true})
		require.NoError(t, err)
		note("1 a new space")
		window := time.Now().Unix() / 60
		require.Done(t)(s.Take(t.Context(), window, window+1, 3))
		note("2 leases")
		require.NoError(t, s.CreateCounter(t.Context(), lease.Counter{Name: "orders", Start: 1}))
		require.NoError(t, s.CreateCounter(t.Context(), lease.Counter{Name: "invoices", Start: 1, Last: 9999, Periods: "day@UTC", Series: "c"}))
		note("3 new counters")
		require.Done(t)(s.TakeNumbers(t.Context(), "orders", lease.Period{}, 41))
		today := lease.Period{Periods: "day@UTC", Key: "2026-11-29", Begin: day.Truncate(24 * time.Hour)}
		require.Done(t)(s.TakeNumbers(t.Context(), "invoices", today, 41))
		note("4 counters in use")
		require.NoError(t, s.ReportLoss(t.Context(), "a test"))
		require.Done(t)(s.Info(t.Context()))
		time.Sleep(5 * time.Minute)
		window = time.Now().Unix() / 60
		require.Done(t)(s.Take(t.Context(), window, window, 1))
		require.NoError(t, s.SetCounter(t.Context(), "orders", 1000))
		note("5 after a loss")
		part, err := lease.Create(t.Context(), engine, lease.Config{Name: "part", Limits: lease.Limits{FirstNode: 65536, Nodes: 65536}, Part: true})
		require.NoError(t, err)
		note("6 a part for IDs in use")
		require.Done(t)(lease.Move(t.Context(), part, engine, lease.Config{Name: "moved"}))
		note("7 moved")
		require.NoError(t, s.Retire(t.Context()))
		note("8 retired")
	})
	return slices.Concat(lines, documents(t), places(t))
}

// documents has the keys of those in which a directory and a bucket keep entries.
func documents(t *testing.T) (lines []string) {
	dir := filepath.Join(t.TempDir(), "store")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("bucket"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for _, store := range []string{"file:" + dir, "s3://bucket/ids?region=r&endpoint=" + server.URL} {
		space, err := url.Create(t.Context(), store, lease.Config{NeverUsed: true})
		require.NoError(t, err)
		space.Close()
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		sum, content, _ := strings.Cut(string(text), "\n")
		form, _, _ := strings.Cut(sum, " 1 ") // of the file of entries alone
		if keysIn(content) == "" {
			form = "no JSON"
		}
		lines = append(lines, fmt.Sprintf("directory, %s: %s", file.Name(), strings.TrimSpace(form+" "+keysIn(content))))
	}
	objects, err := backend.ListBucket("bucket", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	for _, found := range objects.Contents {
		object, err := backend.GetObject("bucket", found.Key, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(object.Contents)
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("bucket, %s: %s", found.Key, keysIn(string(text))))
	}
	return lines
}

// keysIn has the keys of an object in JSON.
func keysIn(text string) string {
	var keys map[string]any
	if json.Unmarshal([]byte(text), &keys) != nil {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(keys)), " ")
}

type kind struct{}

func (kind) IDPrefix() string { return "ord" }

type key int64

type document [16]byte

// texts has each kind of ID, made of the same secret and time.
func texts(t *testing.T) (lines []string) {
	add := func(what string, value any) { lines = append(lines, fmt.Sprintf("%s: %v", what, value)) }
	s := secret(t)
	id, err := randflake.NewCipher(s).Compose(randflake.Fields{Time: day, Node: 77, Sequence: 99})
	require.NoError(t, err)
	add("randflake ID, number", int64(id))
	add("randflake ID, text", id)
	add("randflake ID, JSON", asJSON(t, id))
	add("randflake TextID, text", randflake.TextID(id))
	add("randflake Typed, text", randflake.Typed[kind](id))
	add("randflake Secret, derived", s.Derive("orders", 2).Hex())
	add("randflake Secret, check value", fmt.Sprintf("%x", s.CheckValue()))
	add("compat, text", compat.EncodeString(int64(id)))
	add("link, text", link.New(s, "password reset").Text(id))

	masked, err := mask.NewMasker[key](s, "order", nil).Mask(1764000000000 << 20)
	require.NoError(t, err)
	add("mask, text", masked)
	uuid, err := mask.NewUUIDMasker[document](s, "document", nil).Mask(document{0: 1, 6: 0x70, 8: 0x80, 15: 9})
	require.NoError(t, err)
	add("mask, UUID", hex.EncodeToString(uuid[:]))

	for _, layout := range snowflake.Presets() {
		when := day
		if !layout.Expires().After(day) { // that of baidu
			when = time.Date(2023, time.March, 1, 2, 3, 4, 0, time.UTC)
		}
		made, err := layout.Compose(snowflake.Fields{Time: when, Sequence: 33})
		require.NoError(t, err)
		add("snowflake "+layout.String(), made)
	}
	u, err := ulid.Compose(ulid.Fields{Time: day, Entropy: [10]byte{0x71, 2, 0x83, 9: 4}})
	require.NoError(t, err)
	add("ulid, text", u)
	add("ulid, UUID", ulid.FormatUUID(u))
	add("ulid TextID, JSON", asJSON(t, ulid.TextID(u)))
	keys, err := objectkey.New(objectkey.Format{Prefix: "events/", Splits: []int{6, 8}, Delimiter: "/", Suffix: ".json"})
	require.NoError(t, err)
	add("ulid/objectkey, key", keys.Key(u))

	week, err := numbers.ParsePeriods("week")
	require.NoError(t, err)
	for _, pattern := range []string{
		"{n:6}", "{date:20060102}-{n:6}{check:mod97-10}", "{period}-{n:8:crockford}{check:mod37-2}", "{n:6:consonants}", "{n:6}{check:mod11-2}",
	} {
		for what, options := range map[string][]numbers.Option{"plain": nil, "encrypted": {numbers.Encrypted(s)}} {
			if strings.Contains(pattern, "{period}") {
				options = append(options, numbers.WithPeriods(week))
			}
			format, err := numbers.NewFormat("orders", pattern, options...)
			require.NoError(t, err)
			number, err := format.Number(day, 12345)
			require.NoError(t, err)
			add("numbers "+pattern+", "+what, number)
		}
	}
	for _, name := range []string{"day", "week", "month", "quarter", "year", "fiscal-year-04"} {
		period, err := numbers.ParsePeriods(name)
		require.NoError(t, err)
		add("numbers, period "+name, fmt.Sprintf("%+v", period.At(day, time.UTC)))
	}
	return lines
}

func asJSON(t *testing.T, value any) string {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
