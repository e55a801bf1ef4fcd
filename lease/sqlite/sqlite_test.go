package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func open(t testing.TB, path string) *Engine {
	t.Helper()
	e, err := New(path)
	must(t, err)
	return e
}

// prepared returns an engine that holds an entry.
func prepared(t testing.TB, path string) *Engine {
	t.Helper()
	e := open(t, path)
	must(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	return e
}

// do runs statements on a connection of its own, and keeps it for the time of the test.
func do(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		_, err := db.Exec(text)
		must(t, err)
	}
	return db
}

// start makes a name for a file, and opens handles on it.
func start(t *testing.T) func(t *testing.T) lease.Engine {
	path := filepath.Join(t.TempDir(), "100% of us?#@ü.db")
	return func(t *testing.T) lease.Engine { return open(t, path) }
}

func TestSuite(t *testing.T) { leasetest.Run(t, start) }

// TestWAL: the file is another program's, in the journal mode of its choice.
func TestWAL(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		path := filepath.Join(t.TempDir(), "app.db")
		do(t, path, "PRAGMA journal_mode = WAL", "CREATE TABLE orders (id INTEGER)", "INSERT INTO orders VALUES (1)")
		return func(t *testing.T) lease.Engine { return open(t, path) }
	})
}

// TestLocked: a call waits while another connection has the file locked, until its context ends.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := prepared(t, path)
	db := do(t, path, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, readErr := e.Read(ctx, "a")
	_, swapErr := e.Swap(ctx, nil, entry("a", "2"))
	if !errors.Is(readErr, context.DeadlineExceeded) || !errors.Is(swapErr, context.DeadlineExceeded) {
		t.Errorf("%v, %v", readErr, swapErr)
	}
	time.AfterFunc(300*time.Millisecond, func() { db.Exec("COMMIT") })
	put(t, e, "a", "3")
	// A reader only lets go after COMMIT found it.
	rows, err := db.Query("SELECT * FROM randflake_entries")
	must(t, err)
	rows.Next()
	time.AfterFunc(300*time.Millisecond, func() { rows.Close() })
	if before, after := put(t, e, "a", "4"), put(t, e, "a", "5"); after.Position != before.Position+1 || before.Position != 3 {
		t.Errorf("positions %d and %d, want 3 and 4", before.Position, after.Position)
	}
}

// TestCopy puts copies in the place of the file, and older content into it.
func TestCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := prepared(t, path)
	content, err := os.ReadFile(path)
	must(t, err)
	seen := leasetest.Lineages{}
	seen.WantNew(t, "original", e)
	for _, where := range []string{"moved here", "removed and written anew"} {
		if where == "moved here" {
			must(t, os.WriteFile(path+"2", content, 0o600))
			must(t, os.Rename(path+"2", path))
		} else {
			must(t, os.Remove(path))
			must(t, os.WriteFile(path, content, 0o600))
		}
		seen.WantNew(t, where, e)
	}
	newer := put(t, e, "a", "2")
	must(t, os.WriteFile(path, content, 0o600))
	if value, found := get(t, e, "a"); value != "1" || found.Lineage != newer.Lineage || found.Position >= newer.Position {
		t.Errorf("older content has %q, %+v after %+v", value, found, newer)
	}
}

// TestLinked refuses a file with two names, under either of them.
func TestLinked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := prepared(t, path)
	must(t, os.Link(path, path+"2"))
	for _, e := range []*Engine{e, open(t, path+"2")} {
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		if err := e.Prepare(t.Context()); !errors.Is(err, lease.ErrUnsafe) || !errors.Is(readErr, lease.ErrUnsafe) || !errors.Is(swapErr, lease.ErrUnsafe) {
			t.Errorf("%v, %v, %v", err, readErr, swapErr)
		}
	}
	must(t, os.Remove(path+"2"))
	put(t, e, "a", "2")
}

// TestGone: only Prepare makes a file, and nothing makes a directory.
func TestGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := prepared(t, path)
	must(t, os.Remove(path))
	_, readErr := e.Read(t.Context(), "a")
	_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
	_, openErr := lease.Open(t.Context(), e, lease.Config{})
	for _, err := range []error{readErr, swapErr, openErr} {
		if _, found := os.Stat(path); !errors.Is(err, lease.ErrNoSpace) || !errors.Is(found, fs.ErrNotExist) {
			t.Errorf("%v, and the file: %v", err, found)
		}
	}
	if err := open(t, path+"/x.db").Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "directory that is there") {
		t.Error(err)
	}
	do(t, path, "CREATE TABLE orders (id INTEGER)")
	if _, err := e.Read(t.Context(), "a"); !errors.Is(err, lease.ErrNoSpace) {
		t.Error(err)
	}
}

// TestDamage: a file that is torn, or none of SQLite's, is refused and stays.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := prepared(t, path)
	content, err := os.ReadFile(path)
	must(t, err)
	for _, damage := range []string{string(content[:len(content)-4096]), strings.Repeat("no file of SQLite's", 999)} {
		must(t, os.WriteFile(path, []byte(damage), 0o600))
		_, readErr := e.Read(t.Context(), "a")
		_, swapErr := e.Swap(t.Context(), nil, entry("a", "2"))
		left, err := os.ReadFile(path)
		if !errors.Is(readErr, lease.ErrCorrupt) || !errors.Is(swapErr, lease.ErrCorrupt) || err != nil || string(left) != damage {
			t.Errorf("%v, %v, %v", readErr, swapErr, err)
		}
	}
}

func TestURL(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:app.db": "", "sqlite:///srv/a%20b.db": "", "sqlite:%3F.db": "",
		"sqlite:": "want sqlite:FILE", "sqlite://srv/app.db": "want sqlite:FILE", "file:app.db": "want sqlite:FILE", "sqlite:a%zz": "want sqlite:FILE",
		"sqlite:app.db?spcae=x": `unknown parameter "spcae"`,
	} {
		if err := Check(url); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
