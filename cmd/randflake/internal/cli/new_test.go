package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestFormats has one ID of each kind in each form.
func TestFormats(t *testing.T) {
	for name, want := range map[string]string{
		"text":   "vvvvvvvvvvvvr\n",
		"json":   "\"vvvvvvvvvvvvr\"\n",
		"number": "-5\n",
		"hex":    "0xfffffffffffffffb\n",
		"binary": "\xfb\xff\xff\xff\xff\xff\xff\xff",
	} {
		require.Equal(t, string(randflakeFormats[name](nil, -5)), want, "%s", name)
	}
	for name, want := range map[string]string{
		"text":   "175928847299117063\n",
		"json":   "\"175928847299117063\"\n",
		"number": "175928847299117063\n",
		"hex":    "0x0271065ac1020007\n",
		"binary": "\x02\x71\x06\x5a\xc1\x02\x00\x07",
	} {
		require.Equal(t, string(snowflakeFormats[name](nil, 175928847299117063)), want, "%s", name)
	}
}

// TestNew makes IDs, also around the size of a chunk: distinct ones, of now.
func TestNew(t *testing.T) {
	dir := newHome(t)
	cipher := cipherOf(t, dir)
	seen, want := make(map[randflake.ID]bool), 0
	for _, n := range []int{1, 2, chunkSize - 1, chunkSize, chunkSize + 1, 5*chunkSize + 7, 300_000} {
		out := []byte(succeed(t, "", "new", "--store", dir, "-n", strconv.Itoa(n), "--format", "binary"))
		for ; len(out) >= 8; out = out[8:] {
			id := randflake.ID(binary.LittleEndian.Uint64(out))
			f := cipher.Inspect(id)
			require.Must(t, isNow(f.Time) && f.Node <= 100, "%v holds %+v", id, f)
			require.Must(t, !seen[id], "-n %d: %v twice", n, id)
			seen[id] = true
		}
		want += n
		require.Must(t, len(out) == 0 && len(seen) == want,
			"-n %d: %d IDs and %d bytes, want %d", n, len(seen), len(out), want)
	}
}

