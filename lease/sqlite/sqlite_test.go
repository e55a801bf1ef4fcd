package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func open(t testing.TB, path string) *Engine {
	t.Helper()
	e, err := New(path)
	require.NoError(t, err)
	return e
}

// prepared returns an engine that holds an entry.
func prepared(t testing.TB, path string) *Engine {
	t.Helper()
	e := open(t, path)
	require.NoError(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	return e
}

// do runs statements on a connection of its own, and keeps it for the time of the test.
func do(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		require.Done(t)(db.Exec(text))
	}
	return db
}

// place returns where no file is yet.
func place(t *testing.T) string { return filepath.Join(t.TempDir(), "app.db") }

func TestSuite(t *testing.T) {
	strange := func(t *testing.T) string { return filepath.Join(t.TempDir(), "100% of us?#@ü.db") }
	leasetest.Run(t, enginetest.Handles(strange, open))
}

// TestWAL: the file is another program's, in the journal mode of its choice.
func TestWAL(t *testing.T) {
	others := func(t *testing.T) string {
		path := place(t)
		do(t, path, "PRAGMA journal_mode = WAL", "CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
		return path
	}
	leasetest.Run(t, enginetest.Handles(others, open))
}

// TestLocked: a call waits while another connection has the file locked, until its context ends.
func TestLocked(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	db := do(t, path, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, readErr := e.Read(ctx, "a")
	_, swapErr := e.Swap(ctx, nil, entry("a", "2"))
	require.That(t, errors.Is(readErr, context.DeadlineExceeded) && errors.Is(swapErr, context.DeadlineExceeded),
		"%v, %v", readErr, swapErr)
	time.AfterFunc(300*time.Millisecond, func() { db.Exec("COMMIT") })
	put(t, e, "a", "3")
	// A reader only lets go after COMMIT found it.
	rows, err := db.Query("SELECT * FROM randflake_entries")
	require.NoError(t, err)
	rows.Next()
	time.AfterFunc(300*time.Millisecond, func() { rows.Close() })
	before, after := put(t, e, "a", "4"), put(t, e, "a", "5")
	require.That(t, before.Position == 3 && after.Position == 4,
		"positions %d and %d, want 3 and 4", before.Position, after.Position)
}

// TestCopy puts copies in the place of the file, and older content into it.
func TestCopy(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	seen := enginetest.Lineages{}
	seen.WantNew(t, "original", e)
	for _, where := range []string{"moved here", "removed and written anew"} {
		if where == "moved here" {
			require.NoError(t, os.WriteFile(path+"2", content, 0o600))
			require.NoError(t, os.Rename(path+"2", path))
		} else {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
		seen.WantNew(t, where, e)
	}
	newer := put(t, e, "a", "2")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	value, found := get(t, e, "a")
	require.That(t, value == "1" && found.Lineage == newer.Lineage && found.Position < newer.Position,
		"older content has %q, %+v after %+v", value, found, newer)
}

// TestLinked refuses a file with two names, under either of them.
func TestLinked(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	require.NoError(t, os.Link(path, path+"2"))
	for _, e := range []*Engine{e, open(t, path+"2")} {
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		for _, err := range []error{readErr, swapErr, e.Prepare(t.Context())} {
			require.ErrorIs(t, err, lease.ErrUnsafe, "%s", e)
		}
	}
	require.NoError(t, os.Remove(path+"2"))
	put(t, e, "a", "2")
}

// TestNew refuses a file on a network file system, which may be that of a link's target.
func TestNew(t *testing.T) {
	network, local := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(network, "app.db"), nil, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(network, "app.db"), filepath.Join(local, "link.db")))
	for _, tt := range []struct {
		path string
		want error
	}{
		{filepath.Join(network, "app.db"), lease.ErrUnsafe},
		{filepath.Join(network, "new.db"), lease.ErrUnsafe},
		{filepath.Join(local, "link.db"), lease.ErrUnsafe},
		{filepath.Join(local, "new.db"), nil},
	} {
		e, err := newEngine(tt.path, func(dir string) (string, error) {
			if dir == network {
				return "NFS", nil
			}
			return "", nil
		})
		require.That(t, errors.Is(err, tt.want) && (e != nil) == (tt.want == nil),
			"%s: %v, want %v", tt.path, err, tt.want)
	}
}

// An observed context calls a function when somebody is about to wait for its end.
type observed struct {
	context.Context
	asked func()
}

func (o observed) Done() <-chan struct{} {
	o.asked()
	return o.Context.Done()
}

// TestCloseWhileLocked: a call that waits for a lock ends when the engine is closed.
func TestCloseWhileLocked(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	do(t, path, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	closing := observed{ctx, func() { e.Close() }} // which the call has looked at by then
	require.Refuses(t, fs.ErrClosed, "Swap")(e.Swap(closing, nil, entry("a", "2")))
}

// TestRefused: a call fails if any of its statements does, and then nothing was changed.
func TestRefused(t *testing.T) {
	const refuse = " BEGIN SELECT RAISE(ABORT, 'refused'); END"
	for _, tt := range []struct {
		does, undoes string
		reads        bool // a Read fails too
		want         string
	}{
		{"ALTER TABLE randflake_entries RENAME TO e", "ALTER TABLE e RENAME TO randflake_entries", true, lease.ErrNoSpace.Error()},
		{"ALTER TABLE randflake_position RENAME TO p", "ALTER TABLE p RENAME TO randflake_position", true, lease.ErrNoSpace.Error()},
		{"CREATE TRIGGER t BEFORE INSERT ON randflake_entries" + refuse, "DROP TRIGGER t", false, "refused"},
		{"CREATE TRIGGER t BEFORE UPDATE ON randflake_position" + refuse, "DROP TRIGGER t", false, "refused"},
	} {
		path := place(t)
		e := prepared(t, path)
		_, before := get(t, e, "a")
		db := do(t, path, tt.does)
		_, swapErr := e.Swap(t.Context(), entry("a", "1"), entry("a", "2"))
		errs := []error{swapErr}
		if tt.reads {
			_, readErr := e.Read(t.Context(), "a")
			_, listErr := e.List(t.Context(), "", "", 9)
			_, putErr := e.Swap(t.Context(), nil, entry("a", "2"))
			errs = append(errs, readErr, listErr, putErr)
		}
		for i, err := range errs {
			require.That(t, err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "%!"),
				"%s: call %d: %v, want %s", tt.does, i, err, tt.want)
		}
		require.Done(t)(db.Exec(tt.undoes))
		value, after := get(t, e, "a")
		require.That(t, value == "1" && after.Position == before.Position, "%s: %s, %+v, before %+v", tt.does, value, after, before)
	}
}

// TestRemoved: what was read of a file that is removed before the call ends is not answered.
func TestRemoved(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	a, err := e.transact(t.Context(), "read", reading, func(*sql.Tx, *lease.Answer) error {
		return os.Remove(path)
	})
	require.That(t, errors.Is(err, lease.ErrNoSpace) && a.Lineage == "", "%+v, %v", a, err)
}

// TestGone: only Prepare makes a file, and nothing makes a directory.
func TestGone(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	require.NoError(t, os.Remove(path))
	_, readErr := e.Read(t.Context(), "a")
	_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
	_, openErr := lease.Open(t.Context(), e, lease.Config{})
	for _, err := range []error{readErr, swapErr, openErr} {
		require.ErrorIs(t, err, lease.ErrNoSpace, "without a file")
		require.ErrorIs(t, require.Err(os.Stat(path)), fs.ErrNotExist, "the file")
	}
	require.That(t, errors.Is(swapErr, lease.ErrStore), "Swap: %v: does not say that nothing was changed", swapErr)
	ended, end := context.WithCancel(t.Context())
	end()
	require.Refuses(t, context.Canceled, "Read after the context ended")(e.Read(ended, "a"))
	err := open(t, path+"/x.db").Prepare(t.Context())
	require.ErrorSays(t, err, "directory that is there", "Prepare")
	do(t, path, "CREATE TABLE orders (id INTEGER)")
	require.Refuses(t, lease.ErrNoSpace, "Read")(e.Read(t.Context(), "a"))
	do(t, path, "CREATE TABLE randflake_position (token, position)",
		"CREATE TRIGGER t BEFORE INSERT ON randflake_position BEGIN SELECT RAISE(ABORT, 'refused'); END")
	require.ErrorSays(t, e.Prepare(t.Context()), "refused", "Prepare where a statement fails")
}

// TestDamage: a file that is torn, or none of SQLite's, is refused and stays.
func TestDamage(t *testing.T) {
	path := place(t)
	e := prepared(t, path)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, damage := range []string{string(content[:len(content)-4096]), strings.Repeat("no file of SQLite's", 999)} {
		require.NoError(t, os.WriteFile(path, []byte(damage), 0o600))
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		left, err := os.ReadFile(path)
		require.That(t, errors.Is(readErr, lease.ErrCorrupt) && errors.Is(swapErr, lease.ErrCorrupt) && err == nil && string(left) == damage,
			"%v, %v, %v", readErr, swapErr, err)
	}
}

// TestDamagedLater: what is damaged beyond the first entries is found too, and a value that is no
// BLOB is not taken for none.
func TestDamagedLater(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"text": func(t *testing.T, path string) {
			do(t, path, "UPDATE randflake_entries SET value = CAST(value AS TEXT) WHERE name = 'e50'").Close()
		},
		"zeros": func(t *testing.T, path string) {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			clear(content[len(content)-4096:])
			require.NoError(t, os.WriteFile(path, content, 0o600))
		},
	} {
		path := place(t)
		e := prepared(t, path)
		for i := range 100 {
			put(t, e, fmt.Sprintf("e%02d", i), strings.Repeat("1", 500))
		}
		damage(t, path)
		entries, err := e.List(t.Context(), "", "", 1000)
		require.That(t, errors.Is(err, lease.ErrCorrupt), "%s: found %d entries, %v", name, len(entries), err)
	}
}

func TestURL(t *testing.T) {
	t.Chdir(t.TempDir())
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Right: []string{"sqlite:app.db", "sqlite:///srv/a%20b.db", "sqlite:%3F.db"},
		Wrong: map[string]string{
			"sqlite:":               "want sqlite:FILE",
			"sqlite://srv/app.db":   "want sqlite:FILE",
			"file:app.db":           "want sqlite:FILE",
			"sqlite:a%zz":           "want sqlite:FILE",
			"sqlite:app.db?spcae=x": `unknown parameter "spcae"`,
			"sqlite:app.db?%zz":     "parameters can't be parsed",
		},
	})
}
