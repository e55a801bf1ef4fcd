package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
	"github.com/randflake/randflake/store"
)

// snowflakeDecoders read back what new writes.
var snowflakeDecoders = map[string]func(out string) ([]snowflake.ID, error){
	"text":   byLine(snowflake.Parse),
	"int":    byLine(snowflake.Parse),
	"base32": byLine(bases.Parse32),
	"base58": byLine(bases.Parse58),
	"base62": byLine(bases.Parse62),
	"hex": byLine(func(line string) (snowflake.ID, error) {
		if len(line) != 18 || line[:2] != "0x" || line != strings.ToLower(line) {
			return 0, fmt.Errorf("%q", line)
		}
		value, err := strconv.ParseUint(line[2:], 16, 64)
		return snowflake.ID(value), err
	}),
	"json": byLine(func(line string) (id snowflake.ID, err error) {
		if !strings.HasPrefix(line, `"`) {
			return 0, fmt.Errorf("%q is no string", line)
		}
		return id, json.Unmarshal([]byte(line), &id)
	}),
	"binary": func(out string) (ids []snowflake.ID, err error) {
		for ; out != ""; out = out[8:] {
			ids = append(ids, snowflake.ID(binary.BigEndian.Uint64([]byte(out))))
		}
		return ids, nil
	},
}

// checkSnowflakes returns an error unless the IDs ascend, which makes them distinct, and each lies in a
// lease.
func checkSnowflakes(layout *snowflake.Layout, ids []snowflake.ID, leases []leaseView) error {
	for i, id := range ids {
		if i > 0 && ids[i-1] >= id {
			return fmt.Errorf("%d after %d", id, ids[i-1])
		}
		p, err := layout.Inspect(id)
		if err != nil {
			return err
		}
		var worker uint64
		for _, f := range layout.Parts() {
			if value, static := p.Static[f.Name]; static {
				worker = worker<<f.Bits | value
			}
		}
		if !inLease(leases, randflake.Fields{Time: p.Time, Node: uint32(worker)}) {
			return fmt.Errorf("%d holds %+v, which is in none of %+v", id, p, leases)
		}
	}
	return nil
}