// TestClosedOutput: a command whose output can't be had again fails if standard output is closed. It
// does not fail if that is the null device.
func TestClosedOutput(t *testing.T) {
	isolate(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for args, code := range map[string]int{
		"new":        exitFailed,
		"next a":     exitFailed,
		"secret new": exitFailed,
		"version":    exitOK,
	} {
		for to, want := range map[string]int{
			">&-":          code,
			">/dev/null":   exitOK,
			"1<>/dev/null": code, // as a closed one looks to the program
		} {
			cmd := process(t, "program")
			cmd.Args = []string{"sh", "-c", `exec "$0" ` + args + " " + to, cmd.Path}
			cmd.Path = sh
			text, _ := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != want || want == exitFailed && !strings.Contains(string(text), "standard output") {
				t.Errorf("%s %s: exit status %d: %s", args, to, cmd.ProcessState.ExitCode(), text)
			}
		}
	}
	if next := succeed(t, "", "next", "a"); next != "2\n" { // after the one that went to the null device
		t.Errorf("numbers were lost: the next one is %s", next)
	}
}

func cipherOf(t *testing.T, dir string) *randflake.Cipher {
	t.Helper()
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	check(t, err)
	return randflake.NewCipher(secret)
}

func isNow(at time.Time) bool { return time.Since(at).Abs() < time.Minute }

// TestNewULIDs makes ULIDs of now, in order, in each form.
func TestNewULIDs(t *testing.T) {
	isolate(t)
	for form, read := range map[string]func(string) (ulid.ID, error){
		"text": ulid.Parse,
		"uuid": ulid.ParseUUID,
		"json": func(text string) (ulid.ID, error) { return ulid.Parse(strings.Trim(text, `"`)) },
	} {
		lines := strings.Fields(succeed(t, "", "new", "--kind", "ulid", "-n", "100", "--format", form))
		var last ulid.ID
		for _, line := range lines {
			id, err := read(line)
			require.Must(t, err == nil && id.Compare(last) > 0 && isNow(ulid.Inspect(id).Time),
				"%s: %s after %v: %v", form, line, last, err)
			require.Must(t, form != "uuid" || line[14] == '7', "%s is not of version 7", line)
			last = id
		}
		require.Equal(t, len(lines), 100, "%s: lines", form)
	}
	out := succeed(t, "", "new", "--kind", "ulid", "-n", "3", "--format", "binary")
	require.That(t, len(out) == 3*16, "binary: %d bytes", len(out))
}

// TestProgress: on a terminal one line says how far a long run is, at most each quarter of a second.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen bytes.Buffer
		m := newMinter(10, 1, randflakeFormats["text"], nil)
		m.out = io.Discard
		m.line = progress{screen: &screen, started: time.Now(), shown: time.Now()}
		for _, step := range []struct {
			pause time.Duration
			n     int64
			want  string
		}{
			{progressPause - 1, 1, ""},
			{1, 1, "\r 20%  2 of 10 IDs, 8 a second, 1s left"},
			{progressPause - 1, 1, ""},
			{1 + 3*progressPause, 1, "\r 40%  4 of 10 IDs, 3 a second, 2s left"},
			{100*time.Second - 5*progressPause, 6, "\r100%  10 of 10 IDs, 0 a second, 0s left"},
		} {
			time.Sleep(step.pause)
			check(t, m.write(t.Context(), nil, step.n))
			require.Equal(t, screen.String(), step.want, "the screen shows")
			screen.Reset()
		}
		m.line.show("end")
		m.line.clear()
		if want := "\rend" + strings.Repeat(" ", len("100%  10 of 10 IDs, 0 a second, 0s left")-3) + "\r   \r"; screen.String() != want {
			t.Errorf("%q, want %q", &screen, want)
		}
	})
}

// TestNewIntoInspect is what users do: inspect reads each form that has lines.
func TestNewIntoInspect(t *testing.T) {
	dir, small := newHome(t), filepath.Join(t.TempDir(), "small")
	succeed(t, "", "store", "init", "--never-used", "--nodes", "1024", small)
	// With the kind, as a number can be a Snowflake ID, too.
	for form, from := range map[string]string{
		"text": "text", "number": "number --kind randflake", "hex": "hex --kind randflake", "json": "auto",
		"snowflake/text": "auto", "snowflake/number": "number", "snowflake/hex": "hex", "snowflake/json": "auto",
		"snowflake/base32": "base32", "snowflake/base58": "base58", "snowflake/base62": "base62",
	} {
		args := []string{"new", "-n", "100", "--store", dir, "--format"}
		read := append([]string{"inspect", "--json", "--from"}, strings.Fields(from)...)
		if form, found := strings.CutPrefix(form, "snowflake/"); found {
			args[4] = small
			args, read = append(args, form, "--kind", "snowflake"), append(read, "--layout", "twitter")
		} else {
			args, read = append(args, form), append(read, "--store", dir)
		}
		lines := json.NewDecoder(strings.NewReader(succeed(t, succeed(t, "", args...), read...)))
		seen := map[string]bool{}
		for lines.More() {
			var v struct {
				ID     string
				Time   time.Time
				Fields struct{ Node, Datacenter, Worker uint32 }
			}
			if err := lines.Decode(&v); err != nil || !isNow(v.Time) || v.Fields.Node|v.Fields.Datacenter<<5|v.Fields.Worker > 100 {
				t.Fatalf("%s: %+v, %v", form, v, err)
			}
			seen[v.ID] = true
		}
		require.Equal(t, len(seen), 100, "%s: distinct IDs", form)
	}
}

// homeSpace makes a home, and returns its space and its secret.
func homeSpace(t *testing.T) (*lease.Space, randflake.Secret) {
	t.Helper()
	dir := newHome(t)
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	check(t, err)
	engine, err := file.New(dir)
	check(t, err)
	space, err := lease.Open(t.Context(), engine, lease.Config{})
	check(t, err)
	t.Cleanup(func() { space.Close() })
	return space, secret
}

