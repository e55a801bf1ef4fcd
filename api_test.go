package randflake_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// What each verb of package fmt prints of each kind.
func TestVerbs(t *testing.T) {
	for _, test := range []struct {
		format string
		id     any
		want   string
	}{
		{"%15s|%-15s|", randflake.ID(-1), "  vvvvvvvvvvvvv|vvvvvvvvvvvvv  |"},
		{"%d", randflake.ID(-1), "-1"},
		{"%05d", randflake.ID(7), "00007"},
		{"%#v", randflake.ID(-1), "-1"},
		{"%x", randflake.ID(32), "20"},
		{"%X", randflake.ID(-2), "FFFFFFFFFFFFFFFE"},
		{"%#x %016x", randflake.ID(32), "0x20 0000000000000020"},
		{"%d %x %#v", randflake.TextID(-1), "-1 ffffffffffffffff -1"},
		{"%d %x %#v", ShipmentID(-1), "-1 ffffffffffffffff -1"},
		{"%v", []randflake.ID{32, 1}, "[g000000000010 g000000000001]"},
		{"%x", []randflake.ID{32, 1}, "[20 1]"},
		{"%#v", snowflake.ID(32), "0x20"},
		{"%x", snowflake.ID(32), "20"},
		{"%d", ulid.ID{15: 31}, "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 31]"},
		{"%x", ulid.ID{15: 31}, "0000000000000000000000000000001f"},
	} {
		args := make([]any, strings.Count(test.format, "%"))
		for i := range args {
			args[i] = test.id
		}
		require.Equal(t, fmt.Sprintf(test.format, args...), test.want, "%s of a %T", test.format, test.id)
	}
}

// kinds are generators, as functions that return when a new ID was made.
type kinds map[string]func() (time.Time, error)

func newKinds(t *testing.T) kinds {
	secret := randflake.NewSecret()
	always := randflake.Lease{LastNode: randflake.MaxNode, Start: time.Unix(randflake.Epoch, 0), End: time.Unix(randflake.MaxTimestamp+1, 0)}
	flakes, err := randflake.New(secret, always)
	require.NoError(t, err)
	layout := snowflake.Twitter()
	snow, err := snowflake.New(layout, snowflake.Forever(1))
	require.NoError(t, err)
	ulids, err := ulid.New()
	require.NoError(t, err)
	return kinds{
		"ulid":      func() (time.Time, error) { id, err := ulids.Generate(); return ulid.Inspect(id).Time, err },
		"randflake": func() (time.Time, error) { id, err := flakes.Generate(); return flakes.Cipher().Inspect(id).Time, err },
		"snowflake": func() (time.Time, error) {
			id, err := snow.Generate()
			if err != nil {
				return time.Time{}, err
			}
			f, err := layout.Inspect(id)
			return f.Time, err
		},
	}
}

// since checks that what is made has a time near begin. Clocks may be late on a loaded machine;
// those of bubbles are years off.
func (k kinds) since(t *testing.T, begin time.Time, where string) {
	t.Helper()
	for kind, generate := range k {
		if made, err := generate(); err != nil || made.Sub(begin).Abs() > time.Hour/2 {
			t.Errorf("%s, %s: made at %v, %v; want about %v", kind, where, made, err, begin)
		}
	}
}

// What was made in a bubble has the bubble's time, and everything else the system's, in a bubble
// and after it, be the process at rest before or not.
func TestTimesInAndAfterBubbles(t *testing.T) {
	for name, rest := range map[string]time.Duration{"at rest": 2 * time.Second, "in use": 0} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			all := newKinds(t)
			if rest == 0 {
				all.since(t, begin, "before the bubble")
			}
			time.Sleep(rest)
			synctest.Test(t, func(t *testing.T) {
				all.since(t, begin, "made outside of the bubble")
				time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
				newKinds(t).since(t, time.Now(), "in a bubble")
				time.Sleep(time.Hour)
			})
			for range 3 {
				all.since(t, begin, "after the bubble")
				newKinds(t).since(t, begin, "made after the bubble")
				time.Sleep(time.Second / 4)
			}
		})
	}
}
