package filestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
	"github.com/randflake/randflake/lease/leasetest"
)

// noon is the present of the tests: 2026-01-01 12:00:00 UTC.
var noon = time.Unix(1767268800, 0)

// testRules have limits that are easy to reckon with: the floor is 110 seconds ahead.
var testRules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}

var oneMinute = lease.Request{Nodes: 1, TTL: time.Minute}

// newDir returns the path of a directory that does not exist yet.
func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "leases") }

// create makes a store that grants at once, and the clock that it goes by.
func create(t testing.TB, dir string) (*Store, *leasetest.Clock) {
	t.Helper()
	clock := leasetest.NewClock(noon)
	s, err := Create(dir, WithRules(testRules), WithClock(clock.Now), ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	return s, clock
}

// open opens the store in dir.
func open(t testing.TB, dir string, clock *leasetest.Clock) *Store {
	t.Helper()
	s, err := Open(dir, WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// acquire takes a lease that the store has no reason to refuse.
func acquire(t testing.TB, s *Store, req lease.Request) lease.Record {
	t.Helper()
	rec, err := s.Acquire(t.Context(), req)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return rec
}

// snapshot returns the names and contents of dir's files.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// putBack makes dir's files those of a snapshot.
func putBack(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConformance(t *testing.T) {
	leasetest.Run(t, leasetest.Harness{
		New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
			dir := newDir(t)
			if _, err := Create(dir, WithRules(rules), WithClock(clock), ForNewSecret()); err != nil {
				t.Fatal(err)
			}
			return func() (lease.Store, error) { return Open(dir, WithClock(clock)) }
		},
	})
}

func TestOpenWithoutStore(t *testing.T) {
	empty, lockOnly := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(lockOnly, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{newDir(t), empty, lockOnly} {
		before, _ := os.ReadDir(dir)
		_, err := Open(dir)
		if !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "Create") {
			t.Errorf("%s: error %v, want ErrNoStore, the path, and how to make one", dir, err)
		}
		if after, _ := os.ReadDir(dir); len(after) != len(before) {
			t.Errorf("Open left files in %s: %v", dir, after)
		}
	}
}

func TestCreateRefusesToReplace(t *testing.T) {
	dir := newDir(t)
	create(t, dir)
	before := snapshot(t, dir)
	for _, gone := range []string{"", incarnationName, stateName} {
		putBack(t, dir, before)
		os.Remove(filepath.Join(dir, gone))
		left := snapshot(t, dir)
		if _, err := Create(dir, ForNewSecret()); !errors.Is(err, fs.ErrExist) {
			t.Errorf("without %q: error %v, want ErrExist", gone, err)
		}
		wantFiles(t, dir, left)
	}
}

// wantFiles checks that dir holds exactly the files of a snapshot.
func wantFiles(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := snapshot(t, dir)
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s has a new file %s", dir, name)
		}
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s: file %s changed", dir, name)
		}
	}
}

func TestCreateSetsFloor(t *testing.T) {
	dir := newDir(t)
	clock := leasetest.NewClock(noon)
	s, err := Create(dir, WithRules(testRules), WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	wantTooEarly(t, s, clock)
	rec := acquire(t, s, oneMinute)
	if want := noon.Unix() + 110; rec.Start != want {
		t.Errorf("a new store grants from %d, want %d", rec.Start, want)
	}
	clock.Advance(45 * time.Second)
	if rec = acquire(t, open(t, dir, clock), oneMinute); rec.Start != noon.Unix()+110 {
		t.Errorf("reopened, it grants from %d, want %d", rec.Start, noon.Unix()+110)
	}
	clock.Advance(time.Minute)
	if rec = acquire(t, s, oneMinute); rec.Start != noon.Unix()+120 {
		t.Errorf("after the floor it grants from %d, want now, %d", rec.Start, noon.Unix()+120)
	}
}

func TestCreateKeepsRules(t *testing.T) {
	dir := newDir(t)
	_, clock := create(t, dir)
	s := open(t, dir, clock)
	acquire(t, s, lease.Request{Nodes: 1, TTL: testRules.MaxTTL})
	_, err := s.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: testRules.MaxTTL + time.Second})
	if !errors.Is(err, lease.ErrInvalidRequest) {
		t.Errorf("a lease above the store's MaxTTL: error %v, want ErrInvalidRequest", err)
	}
}

func TestCreateInParallel(t *testing.T) {
	dir := newDir(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = Create(dir) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v, want ErrExist", err)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d calls created the store, want 1", made, len(errs))
	}
}

