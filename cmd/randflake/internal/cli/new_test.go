package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/storetest"
)

// formatNamed returns one of the formats of Randflake IDs.
func formatNamed(t *testing.T, name string) format[randflake.ID] {
	t.Helper()
	f, err := formatOf(randflakeFormats, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// decoders read back what new writes.
var decoders = map[string]func(out string) ([]randflake.ID, error){
	"text": byLine(randflake.Parse),
	"int": byLine(func(line string) (randflake.ID, error) {
		value, err := strconv.ParseInt(line, 10, 64)
		return randflake.ID(value), err
	}),
	"hex": byLine(func(line string) (randflake.ID, error) {
		if len(line) != 18 || line[:2] != "0x" || line != strings.ToLower(line) {
			return 0, fmt.Errorf("%q", line)
		}
		value, err := strconv.ParseUint(line[2:], 16, 64)
		return randflake.ID(value), err
	}),
	"json": byLine(func(line string) (id randflake.ID, err error) {
		if !strings.HasPrefix(line, `"`) {
			return 0, fmt.Errorf("%q is no string", line)
		}
		return id, json.Unmarshal([]byte(line), &id)
	}),
	"binary": func(out string) (ids []randflake.ID, err error) {
		for ; err == nil && out != ""; out = out[8:] {
			ids = append(ids, 0)
			err = ids[len(ids)-1].UnmarshalBinary([]byte(out[:8]))
		}
		return ids, err
	},
}

func byLine[ID any](parse func(line string) (ID, error)) func(out string) ([]ID, error) {
	return func(out string) (ids []ID, err error) {
		for line := range strings.Lines(out) {
			id, err := parse(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
}

func TestNewFormats(t *testing.T) {
	const n = 100_000
	dir := newHome(t)
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	cipher := randflake.NewCipher(secret)
	seen := make(map[randflake.ID]bool)
	for i, f := range randflakeFormats {
		name := f.name
		out := succeed(t, "", "new", "--store", dir, "-n", strconv.Itoa(n), "--format", name)
		ids, err := decoders[name](out)
		if err != nil || len(ids) != n {
			t.Fatalf("%s: %d IDs, %v, want %d", name, len(ids), err, n)
		}
		leases := views(t, dir)
		for _, id := range ids {
			f := cipher.Inspect(id)
			if !inLease(leases, f) {
				t.Fatalf("%s: %v holds %+v, which is in none of %+v", name, id, f, leases)
			}
			seen[id] = true
		}
		if len(seen) != (i+1)*n {
			t.Fatalf("%s: %d distinct IDs, want %d", name, len(seen), (i+1)*n)
		}
	}
}

func inLease(leases []leaseView, f randflake.Fields) bool {
	for _, l := range leases {
		if l.FirstNode <= f.Node && f.Node <= l.LastNode && !f.Time.Before(l.Start) && f.Time.Before(l.Until) {
			return true
		}
	}
	return false
}

// TestNewIntoInspect is what users do: each form that has lines is read back by inspect.
func TestNewIntoInspect(t *testing.T) {
	dir := newHome(t)
	// Named, as one number in a million is short enough to be text as well.
	for name, from := range map[string]string{"text": "text", "int": "int --kind randflake", "hex": "auto", "json": "auto"} {
		out := succeed(t, "", "new", "--store", dir, "-n", "100", "--format", name)
		lines := strings.Split(strings.TrimSuffix(succeed(t, out, append([]string{"inspect", "--store", dir, "--json", "--from"}, strings.Fields(from)...)...), "\n"), "\n")
		ids, err := decoders[name](out)
		if err != nil || len(lines) != len(ids) {
			t.Fatalf("%s: %d lines for %d IDs, %v", name, len(lines), len(ids), err)
		}
		leases := views(t, dir)
		for i, line := range lines {
			var v struct {
				ID randflake.ID
				randflake.Fields
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.ID != ids[i] || !inLease(leases, v.Fields) {
				t.Fatalf("%s: %v: %s, %v", name, ids[i], line, err)
			}
		}
	}
}

func TestNewZero(t *testing.T) {
	dir := isolate(t)
	if out := succeed(t, "", "new", "-n", "0"); out != "" || !isVacant(dir) {
		t.Errorf("%q, and a state directory is made: %v", out, !isVacant(dir))
	}
}

// TestNewCounts is around the size of a chunk.
func TestNewCounts(t *testing.T) {
	dir := newHome(t)
	for _, n := range []int{1, 2, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize + 1, 5*chunkSize + 7} {
		out := succeed(t, "", "new", "--store", dir, "-n", strconv.Itoa(n), "--format", "binary")
		if len(out) != 8*n {
			t.Errorf("-n %d: %d bytes", n, len(out))
		}
	}
}

func TestNodesFor(t *testing.T) {
	for n, want := range map[int64]int{
		1: 1, 131072: 1, 131073: 2, 262144: 2, 262145: 4, 10_000_000: 128,
		4096 * 131072: 4096, 4096*131072 + 1: 4096, math.MaxInt64: 4096,
	} {
		if got := nodesFor(n); got != want {
			t.Errorf("%d IDs: %d nodes, want %d", n, got, want)
		}
	}
}

func TestFormatsOfOneID(t *testing.T) {
	id := randflake.ID(-5)
	for name, want := range map[string]string{
		"text": "fvvvvvvvvvvvr\n", "int": "-5\n", "hex": "0xfffffffffffffffb\n",
		"json": "\"fvvvvvvvvvvvr\"\n", "binary": "\xfb\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got := string(formatNamed(t, name).append(nil, id)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// testStore opens the store in dir.
func testStore(t *testing.T, dir string, options ...store.Option) *store.Space {
	t.Helper()
	space, err := filestore.Open(dir, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	return space
}

// testLeases makes a home, and returns the leases of its store and its secret.
func testLeases(t *testing.T, options ...store.Option) (lease.Source, randflake.Secret) {
	t.Helper()
	dir := newHome(t)
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	return lease.On(testStore(t, dir, options...)), secret
}

// TestMinterWaitsForTheNextSecond asks one node for more than it has in a second.
func TestMinterWaitsForTheNextSecond(t *testing.T) {
	const n = randflake.MaxSequence + 1 + 1000
	leases, secret := testLeases(t)
	keeper, err := keep(t.Context(), leases, secret, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	var out bytes.Buffer
	if err := newMinter(n, 2, formatNamed(t, "binary"), randflakes(keeper).fill).run(t.Context(), &out, new(progress)); err != nil {
		t.Fatal(err)
	}
	ids, err := decoders["binary"](out.String())
	if err != nil || len(ids) != n {
		t.Fatalf("%d IDs, %v", len(ids), err)
	}
	seen, seconds := make(map[randflake.ID]bool), make(map[time.Time]int)
	for _, id := range ids {
		f := keeper.Generator().Cipher().Inspect(id)
		seconds[f.Time]++
		seen[id] = true
	}
	if len(seen) != n || len(seconds) < 2 {
		t.Errorf("%d distinct IDs in seconds %v, want %d in at least two", len(seen), seconds, n)
	}
}

// sleepyKeeper returns a keeper, what closes its store, and a function that moves their clock on.
func sleepyKeeper(t *testing.T) (keeper *lease.Keeper[*randflake.Generator], closeStore func() error, sleep func(time.Duration)) {
	t.Helper()
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	dir := newHome(t)
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	space := testStore(t, dir, store.WithClock(clock))
	keeper, err = lease.Keep(t.Context(), lease.On(space), secret, lease.WithClock(clock), lease.WithTTL(leaseTTL), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keeper.Close() })
	return keeper, space.Close, func(d time.Duration) { ahead.Add(int64(d)) }
}

// TestMinterWaitsForALease lets the lease end, as when the process was asleep.
func TestMinterWaitsForALease(t *testing.T) {
	keeper, _, sleep := sleepyKeeper(t)
	sleep(time.Hour)
	if _, err := keeper.Generator().Generate(); !errors.Is(err, randflake.ErrLeaseEnded) {
		t.Fatalf("after an hour: %v", err)
	}
	var out bytes.Buffer
	if err := newMinter(100, 1, formatNamed(t, "binary"), randflakes(keeper).fill).run(t.Context(), &out, new(progress)); err != nil || out.Len() != 800 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// TestMinterGivesUp has a store that does not come back.
func TestMinterGivesUp(t *testing.T) {
	keeper, closeStore, sleep := sleepyKeeper(t)
	closeStore()
	sleep(time.Hour)
	hold := randflakes(keeper)
	hold.outage = retryPause
	m := newMinter(100, 1, formatNamed(t, "binary"), hold.fill)
	if err := m.run(t.Context(), io.Discard, new(progress)); !errors.Is(err, randflake.ErrLeaseEnded) {
		t.Errorf("%v, want %v", err, randflake.ErrLeaseEnded)
	}
}

// TestMinterIsStopped has a writer that hangs.
func TestMinterIsStopped(t *testing.T) {
	leases, secret := testLeases(t)
	keeper, err := keep(t.Context(), leases, secret, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	reader, writer := io.Pipe()
	defer reader.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		reader.Read(make([]byte, 1)) // the write has begun, and goes no further
		cancel(errors.New("enough"))
	}()
	m := newMinter(math.MaxInt64, 2, formatNamed(t, "text"), randflakes(keeper).fill)
	if err := m.run(ctx, writer, new(progress)); err == nil || err.Error() != "enough" {
		t.Errorf("%v, want the reason for the end", err)
	}
}

func TestNewReportsFailedOutput(t *testing.T) {
	dir := newHome(t)
	var errs bytes.Buffer
	code := (&tool{stdout: failingWriter{}, stderr: &errs}).run(t.Context(), []string{"new", "--store", dir, "-n", "1000000"})
	if code != exitFailed || errs.String() != "randflake: standard output: disk on fire\n" {
		t.Errorf("exit status %d, %q", code, &errs)
	}
	if all := views(t, dir); len(all) != 1 || all[0].State != "released" {
		t.Errorf("list: %+v, want a released lease", all)
	}
}

// TestNewWithoutRelease loses the store while the IDs are written. They are good all the same.
func TestNewWithoutRelease(t *testing.T) {
	dir := newHome(t)
	var out, errs bytes.Buffer
	w := writerFunc(func(b []byte) (int, error) {
		if err := removeStore(t, dir); err != nil {
			return 0, err
		}
		return out.Write(b)
	})
	code := (&tool{stdout: w, stderr: &errs}).run(t.Context(), []string{"new", "--store", dir})
	if code != exitOK || out.Len() == 0 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "ends by itself") {
		t.Errorf("exit status %d, %d bytes, %q", code, out.Len(), &errs)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// crowdedStore has no range of more nodes than some.
type crowdedStore struct {
	lease.Source
	most int
}

func (s crowdedStore) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	if req.Nodes > s.most {
		return lease.Record{}, fmt.Errorf("%w: crowded", lease.ErrNoRange)
	}
	return s.Source.Acquire(ctx, req)
}

func TestKeepTakesWhatIsThere(t *testing.T) {
	leases, secret := testLeases(t)
	keeper, err := keep(t.Context(), crowdedStore{leases, 5}, secret, 128)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	if l := keeper.Generator().Lease(); l.LastNode-l.FirstNode+1 != 4 {
		t.Errorf("lease %+v, want 4 nodes", l)
	}
	if _, err := keep(t.Context(), crowdedStore{leases, 0}, secret, 128); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("no range at all: %v", err)
	}
}

// An askedStore counts how often it is asked for its limits.
type askedStore struct {
	lease.Source
	asked int
}

func (s *askedStore) Limits(ctx context.Context) (lease.Limits, error) {
	s.asked++
	return s.Source.Limits(ctx)
}

// TestLimitsAreAskedWhenNeeded: a store that grants a minute isn't asked for more; one that doesn't gets what it grants.
func TestLimitsAreAskedWhenNeeded(t *testing.T) {
	for maxTTL, asked := range map[time.Duration]int{leaseTTL: 0, 30 * time.Second: 1} {
		space, err := store.Create(t.Context(), storetest.NewMemory().Connect(), store.ForNewSecret(), store.WithLimits(store.Limits{MaxTTL: maxTTL}))
		if err != nil {
			t.Fatal(err)
		}
		leases := &askedStore{Source: lease.On(space)}
		keeper, err := keep(t.Context(), leases, randflake.NewSecret(), 1)
		if err != nil {
			t.Fatalf("%v at most: %v", maxTTL, err)
		}
		if l := keeper.Generator().Lease(); l.End.Sub(l.Start) != maxTTL || leases.asked != asked {
			t.Errorf("%v at most: leased for %v, and asked for the limits %d times, want %d", maxTTL, l.End.Sub(l.Start), leases.asked, asked)
		}
		keeper.Close()
	}
}

func TestIsTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{null, file, io.Discard} {
		if isTerminal(w) {
			t.Errorf("%v passes for a terminal", w)
		}
	}
	terminal := openTerminal(t)
	if !isTerminal(terminal) {
		t.Error("a terminal does not pass for one")
	}
}

// openTerminal returns the far side of a pseudoterminal, which is one to those who ask.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

func TestNewBinaryIsNotForATerminal(t *testing.T) {
	var errs bytes.Buffer
	code := (&tool{stdout: openTerminal(t), stderr: &errs}).run(t.Context(), []string{"new", "--store", newHome(t), "--format", "binary"})
	wantFailure(t, result{code, "", errs.String()}, exitUsage, "not for a terminal")
}

// TestProgress has a line with the time that is left, on a terminal alone.
func TestProgress(t *testing.T) {
	if p := (&tool{stdout: io.Discard, stderr: io.Discard}).progress(1000, "IDs"); p.screen != nil {
		t.Error("it shows without a terminal")
	}
	var screen bytes.Buffer
	p := &progress{screen: &screen, unit: "IDs", total: 1000}
	p.add(100)
	p.add(200) // too soon
	if got := screen.String(); !strings.HasPrefix(got, "\r 10%  100 of 1000 IDs, ") {
		t.Errorf("%q", got)
	}
	if got, want := p.line(3*time.Second), " 30%  300 of 1000 IDs, 100 a second, 7s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	shown := screen.Len()
	if p.clear(); strings.Trim(screen.String()[shown:], "\r ") != "" || screen.Len() < 2*shown {
		t.Errorf("%q, want a line of spaces", screen.String()[shown:])
	}
}
