package upgrade

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat"
	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/link"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
	"github.com/randflake/randflake/ulid/objectkey"
)

// kept has what the first release wrote, which every later one must read: lists of lab/promises of then, and a directory
// in which the command made a space, with the same secret, and three numbers of a counter. They are never edited.
const kept = "testdata/" + first

// begun is when all of it was made, but the directory.
var begun = time.Date(2026, time.November, 29, 12, 34, 56, 789e6, time.UTC)

func keptSecret(t *testing.T) randflake.Secret {
	secret, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	require.NoError(t, err)
	return secret
}

func keptLines(t *testing.T, name string) (lines []string) {
	text, err := os.ReadFile(filepath.Join(kept, name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// storeAt returns the entries as they were after a stage, and a clock that is some minutes past the beginning.
func storeAt(t *testing.T, stage, minutes int) (lease.Engine, func() time.Time) {
	engine := leasetest.NewMemory().Connect()
	require.NoError(t, engine.Prepare(t.Context()))
	for _, line := range keptLines(t, "entries.txt") {
		when, rest, _ := strings.Cut(line, ", ")
		n, err := strconv.Atoi(when[:1])
		require.NoError(t, err)
		if n > stage {
			continue
		}
		name, value, _ := strings.Cut(rest, ": ")
		leasetest.Put(t, engine, name, value)
	}
	now := begun.Add(time.Duration(minutes) * time.Minute)
	return engine, func() time.Time { return now }
}

// TestEntries opens the spaces of each stage, and takes leases and numbers where that was possible then.
func TestEntries(t *testing.T) {
	for _, c := range []struct {
		stage, minutes int
		space          string
		first          uint32 // node of the next lease
		orders         int64  // the next number, 0 where there is no counter
		err            error
	}{
		{stage: 1, space: "default"},
		{stage: 2, space: "default", first: 3},
		{stage: 3, space: "default", first: 3, orders: 1},
		{stage: 4, space: "default", first: 3, orders: 42},
		{stage: 5, space: "default", minutes: 15, orders: 1000},
		{stage: 6, space: "part", minutes: 15, first: 65536},
		{stage: 7, space: "part", minutes: 15, err: lease.ErrRetired},
		{stage: 7, space: "moved", minutes: 15, first: 65536},
		{stage: 8, space: "default", minutes: 15, err: lease.ErrRetired},
	} {
		t.Run(fmt.Sprint(c.stage, " ", c.space), func(t *testing.T) {
			engine, clock := storeAt(t, c.stage, c.minutes)
			space, err := lease.Open(t.Context(), engine, lease.Config{Name: c.space, Clock: clock})
			require.NoError(t, err)
			require.Done(t)(space.Info(t.Context()))
			if c.space == "default" {
				require.NoError(t, space.CheckSecret(keptSecret(t).CheckValue()))
			}
			window := space.Limits().WindowOf(clock())
			leases, err := space.Take(t.Context(), window, window, 2)
			require.ErrorIs(t, err, c.err, "a take")
			if err == nil {
				require.Equal(t, leases[0].FirstNode, c.first, "first node")
			}
			if c.orders > 0 {
				run, err := space.TakeNumbers(t.Context(), "orders", lease.Period{}, 1)
				require.NoError(t, err)
				require.Equal(t, run.First, c.orders, "number")
			}
		})
	}
}

// TestPeriods: a counter goes on in its period, and after a loss of data it waits to be set.
func TestPeriods(t *testing.T) {
	today := lease.Period{Periods: "day@UTC", Key: "2026-11-29", Begin: begun.Truncate(24 * time.Hour)}
	for stage, want := range map[int]error{4: nil, 5: lease.ErrCounterLost} {
		engine, clock := storeAt(t, stage, 15)
		space, err := lease.Open(t.Context(), engine, lease.Config{Clock: clock})
		require.NoError(t, err)
		run, err := space.TakeNumbers(t.Context(), "invoices", today, 1)
		require.That(t, errors.Is(err, want) && (err != nil || run.First == 42), "stage %d: %v, %v, want %v", stage, run, err, want)
	}
}

// TestDirectory: a checkout is a copy of the directory, which is a loss of data to the space, and all is there.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(kept, "store"))))
	engine, err := file.New(dir)
	require.NoError(t, err)
	space, err := lease.Open(context.Background(), engine, lease.Config{})
	require.NoError(t, err)
	require.NoError(t, space.CheckSecret(keptSecret(t).CheckValue()))
	info, err := space.Info(t.Context())
	require.NoError(t, err)
	require.That(t, info.UnnotedLoss != "", "the copy is no loss of data: %+v", info)
	orders, err := space.Counter(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, orders.Next, 4, "next number")
}

type (
	kind     struct{}
	key      int64
	document [16]byte
)

func (kind) IDPrefix() string { return "ord" }

// TestTexts reads each text, and finds in it what it was made of.
func TestTexts(t *testing.T) {
	texts := map[string]string{}
	for _, line := range keptLines(t, "texts.txt") {
		i := strings.LastIndex(line, ": ") // layouts have one in their names
		texts[line[:i]] = line[i+2:]
	}
	checkIDs(t, texts)
	checkMasked(t, texts)
	checkSortable(t, texts)
	checkNumbers(t, texts)
}

func checkIDs(t *testing.T, texts map[string]string) {
	secret := keptSecret(t)
	id, err := randflake.Parse(texts["randflake ID, text"])
	require.NoError(t, err)
	want := randflake.Fields{Time: begun.Truncate(time.Second), Node: 77, Sequence: 99}
	require.Equal(t, randflake.NewCipher(secret).Inspect(id), want, "fields")
	require.Equal(t, fmt.Sprint(int64(id)), texts["randflake ID, number"], "number")
	typed, err := randflake.ParseTyped[kind](texts["randflake Typed, text"])
	require.That(t, err == nil && randflake.ID(typed) == id, "typed: %v, %v", typed, err)
	var number randflake.ID
	require.NoError(t, number.UnmarshalJSON([]byte(texts["randflake ID, JSON"])))
	require.Equal(t, number, id, "from JSON")
	require.Gives(t, int64(id), "text of compat")(compat.DecodeString(texts["compat, text"]))
	require.Gives(t, id, "link")(link.New(secret, "password reset").Verify(texts["link, text"]))
	require.Equal(t, secret.Derive("orders", 2).Hex(), texts["randflake Secret, derived"], "derived secret")
	require.Equal(t, fmt.Sprintf("%x", secret.CheckValue()), texts["randflake Secret, check value"], "check value")
}

func checkMasked(t *testing.T, texts map[string]string) {
	secret := keptSecret(t)
	masked, err := randflake.Parse(texts["mask, text"])
	require.NoError(t, err)
	require.Gives(t, key(1764000000000<<20), "masked ID")(mask.NewMasker[key](secret, "order", nil).Unmask(masked))
	bytes, err := hex.DecodeString(texts["mask, UUID"])
	require.NoError(t, err)
	inner, err := mask.NewUUIDMasker[document](secret, "document", nil).Unmask(document(bytes))
	require.That(t, err == nil && inner == document{0: 1, 6: 0x70, 8: 0x80, 15: 9}, "masked UUID: %x, %v", inner, err)
}

func checkSortable(t *testing.T, texts map[string]string) {
	for name, text := range texts {
		definition, found := strings.CutPrefix(name, "snowflake ")
		if !found {
			continue
		}
		preset, _, _ := strings.Cut(definition, ":")
		layout, err := snowflake.ParseLayout(preset)
		require.NoError(t, err)
		require.Equal(t, layout.String(), definition, "layout")
		id, err := snowflake.Parse(text)
		require.NoError(t, err)
		fields, err := layout.Inspect(id)
		isThen := begun.Sub(fields.Time) < 2*time.Second && !fields.Time.After(begun) || preset == "baidu"
		require.That(t, err == nil && fields.Sequence == 33 && isThen, "%s: %+v, %v", preset, fields, err)
	}
	id, err := ulid.Parse(texts["ulid, text"])
	require.NoError(t, err)
	want := ulid.Fields{Time: begun, Entropy: [10]byte{0x71, 2, 0x83, 9: 4}}
	require.Equal(t, ulid.Inspect(id), want, "ULID")
	require.Gives(t, id, "UUID")(ulid.ParseUUID(texts["ulid, UUID"]))
	keys, err := objectkey.New(objectkey.Format{Prefix: "events/", Splits: []int{6, 8}, Delimiter: "/", Suffix: ".json"})
	require.NoError(t, err)
	require.Gives(t, id, "key")(keys.Parse(texts["ulid/objectkey, key"]))
}

func checkNumbers(t *testing.T, texts map[string]string) {
	week, err := numbers.ParsePeriods("week")
	require.NoError(t, err)
	for name, text := range texts {
		rest, found := strings.CutPrefix(name, "numbers {")
		pattern, how, _ := strings.Cut("{"+rest, ", ")
		if !found {
			continue
		}
		var options []numbers.Option
		if how == "encrypted" {
			options = append(options, numbers.Encrypted(keptSecret(t)))
		}
		if strings.Contains(pattern, "{period}") {
			options = append(options, numbers.WithPeriods(week))
		}
		format, err := numbers.NewFormat("orders", pattern, options...)
		require.NoError(t, err)
		number, err := format.Parse(text)
		require.That(t, err == nil && number.N == 12345, "%s: %s is number %d, %v", name, text, number.N, err)
	}
}
