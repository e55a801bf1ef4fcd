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
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/file"
)

// formatNamed returns one of a kind's formats.
func formatNamed[ID any](t *testing.T, all []format[ID], name string) format[ID] {
	t.Helper()
	f, err := formatOf(all, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFormats has one ID of each kind in each form.
func TestFormats(t *testing.T) {
	for i, want := range []string{"fvvvvvvvvvvvr\n", "\"fvvvvvvvvvvvr\"\n", "-5\n", "0xfffffffffffffffb\n", "\xfb\xff\xff\xff\xff\xff\xff\xff"} {
		if got := string(formatNamed(t, randflakeFormats, strings.Fields("text json int hex binary")[i]).append(nil, -5)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, want := range map[string]string{
		"text": "175928847299117063\n", "json": "\"175928847299117063\"\n", "binary": "\x02\x71\x06\x5a\xc1\x02\x00\x07",
	} {
		if got := string(formatNamed(t, snowflakeFormats, name).append(nil, 175928847299117063)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestNew makes IDs, also around the size of a chunk: distinct ones, each in a lease.
func TestNew(t *testing.T) {
	dir := newHome(t)
	cipher := cipherOf(t, dir)
	seen, want := make(map[randflake.ID]bool), 0
	for _, n := range []int{0, 1, 2, chunkSize - 1, chunkSize, chunkSize + 1, 5*chunkSize + 7, 300_000} {
		out := []byte(succeed(t, "", "new", "--store", dir, "-n", strconv.Itoa(n), "--format", "binary"))
		leases := views(t, dir)
		for ; len(out) >= 8; out = out[8:] {
			var id randflake.ID
			if err := id.UnmarshalBinary(out[:8]); err != nil {
				t.Fatal(err)
			}
			if f := cipher.Inspect(id); !inLease(leases, f) {
				t.Fatalf("%v holds %+v, which is in none of %+v", id, f, leases)
			}
			seen[id] = true
		}
		if want += n; len(out) > 0 || len(seen) != want {
			t.Fatalf("-n %d: %d distinct IDs and %d bytes, want %d", n, len(seen), len(out), want)
		}
	}
}

func cipherOf(t *testing.T, dir string) *randflake.Cipher {
	t.Helper()
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	return randflake.NewCipher(secret)
}

func inLease(leases []leaseView, f randflake.Fields) bool {
	for _, l := range leases {
		if l.FirstNode <= f.Node && f.Node <= l.LastNode && !f.Time.Before(l.Start) && f.Time.Before(l.Until) {
			return true
		}
	}
	return false
}

// TestNewIntoInspect is what users do: inspect reads each form that has lines.
func TestNewIntoInspect(t *testing.T) {
	dir := newHome(t)
	// With the kind, as one number in a million is short enough to be text as well.
	for form, from := range map[string]string{
		"text": "text", "int": "int --kind randflake", "hex": "auto", "json": "auto",
		"snowflake/text": "auto", "snowflake/int": "int", "snowflake/hex": "hex", "snowflake/json": "auto", "snowflake/base32": "base32", "snowflake/base58": "base58", "snowflake/base62": "base62",
	} {
		args := []string{"new", "--store", dir, "-n", "100", "--format"}
		read := append([]string{"inspect", "--json", "--from"}, strings.Fields(from)...)
		if form, found := strings.CutPrefix(form, "snowflake/"); found {
			args, read = append(args, form, "--kind", "snowflake"), append(read, "--layout", "twitter")
		} else {
			args, read = append(args, form), append(read, "--store", dir)
		}
		lines := json.NewDecoder(strings.NewReader(succeed(t, succeed(t, "", args...), read...)))
		leases, seen := views(t, dir), map[string]bool{}
		for lines.More() {
			var v struct {
				ID                       string
				Time                     time.Time
				Node, Datacenter, Worker uint32
			}
			if err := lines.Decode(&v); err != nil || !inLease(leases, randflake.Fields{Time: v.Time, Node: v.Node | v.Datacenter<<5 | v.Worker}) {
				t.Fatalf("%s: %+v, %v, want one in %+v", form, v, err, leases)
			}
			seen[v.ID] = true
		}
		if len(seen) != 100 {
			t.Errorf("%s: %d distinct IDs, want 100", form, len(seen))
		}
	}
}

// testStore opens the store in dir.
func testStore(t *testing.T, dir string, options ...store.Option) *store.Space {
	t.Helper()
	space, err := file.Open(dir, options...)
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
	if err := newMinter(n, 2, formatNamed(t, randflakeFormats, "binary"), randflakes(keeper).fill).run(t.Context(), &out, new(progress)); err != nil {
		t.Fatal(err)
	}
	seen, seconds := make(map[randflake.ID]bool), make(map[time.Time]int)
	for out.Len() > 0 {
		var id randflake.ID
		if err := id.UnmarshalBinary(out.Next(8)); err != nil {
			t.Fatal(err)
		}
		seconds[keeper.Generator().Cipher().Inspect(id).Time]++
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
	if err := newMinter(100, 1, formatNamed(t, randflakeFormats, "binary"), randflakes(keeper).fill).run(t.Context(), &out, new(progress)); err != nil || out.Len() != 800 {
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
	m := newMinter(100, 1, formatNamed(t, randflakeFormats, "binary"), hold.fill)
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
	m := newMinter(math.MaxInt64, 2, formatNamed(t, randflakeFormats, "text"), randflakes(keeper).fill)
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

func TestTerminal(t *testing.T) {
	for _, w := range []io.Writer{os.NewFile(^uintptr(0), "closed"), io.Discard} {
		if isTerminal(w) {
			t.Errorf("%v passes for a terminal", w)
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	var errs bytes.Buffer
	code := (&tool{stdout: terminal, stderr: &errs}).run(t.Context(), []string{"new", "--store", newHome(t), "--format", "binary"})
	wantFailure(t, result{code, "", errs.String()}, exitUsage, "not for a terminal")
}
