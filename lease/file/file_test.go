package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

var (
	entry = leasetest.Entry
	put   = leasetest.Put
	get   = leasetest.Get
)

func open(t testing.TB, dir string) *Engine {
	t.Helper()
	e, err := New(dir)
	require.NoError(t, err)
	return e
}

// prepared returns an engine that holds an entry.
func prepared(t testing.TB, dir string) *Engine {
	t.Helper()
	e := open(t, dir)
	require.NoError(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	return e
}

// place returns where no store is yet.
func place(t *testing.T) string { return filepath.Join(t.TempDir(), "leases") }

func TestSuite(t *testing.T) { leasetest.Run(t, enginetest.Handles(place, open)) }

// TestNew refuses a directory on a network file system, also before it is made, and one of which that can't be told.
func TestNew(t *testing.T) {
	parent, missing := t.TempDir(), fs.ErrNotExist
	dir := filepath.Join(parent, "leases")
	type found struct {
		kind string
		err  error
	}
	for name, tt := range map[string]struct {
		dir         string
		its, parent found
		want        error
	}{
		"on a local disk":          {dir, found{}, found{"NFS", nil}, nil},
		"on a network":             {dir, found{"NFS", nil}, found{}, lease.ErrUnsafe},
		"not there, on a disk":     {dir, found{"", missing}, found{}, nil},
		"not there, on a network":  {dir, found{"", missing}, found{"NFS", nil}, lease.ErrUnsafe},
		"without a parent":         {dir, found{"", missing}, found{"", missing}, nil},
		"on who knows what":        {dir, found{"", errFault}, found{}, errFault},
		"not there, on a bad disk": {dir, found{"", missing}, found{"", errFault}, errFault},
		"without a name":           {"", found{}, found{}, fs.ErrInvalid},
	} {
		e, err := newEngine(tt.dir, func(path string) (string, error) {
			if path == parent {
				return tt.parent.kind, tt.parent.err
			}
			return tt.its.kind, tt.its.err
		})
		require.That(t, errors.Is(err, tt.want) && (e != nil) == (tt.want == nil),
			"%s: %v, want %v", name, err, tt.want)
	}
}

var errFault = errors.New("injected fault")

// TestCrashes has each step of a swap fail, as in a crash before it: the swap took effect or did
// not, and swaps go on. The order of the steps is what makes that true on a disk.
func TestCrashes(t *testing.T) {
	const order = "lock, write, rename, sync the directory"
	for crash := range 5 {
		e := prepared(t, place(t))
		var steps []string
		e.before = func(step string) error {
			steps = append(steps, step)
			if len(steps) == crash {
				return errFault
			}
			return nil
		}
		before, err := e.Read(t.Context(), "a", "b")
		require.NoError(t, err)
		_, err = e.Swap(t.Context(), entry("a", "1"), append(entry("a", "2"), entry("b", "2")...))
		got := strings.Join(steps, ", ")
		if got != order && crash == 0 || !strings.HasPrefix(order, got) || (err != nil) != (crash > 0) {
			t.Errorf("steps: %s: %v", got, err)
		}
		next := open(t, e.dir)
		after, err := next.Read(t.Context(), "a", "b")
		require.NoError(t, err)
		want, position := "1", before.Position
		if crash == 0 || crash == 4 {
			want, position = "2", before.Position+1
		}
		a, b := string(after.Entries[0].Value), string(after.Entries[1].Value)
		require.That(t, a == want && (b == "2") == (a == "2") && after.Position == position && after.Lineage == before.Lineage,
			"crash before step %d: %+v", crash, after)
		if newer := put(t, next, "a", "3"); newer.Position != after.Position+1 {
			t.Errorf("position %d after %d", newer.Position, after.Position)
		}
	}
}

// TestPrepareCrashes has each step of Prepare fail: there is no space until another Prepare succeeds.
func TestPrepareCrashes(t *testing.T) {
	for crash := 1; crash <= 7; crash++ {
		e := open(t, place(t))
		steps := 0
		e.before = func(string) error {
			steps++
			if steps == crash {
				return errFault
			}
			return nil
		}
		require.ErrorIs(t, e.Prepare(t.Context()), errFault, "Prepare")
		if _, err := e.Read(t.Context(), "a"); !errors.Is(err, lease.ErrNoSpace) && crash < 7 {
			t.Errorf("after a crash before step %d: %v", crash, err)
		}
		require.NoError(t, e.Prepare(t.Context()))
		put(t, e, "a", "1")
	}
}

func TestMain(m *testing.M) { enginetest.Main(m, New) }

func TestKilled(t *testing.T) {
	e := prepared(t, place(t))
	enginetest.RunKilled(t, e, e.dir)
}

// TestCopy puts copies in the place of the directory, and an older file into it.
func TestCopy(t *testing.T) {
	dir := place(t)
	e := prepared(t, dir)
	seen := enginetest.Lineages{}
	seen.WantNew(t, "original", e)
	for i, copied := range []func(to string) error{
		func(to string) error { return os.CopyFS(to, os.DirFS(dir)) },
		func(to string) error {
			require.NoError(t, os.Mkdir(to, 0o700))
			for _, name := range []string{lockName, lineageName, entriesName} {
				require.NoError(t, os.Link(filepath.Join(dir, name), filepath.Join(to, name)))
			}
			return nil
		},
	} {
		if runtime.GOOS == "windows" {
			break
		}
		require.NoError(t, copied(dir+"-copy"))
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.Rename(dir+"-copy", dir))
		seen.WantNew(t, fmt.Sprintf("copy %d", i), e)
	}
	old, err := os.ReadFile(e.path(entriesName))
	require.NoError(t, err)
	newer := put(t, e, "a", "2")
	require.NoError(t, os.WriteFile(e.path(entriesName), old, 0o600))
	if value, found := get(t, e, "a"); value != "1" || found.Lineage != newer.Lineage || found.Position >= newer.Position {
		t.Errorf("older content has %q, %+v after %+v", value, found, newer)
	}
}

