package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// wantRefused checks that nothing can be had from the damaged store in dir, that the errors say
// so, and that no file changes.
func wantRefused(t *testing.T, what, dir string, s *Store, held lease.Record) {
	t.Helper()
	before := snapshot(t, dir)
	_, openErr := Open(dir)
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), held, time.Minute)
	_, lookupErr := s.Lookup(t.Context(), held)
	_, listErr := s.List(t.Context())
	releaseErr := s.Release(t.Context(), held, noon)
	for _, err := range []error{openErr, acquireErr, renewErr, lookupErr, listErr, releaseErr} {
		if !errors.Is(err, lease.ErrCorrupt) {
			t.Fatalf("%s: error %v, want ErrCorrupt", what, err)
		}
		if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "create a new store") {
			t.Fatalf("%s: error %q does not name the file and the way out", what, err)
		}
	}
	wantFiles(t, dir, before)
}

// damaged returns a store with a few records, and its files.
func damaged(t *testing.T) (dir string, s *Store, held lease.Record, files map[string]string) {
	dir = newDir(t)
	s, _ = create(t, dir)
	acquire(t, s, oneMinute)
	held = acquire(t, s, oneMinute)
	return dir, s, held, snapshot(t, dir)
}

func TestTruncated(t *testing.T) {
	dir, s, held, files := damaged(t)
	for _, name := range []string{stateName, incarnationName} {
		content := files[name]
		for n := range len(content) {
			putBack(t, dir, map[string]string{name: content[:n]})
			wantRefused(t, name+" truncated", dir, s, held)
		}
		putBack(t, dir, map[string]string{name: content + "\x00"})
		wantRefused(t, name+" too long", dir, s, held)
		putBack(t, dir, files)
	}
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Errorf("with its files back: %v", err)
	}
}

func TestBitFlips(t *testing.T) {
	dir, s, held, files := damaged(t)
	for _, name := range []string{stateName, incarnationName} {
		for bit := range 8 * len(files[name]) {
			content := []byte(files[name])
			content[bit/8] ^= 1 << (bit % 8)
			putBack(t, dir, map[string]string{name: string(content)})
			if bit%16 == 3 {
				wantRefused(t, name+" with a flipped bit", dir, s, held)
			} else if _, err := Open(dir); !errors.Is(err, lease.ErrCorrupt) {
				t.Fatalf("%s, bit %d flipped: error %v, want ErrCorrupt", name, bit, err)
			}
		}
		putBack(t, dir, files)
	}
}

func TestMissingFile(t *testing.T) {
	dir, s, held, files := damaged(t)
	for _, name := range []string{stateName, incarnationName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, name+" missing", dir, s, held)
		putBack(t, dir, files)
	}
	os.Remove(filepath.Join(dir, lockName))
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrCorrupt) || !strings.Contains(err.Error(), lockName) {
		t.Errorf("lock missing: error %v, want ErrCorrupt", err)
	}
	for _, name := range []string{stateName, incarnationName} {
		os.Remove(filepath.Join(dir, name))
	}
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoStore) {
		t.Errorf("all files missing: error %v, want ErrNoStore", err)
	}
	os.Remove(dir)
	if _, err := s.List(t.Context()); !errors.Is(err, lease.ErrNoStore) {
		t.Errorf("directory missing: error %v, want ErrNoStore", err)
	}
}

// TestForeignState: a state without its incarnation marker is another store's.
func TestForeignState(t *testing.T) {
	dir, s, held, files := damaged(t)
	other := newDir(t)
	create(t, other)
	putBack(t, dir, map[string]string{stateName: snapshot(t, other)[stateName]})
	wantRefused(t, "state of another store", dir, s, held)
	putBack(t, dir, files)
	putBack(t, dir, map[string]string{incarnationName: snapshot(t, other)[incarnationName]})
	wantRefused(t, "marker of another store", dir, s, held)
}

func TestStateIsNoFile(t *testing.T) {
	dir, s, _, _ := damaged(t)
	path := filepath.Join(dir, stateName)
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
	if _, err := Create(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create: error %v, want ErrExist", err)
	}
}

// TestStaleTempFile: what a crash left of a write is cleared away by the next one.
func TestStaleTempFile(t *testing.T) {
	dir, s, held, _ := damaged(t)
	temp := filepath.Join(dir, stateName+tempSuffix)
	if err := os.WriteFile(temp, []byte("half a sta"), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the stale file is still there: %v", err)
	}
}