// TestMinterWaitsForTheNextSecond asks one node for more than it has in a second.
func TestMinterWaitsForTheNextSecond(t *testing.T) {
	const n = randflake.MaxSequence + 1 + 1000
	keeper := keepHere(t)
	var out bytes.Buffer
	require.NoError(t, newMinter(n, 2, randflakeFormats["binary"], filling(keeper)).mint(t.Context(), &tool{stdout: &out}))
	seen, seconds := make(map[randflake.ID]bool), make(map[time.Time]int)
	for out.Len() > 0 {
		id := randflake.ID(binary.LittleEndian.Uint64(out.Next(8)))
		seconds[keeper.Generator().Cipher().Inspect(id).Time]++
		seen[id] = true
	}
	require.That(t, len(seen) == n && len(seconds) >= 2,
		"%d distinct IDs in seconds %v, want %d in at least two", len(seen), seconds, n)
}

// keepHere keeps a generator of one node.
func keepHere(t *testing.T) *lease.Keeper[*randflake.Generator] {
	t.Helper()
	space, secret := homeSpace(t)
	keeper, err := lease.Keep(t.Context(), space, secret, lease.WithLogger(slog.New(slog.DiscardHandler)))
	check(t, err)
	t.Cleanup(func() { keeper.Close() })
	return keeper
}

// TestFillingWithoutALease: after the lease has ended, IDs wait ten seconds for the next one, or
// until the context ends.
func TestFillingWithoutALease(t *testing.T) {
	failed, enough := errors.New("no connection"), errors.New("enough")
	for name, c := range map[string]struct {
		back, stop time.Duration // when the store is back, and when the context ends
		want       error
		waited     time.Duration
	}{
		"the store stays away":   {time.Hour, time.Hour, failed, 10 * time.Second},
		"the store comes back":   {3 * time.Second, time.Hour, nil, 3 * time.Second},
		"the context ends first": {time.Hour, 2 * time.Second, enough, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))) // leases refuse the clock that a bubble begins with
			var away atomic.Bool
			engine := leasetest.Intercept(leasetest.NewMemory().Connect(),
				func(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
					if away.Load() {
						return lease.Answer{}, failed
					}
					return c.On(ctx, e)
				})
			space, err := lease.Create(t.Context(), engine, lease.Config{NeverUsed: true})
			check(t, err)
			defer space.Close()
			keeper, err := lease.Keep(t.Context(), space, randflake.NewSecret(), lease.WithLogger(slog.New(slog.DiscardHandler)))
			check(t, err)
			defer keeper.Close()
			away.Store(true)
			time.Sleep(time.Hour)
			began := time.Now()
			time.AfterFunc(c.back, func() { away.Store(false) })
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.stop, enough)
			defer cancel()
			ids := make([]randflake.ID, 3)
			n, err := filling(keeper)(ctx, ids)
			require.That(t, errors.Is(err, c.want) && (n == len(ids)) == (c.want == nil),
				"%s: %d, %v, want %v", name, n, err, c.want)
			const late = 10 * time.Second // until the keeper asks the store again
			if waited := time.Since(began); waited < c.waited || waited > c.waited+late {
				t.Errorf("%s: waited %v, want %v", name, waited, c.waited)
			}
		})
	}
}

// TestMinterIsStopped has a writer that hangs.
func TestMinterIsStopped(t *testing.T) {
	keeper := keepHere(t)
	reader, writer := io.Pipe()
	defer reader.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		reader.Read(make([]byte, 1)) // the write has begun, and goes no further
		cancel(errors.New("enough"))
	}()
	m := newMinter(math.MaxInt64, 2, randflakeFormats["text"], filling(keeper))
	if err := m.mint(ctx, &tool{stdout: writer}); err == nil || !strings.HasPrefix(err.Error(), "stopped after ") ||
		!strings.HasSuffix(err.Error(), ": enough") {
		t.Errorf("%v, want the reason for the end", err)
	}
}