func TestCheckSnowflakes(t *testing.T) {
	layout := snowflake.Twitter()
	now := time.Now().Truncate(time.Second)
	id := func(after time.Duration, datacenter, sequence uint64) snowflake.ID {
		id, err := layout.Compose(snowflake.Fields{Time: now.Add(after), Static: map[string]uint64{"datacenter": datacenter, "worker": 3}, Sequence: sequence})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	leases := []leaseView{{FirstNode: 32 + 3, LastNode: 32 + 3, Start: now, Until: now.Add(time.Second)}}
	for name, ids := range map[string][]snowflake.ID{
		"twice":          {id(0, 1, 0), id(0, 1, 0)},
		"descending":     {id(0, 1, 1), id(0, 1, 0)},
		"another worker": {id(0, 2, 0)},
		"too early":      {id(-time.Millisecond, 1, 0)},
		"too late":       {id(time.Second, 1, 0)},
		"no ID":          {math.MaxUint64},
	} {
		if checkSnowflakes(layout, ids, leases) == nil {
			t.Errorf("%s: not found", name)
		}
	}
	if err := checkSnowflakes(layout, []snowflake.ID{id(0, 1, 0), id(999*time.Millisecond, 1, 0)}, leases); err != nil {
		t.Error(err)
	}
}

func TestNewSnowflakeFormats(t *testing.T) {
	const n = 20_000
	dir := newHome(t)
	for _, f := range snowflakeFormats {
		out := succeed(t, "", "new", "--kind", "snowflake", "--store", dir, "-n", strconv.Itoa(n), "--format", f.name)
		ids, err := snowflakeDecoders[f.name](out)
		if err != nil || len(ids) != n {
			t.Fatalf("%s: %d IDs, %v, want %d", f.name, len(ids), err, n)
		}
		if err := checkSnowflakes(snowflake.Twitter(), ids, views(t, dir)); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if f.name == "binary" {
			continue
		}
		from := f.name
		if from == "json" {
			from = "auto"
		}
		first, _, _ := strings.Cut(out, "\n")
		if opened := succeed(t, first, "inspect", "--layout", "twitter", "--from", from); !strings.HasPrefix(opened, ids[0].String()+" ") {
			t.Errorf("%s: inspect of %q: %q, want %d", f.name, first, opened, ids[0])
		}
	}
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
		ids, err := snowflakeDecoders["text"](r.out)
		if err == nil {
			err = checkSnowflakes(layout, ids, views(t, store))
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

// TestSnowflakeFirstUse has both kinds make what they need, in whichever order, and once.
func TestSnowflakeFirstUse(t *testing.T) {
	for _, kinds := range [][]string{{"randflake", "snowflake"}, {"snowflake", "randflake"}} {
		dir := isolate(t)
		t.Setenv(secretFileVariable, "/nowhere/secret") // which is not for Snowflake IDs
		for _, kind := range kinds {
			if kind == "randflake" {
				os.Unsetenv(secretFileVariable)
			}
			first := call(t, "", "new", "--kind", kind)
			if first.code != exitOK || strings.Count(first.err, "\n") != 1 || !strings.Contains(first.err, filepath.Dir(dir)) {
				t.Fatalf("%s: first use: %+v: want one line about %s", kind, first, filepath.Dir(dir))
			}
			if second := succeed(t, "", "new", "--kind", kind); second == first.out || strings.Count(second, "\n") != 1 {
				t.Errorf("%s: second use: %q after %q", kind, second, first.out)
			}
		}
		succeed(t, "", "new", "--layout", "worker10") // in the store that is there
	}
}

// TestSnowflakeFirstUseRace has many processes start at once. All must end up with the same store.
func TestSnowflakeFirstUseRace(t *testing.T) {
	const racers, each = 12, 5000
	dir := isolate(t)
	outputs, errs := make([]string, racers), make([]string, racers)
	var group sync.WaitGroup
	for i := range racers {
		layout := []string{"twitter", "worker10"}[i%2]
		cmd := process(t, "program", "new", "--layout", layout, "-n", strconv.Itoa(each))
		group.Go(func() {
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if outputs[i], errs[i] = string(out), stderr.String(); err != nil {
				t.Errorf("%v: %s", err, errs[i])
			}
		})
	}
	group.Wait()
	if n := strings.Count(strings.Join(errs, ""), "made a store"); n != 1 {
		t.Errorf("%d say that they made the store", n)
	}
	leases := views(t, stateOfLayout(dir, "twitter"))
	distinct := make(map[snowflake.ID]bool)
	for _, out := range outputs {
		ids, err := snowflakeDecoders["text"](out)
		for _, id := range ids {
			distinct[id] = true
		}
		if err != nil || len(ids) != each {
			t.Errorf("%d IDs, %v", len(ids), err)
		}
		// By now a worker may have been leased twice: its record tells of the newer lease alone.
		if !slices.IsSorted(ids) {
			t.Error("IDs of one process do not ascend")
		}
	}
	if len(distinct) != racers*each || len(leases) == 0 {
		t.Errorf("%d distinct IDs, want %d; %d workers", len(distinct), racers*each, len(leases))
	}
}

// TestSnowflakeStores has stores that the user names.
func TestSnowflakeStores(t *testing.T) {
	state := isolate(t)
	dir := filepath.Join(t.TempDir(), "store")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "no store in "+dir, "randflake lease init --store "+dir)
	succeed(t, "", "lease", "init", "--store", dir)
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "no lease may start before")
	t.Setenv(storeVariable, newHome(t))
	succeed(t, "", "new", "--kind", "snowflake")
	if n := len(views(t, os.Getenv(storeVariable))); n != 1 {
		t.Errorf("%d leases in the store that the variable names", n)
	}
	t.Setenv(storeVariable, "")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, storeVariable+" is empty")
	if !isVacant(filepath.Dir(state)) {
		t.Error("made a store that nobody needs")
	}
}

// TestBrokenSnowflakeStore has one that is never made anew.
func TestBrokenSnowflakeStore(t *testing.T) {
	dir := stateOfLayout(isolate(t), "twitter")
	succeedNoisily(t, "new", "--kind", "snowflake")
	if err := truncateStore(t, dir); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, "data is corrupt", dir)
}

