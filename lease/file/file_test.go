package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

var entry, put, get = leasetest.Entry, leasetest.Put, leasetest.Get

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *Engine {
	t.Helper()
	e, err := New(dir)
	must(t, err)
	return e
}

// prepared returns an engine that holds an entry.
func prepared(t testing.TB, dir string) *Engine {
	t.Helper()
	e := open(t, dir)
	must(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	return e
}

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		dir := filepath.Join(t.TempDir(), "leases")
		return func(t *testing.T) lease.Engine { return open(t, dir) }
	})
}

var errFault = errors.New("injected fault")

// TestCrashes has each step of a swap fail, as in a crash before it: the swap took effect or did not, and swaps go on. The order of
// the steps is what makes that true on a disk.
func TestCrashes(t *testing.T) {
	want := "write, rename, sync the directory"
	for crash := range 4 {
		e := prepared(t, filepath.Join(t.TempDir(), "leases"))
		var steps []string
		e.before = func(step string) error {
			if steps = append(steps, step); len(steps) == crash {
				return errFault
			}
			return nil
		}
		before, err := e.Read(t.Context(), "a", "b")
		must(t, err)
		_, err = e.Swap(t.Context(), entry("a", "1"), append(entry("a", "2"), entry("b", "2")...))
		if got := strings.Join(steps, ", "); got != want && crash == 0 || !strings.HasPrefix(want, got) || (err != nil) != (crash > 0) {
			t.Errorf("steps: %s: %v", got, err)
		}
		next := open(t, e.dir)
		after, err := next.Read(t.Context(), "a", "b")
		must(t, err)
		done := after.Position == before.Position+1
		if a, b := string(after.Entries[0].Value), string(after.Entries[1].Value); done != (a == "2") || done != (b == "2") || done != (crash == 0 || crash == 3) || after.Lineage != before.Lineage {
			t.Errorf("crash before step %d: %+v", crash, after)
		}
		if newer := put(t, next, "a", "3"); newer.Position != after.Position+1 {
			t.Errorf("position %d after %d", newer.Position, after.Position)
		}
	}
}

// TestPrepareCrashes has each step of Prepare fail: there is no space until another Prepare succeeds.
func TestPrepareCrashes(t *testing.T) {
	for crash := 1; crash <= 6; crash++ {
		e, steps := open(t, filepath.Join(t.TempDir(), "leases")), 0
		e.before = func(string) error {
			if steps++; steps == crash {
				return errFault
			}
			return nil
		}
		if err := e.Prepare(t.Context()); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		if _, err := e.Read(t.Context(), "a"); !errors.Is(err, lease.ErrNoSpace) && crash < 6 {
			t.Errorf("after a crash before step %d: %v", crash, err)
		}
		must(t, e.Prepare(t.Context()))
		put(t, e, "a", "1")
	}
}

func TestMain(m *testing.M) { leasetest.Main(m, New) }

func TestKilled(t *testing.T) {
	e := prepared(t, filepath.Join(t.TempDir(), "leases"))
	leasetest.RunKilled(t, e, e.dir)
}

// TestCopy puts copies in the place of the directory, and an older file into it.
func TestCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	e := prepared(t, dir)
	seen := leasetest.Lineages{}
	seen.WantNew(t, "original", e)
	for i, copied := range []func(to string) error{
		func(to string) error { return os.CopyFS(to, os.DirFS(dir)) },
		func(to string) error {
			must(t, os.Mkdir(to, 0o700))
			for _, name := range []string{lockName, lineageName, entriesName} {
				must(t, os.Link(filepath.Join(dir, name), filepath.Join(to, name)))
			}
			return nil
		},
	} {
		if runtime.GOOS == "windows" {
			break
		}
		must(t, copied(dir+"-copy"))
		must(t, os.RemoveAll(dir))
		must(t, os.Rename(dir+"-copy", dir))
		seen.WantNew(t, fmt.Sprintf("copy %d", i), e)
	}
	old, err := os.ReadFile(e.path(entriesName))
	must(t, err)
	newer := put(t, e, "a", "2")
	must(t, os.WriteFile(e.path(entriesName), old, 0o600))
	if value, found := get(t, e, "a"); value != "1" || found.Lineage != newer.Lineage || found.Position >= newer.Position {
		t.Errorf("older content has %q, %+v after %+v", value, found, newer)
	}
}

// alter changes a byte, so that the entries are still JSON.
func alter(e *Engine) error {
	content, err := os.ReadFile(e.path(entriesName))
	if err != nil {
		return err
	}
	return os.WriteFile(e.path(entriesName), bytes.Replace(content, []byte(`"Position":1`), []byte(`"Position":2`), 1), 0o600)
}

// TestDamage: what is damaged, missing or of another directory is refused, and stays as it is.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]struct {
		do   func(e *Engine) error
		want error
	}{
		"torn":             {func(e *Engine) error { return os.Truncate(e.path(entriesName), 150) }, lease.ErrCorrupt},
		"empty":            {func(e *Engine) error { return os.Truncate(e.path(entriesName), 0) }, lease.ErrCorrupt},
		"altered":          {alter, lease.ErrCorrupt},
		"missing":          {func(e *Engine) error { return os.Remove(e.path(entriesName)) }, lease.ErrCorrupt},
		"of another":       {func(e *Engine) error { return os.WriteFile(e.path(lineageName), []byte("x\n"), 0o600) }, lease.ErrCorrupt},
		"gone":             {func(e *Engine) error { return os.RemoveAll(e.dir) }, lease.ErrNoSpace},
		"emptied":          {func(e *Engine) error { return errors.Join(os.RemoveAll(e.dir), os.Mkdir(e.dir, 0o700)) }, lease.ErrNoSpace},
		"without its lock": {func(e *Engine) error { return os.Remove(e.path(lockName)) }, nil},
	} {
		e := prepared(t, filepath.Join(t.TempDir(), "leases"))
		must(t, damage.do(e))
		left, _ := os.ReadFile(e.path(entriesName))
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		after, _ := os.ReadFile(e.path(entriesName))
		if !errors.Is(readErr, damage.want) || damage.want != nil && !errors.Is(swapErr, damage.want) && !errors.Is(swapErr, lease.ErrNoSpace) || swapErr == nil || string(after) != string(left) {
			t.Errorf("%s: %v, %v", name, readErr, swapErr)
		}
	}
	if err := open(t, filepath.Join(t.TempDir(), "no", "leases")).Prepare(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a parent: %v", err)
	}
}