// TestStoppedAtTheEnd: a signal that comes when all is written stops nothing.
func TestStoppedAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fill := func(_ context.Context, ids []randflake.ID) (int, error) { return len(ids), nil }
	m := newMinter(5, 1, randflakeFormats["text"], fill)
	require.NoError(t, m.mint(ctx, &tool{stdout: ending{cancel}}))
}

// An ending writer ends a context once something was written.
type ending struct{ cancel context.CancelFunc }

func (w ending) Write(b []byte) (int, error) {
	w.cancel()
	return len(b), nil
}

// crowded is a space that has no more than some nodes.
type crowded struct {
	*lease.Space
	most uint32
}

func (s crowded) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	if nodes > s.most {
		return nil, &lease.WaitError{Err: lease.ErrFull, Until: time.Now(), Why: "crowded"}
	}
	return s.Space.Take(ctx, from, to, nodes)
}

func TestKeepTakesWhatIsThere(t *testing.T) {
	space, secret := homeSpace(t)
	keep := func(most uint32) (*lease.Keeper[*randflake.Generator], error) {
		type keeper = *lease.Keeper[*randflake.Generator]
		take := func(ctx context.Context, space lease.Source, options ...lease.Option) (keeper, error) {
			return lease.Keep(ctx, space, secret, options...)
		}
		return keepSome(t.Context(), crowded{space, most}, 128, take)
	}
	keeper, err := keep(5)
	check(t, err)
	defer keeper.Close()
	l := keeper.Generator().Lease()
	require.That(t, l.LastNode-l.FirstNode+1 == 4, "lease %+v, want 4 nodes", l)
	require.Refuses(t, lease.ErrFull, "no node at all")(keep(0))
}

func TestTerminal(t *testing.T) {
	for _, w := range []io.Writer{os.NewFile(^uintptr(0), "closed"), io.Discard} {
		require.That(t, !isTerminal(w), "%v passes for a terminal", w)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	var errs bytes.Buffer
	reader := tool{stdin: terminal, stderr: &errs}
	reader.sayWhatIsRead([]string{"31"})
	reader.sayWhatIsRead(nil)
	require.Equal(t, strings.Count(errs.String(), "reads IDs, one a line"), 1, "%q says what is read", &errs)
	errs.Reset()
	dir := newHome(t)
	code := (&tool{stdout: terminal, stderr: &errs}).run(t.Context(), []string{"new", "--store", dir, "--format", "binary"})
	wantFailure(t, result{code, "", errs.String()}, exitUsage, "not for a terminal")
	errs.Reset()
	code = (&tool{stdout: terminal, stderr: &errs}).run(t.Context(), []string{"new", "--store", dir})
	require.That(t, code == exitOK && errs.Len() == 0, "text for a terminal: exit status %d, %s", code, &errs)
	code = (&tool{stdout: terminal, stderr: &errs}).run(t.Context(), []string{"convert", "31"})
	shown := bufio.NewScanner(terminal) // its echo of all that it was sent
	for _, want := range []string{"", "TEXT           SIGNED", "g00000000000v  31"} {
		if shown.Scan(); !strings.HasPrefix(shown.Text(), want) || code != exitOK {
			t.Errorf("a table for a terminal: exit status %d, %q, want %q", code, shown.Text(), want)
		}
	}
}

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

// TestNewOfEachLayout mints with each preset that has not ended, in the state directory: IDs in
// order, more than some layouts have in a unit of time.
func TestNewOfEachLayout(t *testing.T) {
	dir := isolate(t)
	for _, layout := range snowflake.Presets() {
		name := layout.Name()
		r := call(t, "", "new", "--layout", name, "-n", "1000")
		if !time.Now().Before(layout.Expires()) {
			wantFailure(t, r, exitFailed, "ended at", name, layout.Expires().Format(time.DateOnly))
			continue
		}
		store := filepath.Join(filepath.Dir(dir), fmt.Sprintf("snowflake-%d", min(layout.Workers(), 1<<17)))
		ids, err := snowflakesIn(r.out)
		if err == nil {
			err = checkSnowflakes(layout, ids)
		}
		require.That(t, r.code == exitOK && err == nil && len(ids) == 1000,
			"%s: %d IDs, %s, %v", name, len(ids), r.err, err)
		if _, err := os.Stat(filepath.Join(store, "secret")); err == nil || isVacant(store) {
			t.Errorf("%s: made a secret, or nothing in %s", name, store)
		}
	}
	require.That(t, isVacant(dir), "made a home for Randflake IDs too")
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil ||
		slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestSnowflakeStores has stores that the user names.
func TestSnowflakeStores(t *testing.T) {
	state := isolate(t)
	dir := filepath.Join(t.TempDir(), "store")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "no such space", "randflake store init "+dir)
	succeed(t, "", "store", "init", "--nodes", "1024", "--store", dir)
	wantFailure(t, call(t, "", "new", "--kind", "snowflake", "--store", dir), exitFailed, "wait until")
	t.Setenv(storeVariable, newHome(t))
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, "131071")
	small := filepath.Join(t.TempDir(), "small")
	succeed(t, "", "store", "init", "--never-used", "--nodes", "1024", small)
	t.Setenv(storeVariable, small)
	succeed(t, "", "new", "--kind", "snowflake")
	t.Setenv(storeVariable, "")
	wantFailure(t, call(t, "", "new", "--kind", "snowflake"), exitFailed, storeVariable+" is empty")
	require.That(t, isVacant(filepath.Dir(state)), "made a store, and none was needed")
}