// TestRollback: a running store that finds an older copy in its directory grants nothing before
// the floor and renews nothing that is older, whoever wrote to the copy meanwhile.
func TestRollback(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	old := acquire(t, s, oneMinute)
	copied := snapshot(t, dir)

	forgotten := acquire(t, s, oneMinute)
	putBack(t, dir, copied)
	clock.Advance(5 * time.Second)
	floor := noon.Unix() + 5 + 110

	if _, err := s.Renew(t.Context(), forgotten, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of a forgotten lease: error %v, want ErrLost", err)
	}
	if _, err := s.Renew(t.Context(), old, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of a lease older than the loss: error %v, want ErrLost", err)
	}
	if got, err := s.Lookup(t.Context(), old); err != nil || got != old {
		t.Errorf("Lookup: %+v, %v; want %+v", got, err, old)
	}
	if err := s.Release(t.Context(), old, clock.Now()); err != nil {
		t.Errorf("Release of a lease older than the loss: %v", err)
	}
	// The floor is on disk, so it holds in other handles, and is set once only.
	clock.Advance(15 * time.Second)
	for _, handle := range []*Store{open(t, dir, clock), s} {
		rec := acquire(t, handle, oneMinute)
		if rec.Start != floor {
			t.Errorf("granted from %d, want the floor, %d", rec.Start, floor)
		}
		if _, err := handle.Renew(t.Context(), rec, time.Minute); err != nil {
			t.Errorf("Renew of a lease granted since: %v", err)
		}
	}
	clock.Advance(2 * time.Minute)
	if rec := acquire(t, s, oneMinute); rec.Start != clock.Now().Unix() {
		t.Errorf("after the floor: granted from %d, want now, %d", rec.Start, clock.Now().Unix())
	}
}

// wantTooEarly checks that nothing is granted while the floor is further ahead than a lease may reach,
// and moves the clock on until something is.
func wantTooEarly(t *testing.T, s *Store, clock *leasetest.Clock) {
	t.Helper()
	if rec, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire: %+v, %v, want ErrNoRange", rec, err)
	}
	clock.Advance(15 * time.Second)
}

// TestRollbackNoticed: each call notices, at whatever revision the other history is by then.
func TestRollbackNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		steps  int  // writes to the copy that was put back, out of 2 that were lost
		listed bool // the running store sees it in List, while it is still behind
		floor  bool
	}{
		"older":                        {0, false, true},
		"one behind":                   {1, false, true},
		"as far, but different":        {2, false, true},
		"overtook unseen":              {3, false, false}, // can't be told from one's own history
		"overtook, but seen by a List": {3, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			s, clock := create(t, dir)
			copied := snapshot(t, dir)
			acquire(t, s, oneMinute)
			acquire(t, s, oneMinute)
			putBack(t, dir, copied)
			if tt.listed {
				if _, err := s.List(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			other := open(t, dir, clock)
			for range tt.steps {
				acquire(t, other, oneMinute)
			}
			want := noon.Unix()
			if tt.floor {
				wantTooEarly(t, s, clock)
				want += 110
			}
			rec := acquire(t, s, oneMinute)
			if rec.Start != want {
				t.Errorf("granted from %d, want %d", rec.Start, want)
			}
		})
	}
}

// TestReplacedStore: another store in the directory of a running one is a loss of data too.
func TestReplacedStore(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	held := acquire(t, s, oneMinute)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	other, otherClock := create(t, dir)
	acquire(t, other, oneMinute)
	acquire(t, other, oneMinute)
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: error %v, want ErrLost", err)
	}
	wantTooEarly(t, s, clock)
	otherClock.Set(clock.Now())
	for _, handle := range []*Store{other, s, open(t, dir, clock)} {
		if rec := acquire(t, handle, oneMinute); rec.Start != noon.Unix()+110 {
			t.Errorf("granted from %d, want the floor, %d", rec.Start, noon.Unix()+110)
		}
	}
}

// TestRollbackWithWrongClock: the floor can't be known, so nothing is granted until it can.
func TestRollbackWithWrongClock(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	copied := snapshot(t, dir)
	acquire(t, s, oneMinute)
	putBack(t, dir, copied)
	clock.Set(time.Unix(0, 0))
	if _, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("in 1970: error %v, want one about the clock", err)
	}
	clock.Set(time.Unix(randflake.MaxTimestamp-50, 0))
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, randflake.ErrEndOfLife) {
		t.Errorf("at the end: error %v, want ErrEndOfLife", err)
	}
	wantFiles(t, dir, copied)
	clock.Set(noon)
	wantTooEarly(t, s, clock)
	if rec := acquire(t, s, oneMinute); rec.Start != noon.Unix()+110 {
		t.Errorf("granted from %d, want the floor, %d", rec.Start, noon.Unix()+110)
	}
}