func TestCreateWithWrongClock(t *testing.T) {
	for _, tt := range []struct {
		now  time.Time
		want error
	}{
		{time.Unix(0, 0), nil},
		{time.Unix(randflake.Epoch-1, 0), nil},
		{time.Unix(randflake.MaxTimestamp, 0), randflake.ErrEndOfLife},
	} {
		dir := newDir(t)
		_, err := Create(dir, WithClock(leasetest.NewClock(tt.now).Now))
		if err == nil || !errors.Is(err, tt.want) && tt.want != nil {
			t.Errorf("at %v: error %v, want one (%v)", tt.now, err, tt.want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("at %v: a directory was left", tt.now)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, opt := range map[string]Option{
		"nil":               nil,
		"nil clock":         WithClock(nil),
		"another store's":   setup.OrCreate(),
		"no rules":          WithRules(lease.Rules{}),
		"half a second":     WithRules(lease.Rules{MaxTTL: time.Second / 2}),
		"negative max skew": WithRules(lease.Rules{MaxTTL: time.Second, MaxSkew: -time.Second}),
	} {
		dir := newDir(t)
		if _, err := Create(dir, opt); err == nil || !strings.HasPrefix(err.Error(), "filestore: ") {
			t.Errorf("Create with %s: error %v, want one of this package", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Create with %s left a directory", name)
		}
	}
	dir := newDir(t)
	create(t, dir)
	for name, opt := range map[string]Option{"nil": nil, "nil clock": WithClock(nil), "rules": WithRules(testRules), "new secret": ForNewSecret(), "another store's": setup.OrCreate()} {
		if _, err := Open(dir, opt); err == nil || !strings.HasPrefix(err.Error(), "filestore: ") {
			t.Errorf("Open with %s: error %v, want one of this package", name, err)
		}
	}
	if _, err := Open(""); err == nil {
		t.Error("Open without a directory: no error")
	}
	if _, err := Create(""); err == nil {
		t.Error("Create without a directory: no error")
	}
}

func TestPermissions(t *testing.T) {
	dir := newDir(t)
	s, _ := create(t, dir)
	acquire(t, s, oneMinute)
	want := map[string]fs.FileMode{".": 0o700, stateName: 0o600, incarnationName: 0o600, lockName: 0o600}
	for name, perm := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != perm && !readersLock {
			t.Errorf("%s has mode %v, want %v", name, got, perm)
		}
	}
	if files := snapshot(t, dir+"/."); len(files) != 3 {
		t.Errorf("the store has %d files, want 3: %v", len(files), files)
	}
}

func TestClosed(t *testing.T) {
	s, _ := create(t, newDir(t))
	held := acquire(t, s, oneMinute)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), held, time.Minute)
	_, lookupErr := s.Lookup(t.Context(), held)
	_, listErr := s.List(t.Context())
	releaseErr := s.Release(t.Context(), held, noon)
	distrustErr := s.Distrust(t.Context())
	for _, err := range []error{acquireErr, renewErr, lookupErr, listErr, releaseErr, distrustErr} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
}

// TestLockHeld: a call that waits for the lock gives up with its context, and List does not wait.
func TestLockHeld(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	held := acquire(t, s, oneMinute)
	unlock, err := osFiles{}.lock(t.Context(), filepath.Join(dir, lockName), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	other := open(t, dir, clock)
	for _, s := range []*Store{s, other} {
		if _, err := s.Renew(ctx, held, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
	}
	if !readersLock {
		if records, err := other.List(t.Context()); err != nil || len(records) != 1 {
			t.Errorf("List while the lock is held: %v, %v", records, err)
		}
	}
	unlock()
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Errorf("after the lock was given up: %v", err)
	}
}

// TestMovedDirectory: a handle works on what is at its path, also if another directory is put
// there, and does not follow the one that moved away.
func TestMovedDirectory(t *testing.T) {
	dir := newDir(t)
	s, _ := create(t, dir)
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Skip(err)
	}
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoStore) {
		t.Errorf("error %v, want ErrNoStore", err)
	}
}

// TestRelativeDirectory: a handle stays with its directory when the process changes its own.
func TestRelativeDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	s, _ := create(t, "leases")
	t.Chdir(t.TempDir())
	acquire(t, s, oneMinute)
}

func BenchmarkAcquireRelease(b *testing.B) {
	s, clock := create(b, newDir(b))
	for b.Loop() {
		rec := acquire(b, s, oneMinute)
		if err := s.Release(b.Context(), rec, time.Unix(rec.Start, 0)); err != nil {
			b.Fatal(err)
		}
		clock.Advance(time.Second)
	}
}

func BenchmarkRenew(b *testing.B) {
	s, _ := create(b, newDir(b))
	rec := acquire(b, s, oneMinute)
	for b.Loop() {
		var err error
		if rec, err = s.Renew(b.Context(), rec, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLimits(t *testing.T) {
	rules := lease.Rules{MaxTTL: 7 * time.Second, MaxSkew: 3 * time.Second}
	clock := WithClock(func() time.Time { return noon })
	for name, test := range map[string]struct {
		options []Option
		want    time.Time
	}{
		"floor":      {[]Option{WithRules(rules), clock}, noon.Add(10 * time.Second)},
		"new secret": {[]Option{WithRules(rules), clock, ForNewSecret()}, time.Time{}},
	} {
		s, err := Create(t.TempDir()+"/leases", test.options...)
		if err != nil {
			t.Fatal(err)
		}
		got, notBefore, err := s.Limits(t.Context())
		if got != rules || !notBefore.Equal(test.want) || err != nil {
			t.Errorf("%s: Limits = %v, %v, %v, want %v, %v", name, got, notBefore, err, rules, test.want)
		}
		s.Close()
		if _, _, err := s.Limits(t.Context()); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: Limits of a closed store: %v", name, err)
		}
	}
}