// alter replaces a part of the entries, and their sum if that is to be right.
func alter(e *Engine, old, new string, sum bool) error {
	content, err := os.ReadFile(e.path(entriesName))
	first, body, _ := strings.Cut(string(content), "\n")
	body = strings.Replace(body, old, new, 1)
	if sum {
		first = sumOf([]byte(body))
	}
	return errors.Join(err, os.WriteFile(e.path(entriesName), []byte(first+"\n"+body), 0o600))
}

// TestDamage: what is damaged, missing or of another directory is refused, and stays as it is.
func TestDamage(t *testing.T) {
	corrupt, noSpace := lease.ErrCorrupt, lease.ErrNoSpace
	for name, tt := range map[string]struct {
		damage     func(e *Engine) error
		read, swap error
	}{
		"torn":               {func(e *Engine) error { return os.Truncate(e.path(entriesName), 150) }, corrupt, corrupt},
		"empty":              {func(e *Engine) error { return os.Truncate(e.path(entriesName), 0) }, corrupt, corrupt},
		"without entries":    {func(e *Engine) error { return alter(e, `"entries":`, `"others":`, true) }, corrupt, corrupt},
		"of other content":   {func(e *Engine) error { return alter(e, `{`, `entries`, true) }, corrupt, corrupt},
		"of another type":    {func(e *Engine) error { return alter(e, `"position":1`, `"position":-1`, true) }, corrupt, corrupt},
		"altered":            {func(e *Engine) error { return alter(e, `"position":1`, `"position":2`, false) }, corrupt, corrupt},
		"missing":            {func(e *Engine) error { return os.Remove(e.path(entriesName)) }, corrupt, corrupt},
		"of another":         {func(e *Engine) error { return os.WriteFile(e.path(lineageName), []byte("x\n"), 0o600) }, corrupt, corrupt},
		"without lineage":    {func(e *Engine) error { return os.Remove(e.path(lineageName)) }, corrupt, corrupt},
		"gone":               {func(e *Engine) error { return os.RemoveAll(e.dir) }, noSpace, noSpace},
		"emptied":            {func(e *Engine) error { return errors.Join(os.RemoveAll(e.dir), os.Mkdir(e.dir, 0o700)) }, noSpace, noSpace},
		"gone and closed":    {func(e *Engine) error { return errors.Join(os.RemoveAll(e.dir), e.Close()) }, fs.ErrClosed, fs.ErrClosed},
		"without its lock":   {func(e *Engine) error { return os.Remove(e.path(lockName)) }, nil, noSpace},
		"of a newer program": {func(e *Engine) error { return alter(e, `"position":1`, `"newer":1,"position":1`, true) }, nil, nil},
	} {
		e := prepared(t, place(t))
		require.NoError(t, tt.damage(e))
		before, _ := os.ReadFile(e.path(entriesName))
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		require.That(t, errors.Is(readErr, tt.read) && errors.Is(swapErr, tt.swap),
			"%s: %v, %v, want %v, %v", name, readErr, swapErr, tt.read, tt.swap)
		require.That(t, !strings.Contains(fmt.Sprint(readErr), "<nil>") || readErr == nil, "%s: %v, want why", name, readErr)
		if tt.read == corrupt {
			require.ErrorIs(t, e.Prepare(t.Context()), corrupt, "%s: made again", name)
		}
		after, _ := os.ReadFile(e.path(entriesName))
		if tt.swap == nil {
			require.Contains(t, string(after), `,"newer":1}`, "%s", name)
		} else if string(after) != string(before) {
			t.Errorf("%s: the entries were changed", name)
		}
	}
	require.ErrorIs(t, open(t, filepath.Join(t.TempDir(), "no", "leases")).Prepare(t.Context()), fs.ErrNotExist, "without a parent")
}