// TestHealInterrupted: a floor that could not be written is written by the next call.
func TestHealInterrupted(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "rename", "syncDir"} {
		for _, m := range []mishap{failBefore, failAfter} {
			p := newPlay()
			if err := p.create(); err != nil {
				t.Fatal(err)
			}
			older := *p.disk.visible[diskDir+"/"+stateName]
			p.acquire(t)
			*p.disk.visible[diskDir+"/"+stateName] = older
			failed := false
			p.disk.fault = func(_ int, o, _ string) mishap {
				if o == op && !failed {
					failed = true
					return m
				}
				return none
			}
			if _, err := p.store.Acquire(t.Context(), half); !errors.Is(err, errFault) {
				t.Errorf("%s: error %v, want the fault", op, err)
			}
			wantTooEarly(t, p.store, p.clock)
			rec := p.acquire(t)
			if rec.Start != noon.Unix()+110 {
				t.Errorf("%s: granted from %d, want the floor, %d", op, rec.Start, noon.Unix()+110)
			}
		}
	}
}

// TestFloorNeverGoesDown: a second loss that is noticed while the clock is behind leaves the floor of the
// first one.
func TestFloorNeverGoesDown(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	copied := snapshot(t, dir)
	acquire(t, s, oneMinute)
	putBack(t, dir, copied)
	wantTooEarly(t, s, clock) // sets the floor
	copied = snapshot(t, dir)
	acquire(t, s, oneMinute)
	putBack(t, dir, copied)
	clock.Set(noon.Add(-time.Minute))
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire: error %v, want ErrNoRange", err)
	}
	if _, floor, err := s.Limits(t.Context()); err != nil || floor.Unix() != noon.Unix()+110 {
		t.Errorf("floor %v, %v, want %v", floor, err, noon.Add(110*time.Second))
	}
}

// TestDistrust: an older copy that was put back while nobody looked, and the operator's word that it is one.
func TestDistrust(t *testing.T) {
	dir := newDir(t)
	before, clock := create(t, dir)
	old := acquire(t, before, oneMinute)
	copied := snapshot(t, dir)
	forgotten := acquire(t, before, oneMinute)
	putBack(t, dir, copied)

	s := open(t, dir, clock)
	if err := s.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	floor := noon.Unix() + 110
	for _, handle := range []*Store{s, open(t, dir, clock)} {
		for _, held := range []lease.Record{old, forgotten} {
			if _, err := handle.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
				t.Errorf("Renew of a lease from before: error %v, want ErrLost", err)
			}
		}
		if rec, err := handle.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("Acquire: %+v, %v, want ErrNoRange", rec, err)
		}
		if _, got, err := handle.Limits(t.Context()); got.Unix() != floor || err != nil {
			t.Errorf("floor %v, %v, want %d", got, err, floor)
		}
	}
	if err := s.Release(t.Context(), old, clock.Now()); err != nil {
		t.Errorf("Release of a lease from before: %v", err)
	}
	clock.Advance(-time.Minute)
	if err := s.Distrust(t.Context()); err != nil {
		t.Error(err)
	}
	clock.Advance(time.Minute + 15*time.Second)
	rec := acquire(t, s, oneMinute)
	if rec.Start != floor {
		t.Errorf("granted from %d, want the floor, %d", rec.Start, floor)
	}
	if _, err := s.Renew(t.Context(), rec, time.Minute); err != nil {
		t.Errorf("Renew of a lease granted since: %v", err)
	}
}

// TestDistrustWithWrongClock: where the floor can't be known, Distrust says so and changes nothing.
func TestDistrustWithWrongClock(t *testing.T) {
	dir := newDir(t)
	s, clock := create(t, dir)
	before := snapshot(t, dir)
	clock.Set(time.Unix(0, 0))
	if err := s.Distrust(t.Context()); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "clock") {
		t.Errorf("in 1970: error %v, want one about the clock and the directory", err)
	}
	wantFiles(t, dir, before)
}

// TestLockOnReplacedFile: a lock on a file that the path no longer leads to keeps nobody out.
func TestLockOnReplacedFile(t *testing.T) {
	dir := t.TempDir()
	path, other := dir+"/lock", dir+"/other"
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !stillAt(f, path) {
		t.Error("the path leads elsewhere, before anything was replaced")
	}
	if err := os.Rename(other, path); err != nil {
		t.Skip(err) // some systems don't replace files that are open
	}
	if stillAt(f, path) {
		t.Error("the path leads to a file that was replaced")
	}
}
