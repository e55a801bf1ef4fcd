package cli

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/snowflake"
)

// snowflakesIn reads IDs in their usual form.
func snowflakesIn(text string) (ids []snowflake.ID, err error) {
	for _, word := range strings.Fields(text) {
		id, err := snowflake.Parse(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// checkSnowflakes returns an error unless the IDs ascend, which makes them distinct, and are of now.
func checkSnowflakes(layout *snowflake.Layout, ids []snowflake.ID) error {
	for i, id := range ids {
		if i > 0 && ids[i-1] >= id {
			return fmt.Errorf("%d after %d", id, ids[i-1])
		}
		p, err := layout.Inspect(id)
		if err != nil {
			return err
		}
		if !isNow(p.Time) {
			return fmt.Errorf("%d holds %+v", id, p)
		}
	}
	return nil
}

// TestNewOfEachLayout mints with each preset that has not ended, into a store of its own.
func TestNewOfEachLayout(t *testing.T) {
	dir := isolate(t)
	for _, layout := range snowflake.Presets() {
		name := layout.Name()
		r := call(t, "", "new", "--layout", name, "-n", "3")
		if !time.Now().Before(layout.Expires()) {
			wantFailure(t, r, exitFailed, "ended at", name, layout.Expires().Format(time.DateOnly))
			continue
		}
		store := stateOfLayout(dir, spaceOf(layout))
		ids, err := snowflakesIn(r.out)
		if err == nil {
			err = checkSnowflakes(layout, ids)
		}
		if r.code != exitOK || err != nil || len(ids) != 3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(filepath.Join(store, "secret")); err == nil {
			t.Errorf("%s: made a secret", name)
		}
	}
	if !isVacant(dir) {
		t.Error("made a home for Randflake IDs too")
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// stateOfLayout returns the directory beside that of Randflake IDs.
func stateOfLayout(dir, space string) string {
	return filepath.Join(filepath.Dir(dir), "snowflake-"+space)
}

// TestSnowflakeStores has stores that the user names.
func TestSnowflakeStores(t *testing.T) {
	state := isolate(t)
	dir := filepath.Join(t.TempDir(), "store")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "no such space", "randflake store init "+dir)
	succeed(t, "", "store", "init", "--nodes", "1024", "--store", dir)
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "wait until")
	t.Setenv(storeVariable, newHome(t))
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, "131072")
	small := filepath.Join(t.TempDir(), "small")
	succeed(t, "", "store", "init", "--new", "--nodes", "1024", small)
	t.Setenv(storeVariable, small)
	succeed(t, "", "new", "--kind", "snowflake")
	t.Setenv(storeVariable, "")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, storeVariable+" is empty")
	if !isVacant(filepath.Dir(state)) {
		t.Error("made a store that nobody needs")
	}
}

func TestSpaceOf(t *testing.T) {
	for _, layout := range snowflake.Presets() {
		want := layout.Name()
		if want == "worker10" {
			want = "twitter"
		}
		if got := spaceOf(layout); got != want {
			t.Errorf("%s: %s, want %s", layout.Name(), got, want)
		}
	}
	const ms = "; 1ms since 2010-11-04T01:42:54.657Z"
	spaces := make(map[string]bool)
	for parts, same := range map[string]bool{
		"time 41, a 3, b 7, sequence 12" + ms:                            true,
		"time 41, a 10, sequence 12; 1ms since 2010-11-04T01:42:54.658Z": false,
		"time 41, a 11, sequence 11" + ms:                                false,
		"time 41, sequence 12, a 10" + ms:                                false,
		"time 41, a 8, rollback 2, sequence 12" + ms:                     false,
		"time 40, a 10, sequence 12" + ms:                                false,
	} {
		layout, err := snowflake.ParseLayout("one: " + parts)
		if err != nil {
			t.Fatal(err)
		}
		if got := spaceOf(layout); (got == "twitter") != same || spaces[got] {
			t.Errorf("%s: %s", parts, got)
		} else if !same {
			spaces[got] = true
		}
		if again, err := snowflake.ParseLayout("renamed: " + parts); err != nil || spaceOf(again) != spaceOf(layout) {
			t.Errorf("%s: another space by another name: %s", parts, spaceOf(again))
		}
	}
}

// TestLayoutWrittenOut has a layout that is no preset, by two names, which share a store.
func TestLayoutWrittenOut(t *testing.T) {
	isolate(t)
	const parts = "time 42, shard 9, sequence 13; 2ms since 2025-01-01T00:00:00Z"
	var all []snowflake.ID
	for _, text := range []string{"mine: " + parts, "yours: " + strings.Replace(parts, "shard 9", "a 4, b 5", 1)} {
		layout, err := snowflake.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := snowflakesIn(call(t, "", "new", "--layout", text, "-n", "3").out)
		if err := errors.Join(err, checkSnowflakes(layout, ids)); err != nil || len(ids) != 3 {
			t.Errorf("%s: %v, %v", text, ids, err)
		}
		if out := succeed(t, "", "inspect", "--layout", text, ids[0].String()); !strings.Contains(out, "sequence") {
			t.Errorf("%s: inspect: %q", text, out)
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 6 {
		t.Errorf("%d distinct IDs, want 6", n)
	}
	for text, want := range map[string]string{"mine: time 41": "want a form like", "worker15": "a form like", "nobody": "want one of twitter"} {
		wantFailure(t, call(t, "", "new", "--layout", text), exitUsage, want)
	}
}

func layoutOf(t *testing.T, name string) *snowflake.Layout {
	t.Helper()
	layout, err := snowflake.ParseLayout(name)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func TestCheckLifetime(t *testing.T) {
	end := snowflake.Twitter().Expires()
	for _, c := range []struct {
		now         time.Time
		fails, says bool
	}{
		{end.AddDate(-6, 0, 0), false, false},
		{end.AddDate(-1, 0, 0), false, true},
		{end, true, false},
	} {
		var notes bytes.Buffer
		err := (&tool{stderr: &notes}).checkLifetime(snowflake.Twitter(), c.now)
		if (err != nil) != c.fails || (notes.Len() > 0) != c.says {
			t.Errorf("%v: %v, %q", c.now, err, &notes)
		}
	}
}

// TestSnowflakesWaitForTheirTurn asks for more than a layout has in many of its units.
func TestSnowflakesWaitForTheirTurn(t *testing.T) {
	const n = 10_000
	layout := layoutOf(t, "javascript53") // 128 a millisecond
	dir := filepath.Join(t.TempDir(), "small")
	if _, err := local.CreateSpace(dir, lease.Limits{Nodes: uint32(layout.Workers())}); err != nil {
		t.Fatal(err)
	}
	engine, err := file.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	space, err := lease.Open(t.Context(), engine, lease.Config{})
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := snowflake.Keep(t.Context(), space, layout, snowflake.Leasing(lease.WithLogger(slog.New(slog.DiscardHandler))))
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	f, err := formatOf(snowflakeFormats, "text")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := newMinter(n, 1, f, filling(keeper)).mint(t.Context(), &tool{stdout: &out}); err != nil {
		t.Fatal(err)
	}
	ids, err := snowflakesIn(out.String())
	if err != nil || len(ids) != n || !slices.IsSorted(ids) || ids[0] == ids[1] {
		t.Fatalf("%d IDs, %v", len(ids), err)
	}
	units := make(map[time.Time]int)
	for _, id := range ids {
		p, err := layout.Inspect(id)
		if err != nil {
			t.Fatal(err)
		}
		if units[p.Time]++; units[p.Time] > 128 {
			t.Fatalf("%d IDs at %v", units[p.Time], p.Time)
		}
	}
}
