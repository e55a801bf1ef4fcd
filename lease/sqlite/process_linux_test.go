package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile/localfiletest"
)

func TestMain(m *testing.M) { enginetest.Main(m, New) }

func TestKilled(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "app.db")
		do(t, path, "PRAGMA journal_mode = "+mode).Close()
		enginetest.RunKilled(t, prepared(t, path), path)
	}
}

func TestDisk(t *testing.T) {
	enginetest.RunDisk(t, func(disk string) lease.Engine {
		return prepared(t, filepath.Join(disk, "app.db"))
	}, meanings[sqlite3.SQLITE_FULL], fs.ErrPermission)
}

// TestBrokenDisk: when a sync fails at COMMIT, the outcome is unknown.
func TestBrokenDisk(t *testing.T) {
	e := prepared(t, place(t))
	t.Run("swap", func(t *testing.T) {
		localfiletest.Fail(t, syscall.SYS_FSYNC)
		a, err := e.Swap(t.Context(), nil, entry("a", "2"))
		require.That(t, code(err) == sqlite3.SQLITE_IOERR && !errors.Is(err, lease.ErrStore),
			"%+v, %v, want an error that leaves open whether it was made", a, err)
	})
	put(t, e, "a", "3")
}

// TestNowhere: where the working directory is gone, nobody can tell which file a relative name means.
func TestNowhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir))
	e, err := New("app.db")
	require.That(t, e == nil && errors.Is(err, fs.ErrNotExist), "%v, %v, want ErrNotExist", e, err)
}

// TestMountedAlone refuses a file that is mounted without its directory, as in a container.
func TestMountedAlone(t *testing.T) {
	path, alone := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "app.db")
	prepared(t, path)
	require.NoError(t, os.WriteFile(alone, nil, 0o600))
	if err := syscall.Mount(path, alone, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(alone, syscall.MNT_DETACH) })
	require.Refuses(t, lease.ErrUnsafe, "Read")(open(t, alone).Read(t.Context(), "a"))
}

// TestOpenFiles: no file stays open after a call, successful or not.
func TestOpenFiles(t *testing.T) {
	e := prepared(t, filepath.Join(t.TempDir(), "app.db"))
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	before := count()
	put(t, e, "a", "2")
	get(t, e, "a")
	do(t, e.path, "DROP TABLE randflake_entries").Close()
	require.Refuses(t, lease.ErrNoSpace, "Swap")(e.Swap(t.Context(), nil, entry("a", "3")))
	require.Equal(t, count(), before, "open files")
}