// TestLayoutWrittenOut has a layout that is no preset, by two names, which share a store.
func TestLayoutWrittenOut(t *testing.T) {
	isolate(t)
	const parts = "time 42, shard 9, sequence 13; 2ms since 2025-01-01T00:00:00Z"
	var all []snowflake.ID
	for _, text := range []string{"mine: " + parts, "yours: " + strings.Replace(parts, "shard 9", "a 4, b 5", 1)} {
		ids, err := snowflakesIn(call(t, "", "new", "--layout", text, "-n", "3").out)
		if err := errors.Join(err, checkSnowflakes(layoutOf(t, text), ids)); err != nil || len(ids) != 3 {
			t.Errorf("%s: %v, %v", text, ids, err)
		}
		require.Contains(t, succeed(t, "", "inspect", "--layout", text, ids[0].String()), "sequence", "%s: inspect", text)
		all = append(all, ids...)
	}
	slices.Sort(all)
	require.Equal(t, len(slices.Compact(all)), 6, "distinct IDs")
	for text, want := range map[string]string{"mine: time 41": "want a form like", "worker15": "a form like",
		"nobody": "want one of discord, twitter"} {
		wantFailure(t, call(t, "", "new", "--layout", text), exitUsage, want)
	}
}

func layoutOf(t *testing.T, name string) *snowflake.Layout {
	t.Helper()
	layout, err := snowflake.ParseLayout(name)
	check(t, err)
	return layout
}

func TestCheckLifetime(t *testing.T) {
	end := snowflake.Twitter().Expires()
	for _, c := range []struct {
		now         time.Time
		fails, says bool
	}{
		{end.AddDate(-6, 0, 0), false, false},
		{end.AddDate(-5, 0, -1), false, false},
		{end.AddDate(-5, 0, 0), false, true},
		{end.AddDate(0, 0, -1), false, true},
		{end, true, false},
	} {
		var notes bytes.Buffer
		err := (&tool{stderr: &notes}).checkLifetime(snowflake.Twitter(), c.now)
		require.That(t, (err != nil) == c.fails && (notes.Len() > 0) == c.says, "%v: %v, %q", c.now, err, &notes)
	}
}