// TestUsageListsLayouts keeps the list from missing one.
func TestUsageListsLayouts(t *testing.T) {
	for _, layout := range snowflake.Presets() {
		if !strings.Contains(kindsHelp, layout.Name()) {
			t.Errorf("new -h does not tell of %s", layout.Name())
		}
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
	epoch := snowflake.Twitter().Epoch()
	spaces := make(map[string]bool)
	for name, c := range map[string]struct {
		epoch time.Time
		parts []snowflake.Part
		same  bool
	}{
		"otherwise-divided": {epoch, []snowflake.Part{snowflake.Time(41), snowflake.Static("a", 3), snowflake.Static("b", 7), snowflake.Sequence(12)}, true},
		"other-epoch":       {epoch.Add(time.Millisecond), []snowflake.Part{snowflake.Time(41), snowflake.Static("a", 10), snowflake.Sequence(12)}, false},
		"other-widths":      {epoch, []snowflake.Part{snowflake.Time(41), snowflake.Static("a", 11), snowflake.Sequence(11)}, false},
		"other-order":       {epoch, []snowflake.Part{snowflake.Time(41), snowflake.Sequence(12), snowflake.Static("a", 10)}, false},
		"with-rollback":     {epoch, []snowflake.Part{snowflake.Time(41), snowflake.Static("a", 8), snowflake.Rollback(2), snowflake.Sequence(12)}, false},
		"longer":            {epoch, []snowflake.Part{snowflake.Time(40), snowflake.Static("a", 10), snowflake.Sequence(12)}, false},
	} {
		layout, err := snowflake.NewLayout(name, c.epoch, time.Millisecond, c.parts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := spaceOf(layout); (got == "twitter") != c.same || spaces[got] {
			t.Errorf("%s: %s", name, got)
		} else if !c.same {
			spaces[got] = true
		}
		if again, err := snowflake.NewLayout("renamed", c.epoch, time.Millisecond, c.parts...); err != nil || spaceOf(again) != spaceOf(layout) {
			t.Errorf("%s: another space by another name: %s", name, spaceOf(again))
		}
	}
}

// TestLayoutWrittenOut has a layout that is no preset, by two names, which share a store.
func TestLayoutWrittenOut(t *testing.T) {
	dir := isolate(t)
	const parts = "time 42, shard 9, sequence 13; 2ms since 2025-01-01T00:00:00Z"
	var all []snowflake.ID
	for _, text := range []string{"mine: " + parts, "yours: " + strings.Replace(parts, "shard 9", "a 4, b 5", 1)} {
		layout, err := snowflake.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := snowflakeDecoders["text"](call(t, "", "new", "--layout", text, "-n", "3").out)
		if err := errors.Join(err, checkSnowflakes(layout, ids, views(t, stateOfLayout(dir, "time42-worker9-sequence13-2ms-1735689600000")))); err != nil || len(ids) != 3 {
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
	leases, _ := testLeases(t)
	keeper, err := keepWorker(t.Context(), leases, layout)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	f, err := formatOf(snowflakeFormats, "text")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := newMinter(n, 1, f, snowflakes(keeper).fill).run(t.Context(), &out, new(progress)); err != nil {
		t.Fatal(err)
	}
	ids, err := snowflakeDecoders["text"](out.String())
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

// TestSnowflakesStopWaiting ends the wait for a slow layout's turn.
func TestSnowflakesStopWaiting(t *testing.T) {
	leases, _ := testLeases(t)
	keeper, err := keepWorker(t.Context(), leases, layoutOf(t, "sonyflake"))
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := snowflakes(keeper).fill(ctx, make([]snowflake.ID, 10_000)); !errors.Is(err, enough) {
		t.Errorf("%v, want the reason for the end", err)
	}
}

// TestSnowflakesWaitForALease lets the lease end, as when the process was asleep.
func TestSnowflakesWaitForALease(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	leases, _ := testLeases(t, store.WithClock(clock))
	keeper, err := snowflake.Keep(t.Context(), leases, snowflake.Twitter(), snowflake.WithClock(clock), snowflake.Leasing(leasing(leaseTTL)...))
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	ahead.Store(int64(time.Hour))
	if _, err := keeper.Generator().Generate(); !errors.Is(err, randflake.ErrLeaseEnded) {
		t.Fatalf("after an hour: %v", err)
	}
	ids := make([]snowflake.ID, 100)
	if _, err := snowflakes(keeper).fill(t.Context(), ids); err != nil || !slices.IsSorted(ids) || ids[0] == 0 {
		t.Errorf("%v, %d", err, ids)
	}
}

// TestNoWorkerLeft has a store in which all worker numbers are taken.
func TestNoWorkerLeft(t *testing.T) {
	leases, _ := testLeases(t)
	if _, err := keepWorker(t.Context(), crowdedStore{leases, 0}, snowflake.Twitter()); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("%v, want %v", err, lease.ErrNoRange)
	}
}
