// Package sqlite keeps entries in a file of SQLite on a local disk, which many processes of one machine may share.
//
//	engine, err := sqlite.New("/var/lib/app/app.db")
//	space, err := lease.Open(ctx, engine, lease.Config{})
//
// The file may hold other tables; the engine's begin with randflake_. Prepare, which lease.Create calls, makes the file if there
// is none. Network file systems, FUSE, a file that is mounted alone and a second hard link are refused.
//
// Each call is one transaction, with synchronous=EXTRA, in the journal mode that the file has. Others on the same file
//   - must not set synchronous=OFF, or the journal mode to OFF or MEMORY: then a crash damages the file,
//   - must not use another copy of SQLite in the same process, such as a driver in C: when it closes the file, all locks end,
//   - must see the journal: a container mounts the directory, not the file alone.
//
// Lineage is a random token in the file, its inode number, and on Linux its time of birth. So it changes when a copy takes
// the file's place; on Windows it does not. Position is the number of swaps. If an older copy is written into the file, as
// cp does, only a handle that saw more swaps notices. Without one, or after an older snapshot of the disk, call ReportLoss.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/turns"
)

// An Engine keeps entries in a file of SQLite. It opens the file for each call, and so finds the one that is there by now.
type Engine struct {
	path   string
	closed atomic.Bool
}

const createSQL = `
CREATE TABLE IF NOT EXISTS randflake_entries (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS randflake_position (token TEXT NOT NULL, position INTEGER NOT NULL);
INSERT INTO randflake_position SELECT hex(randomblob(16)), 0 WHERE NOT EXISTS (SELECT * FROM randflake_position)`

// New returns an engine on the file at path, which Prepare makes if there is none.
func New(path string) (*Engine, error) { return newEngine(path, localfile.Network) }

// newEngine is New, where network says of a directory on which kind of network file system it is, if any.
func newEngine(path string, network func(dir string) (kind string, err error)) (*Engine, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // there is none yet
	}
	if kind, _ := network(filepath.Dir(target)); kind != "" {
		return nil, fmt.Errorf("sqlite: %s: %w: the file system is %s, want a local one, whose locks hold: take a local disk, or an engine with a server", path, lease.ErrUnsafe, kind)
	}
	return &Engine{path: path}, nil
}

// Connect is New for a URL: sqlite:FILE, or sqlite:///FILE with a full name. Special characters of the name are percent-encoded.
func Connect(_ context.Context, text string) (*Engine, error) {
	u, query, err := storeurl.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	path, err := url.PathUnescape(u.Opaque + u.EscapedPath())
	if err != nil || u.Scheme != "sqlite" || u.Host != "" || path == "" {
		return nil, errors.New("sqlite: URL: want sqlite:FILE, such as sqlite:/var/lib/app/app.db, with special characters encoded")
	}
	for name := range query {
		return nil, fmt.Errorf("sqlite: URL: %w", storeurl.Unknown(name, "none"))
	}
	return New(path)
}

// Check finds what is wrong with a URL, as Connect does. It opens nothing.
func Check(url string) error {
	_, err := Connect(context.Background(), url)
	return err
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.transact(ctx, "read", "rw", "deferred", func(tx *sql.Tx, a *lease.Answer) (err error) {
		a.Entries, err = named(ctx, tx, names)
		return err
	})
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	a, err := e.transact(ctx, "list", "rw", "deferred", func(tx *sql.Tx, a *lease.Answer) (err error) {
		a.Entries, err = query(ctx, tx, "SELECT name, value FROM randflake_entries WHERE name > ? AND name >= ? AND name < ? ORDER BY name LIMIT ?", after, prefix, prefix+"\x7f", limit)
		return err
	})
	return a.Entries, err
}

// Swap implements [lease.Engine]. SQLite makes one at a time.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	var names []string
	for _, entry := range expect {
		names = append(names, entry.Name)
	}
	return e.transact(ctx, "swap", "rw", "immediate", func(tx *sql.Tx, a *lease.Answer) (err error) {
		a.Entries, err = named(ctx, tx, names)
		a.Swapped = turns.Unchanged(a.Entries, expect)
		if err != nil || !a.Swapped {
			return err
		}
		for _, entry := range put {
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO randflake_entries VALUES (?, ?)", entry.Name, entry.Value); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE randflake_position SET position = position + 1")
		return err
	})
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.transact(ctx, "prepare", "rwc", "immediate", func(tx *sql.Tx, _ *lease.Answer) error {
		_, err := tx.ExecContext(ctx, createSQL)
		return err
	})
	return err
}

// named reads entries, in the order of names.
func named(ctx context.Context, tx *sql.Tx, names []string) ([]lease.Entry, error) {
	array, _ := json.Marshal(append([]string{}, names...)) // strings don't fail
	return query(ctx, tx, "SELECT n.value, e.value FROM json_each(?) n LEFT JOIN randflake_entries e ON e.name = n.value ORDER BY n.key", string(array))
}

func query(ctx context.Context, tx *sql.Tx, text string, args ...any) (entries []lease.Entry, err error) {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		entry, value := lease.Entry{}, any(nil)
		if err := rows.Scan(&entry.Name, &value); err != nil {
			return nil, err
		}
		switch stored := value.(type) {
		case nil: // there is no such entry
		case []byte:
			entry.Value = append([]byte{}, stored...) // the driver has an empty one as nil
		default:
			return nil, fmt.Errorf("%w: the value of %q is a %T, want a BLOB", lease.ErrCorrupt, entry.Name, value)
		}
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}

// transact makes a transaction of a kind that the driver knows. After SQLITE_BUSY it starts again: another connection had a
// lock for too long, and nothing was changed, not even by COMMIT. access is the mode in which
// SQLite opens the file: rwc makes a missing file, rw does not.
func (e *Engine) transact(ctx context.Context, what string, access string, kind string, run func(*sql.Tx, *lease.Answer) error) (lease.Answer, error) {
	var err error
	for pause := 2 * time.Millisecond; !e.closed.Load() && ctx.Err() == nil; time.Sleep(rand.N(pause)) {
		pause = min(pause*5/4, time.Second) // or many would have no time for work
		var a lease.Answer
		if a, err = e.try(ctx, access, kind, run); err == nil {
			return a, nil
		} else if code(err) != sqlite3.SQLITE_BUSY {
			return lease.Answer{}, e.explain(ctx, what, err)
		}
	}
	if err == nil || e.closed.Load() {
		err = cmp.Or(ctx.Err(), fs.ErrClosed)
	}
	return lease.Answer{}, e.explain(ctx, what, turns.Unmade(err))
}

// try makes a transaction on a connection of its own. The file's identity comes last: if the file is replaced meanwhile, that
// shows too much, not too little.
func (e *Engine) try(ctx context.Context, access string, kind string, run func(*sql.Tx, *lease.Answer) error) (a lease.Answer, err error) {
	if file, err := localfile.Stat(e.path); err != nil && access == "rw" {
		return a, turns.Unmade(err)
	} else if file.Links > 1 {
		return a, fmt.Errorf("%w: the file has %d names, hard links, and each would have its own journal: remove all but one", lease.ErrUnsafe, file.Links)
	} else if file.Mounted {
		return a, fmt.Errorf("%w: the file is mounted alone, so that others do not see its journal: mount its directory", lease.ErrUnsafe)
	}
	// Who finds a lock held comes back later: to wait in SQLite costs more, and heeds no context. fullfsync is for macOS.
	query := url.Values{"mode": {access}, "_txlock": {kind}, "_pragma": {"busy_timeout(0)", "synchronous(extra)", "fullfsync(1)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(e.path), RawQuery: query.Encode()}).String())
	if err != nil {
		return a, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return a, turns.Unmade(err)
	}
	defer tx.Rollback()
	if kind == "immediate" { // it has the lock, and COMMIT waits for those who read
		_, err = tx.ExecContext(ctx, "PRAGMA busy_timeout = 1000")
	}
	if err == nil {
		err = run(tx, &a)
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT token, position FROM randflake_position").Scan(&a.Lineage, &a.Position)
	}
	if err != nil {
		return a, turns.Unmade(err)
	}
	err = tx.Commit()
	file, failed := localfile.Stat(e.path)
	a.Lineage += file.Inode + file.Born
	return a, cmp.Or(err, failed)
}

// Close implements [lease.Engine].
func (e *Engine) Close() error { e.closed.Store(true); return nil }

// String returns the URL.
func (e *Engine) String() string { return "sqlite:" + e.path }

// meanings are what SQLite's errors mean to a store, or what to do.
var meanings = map[int]error{
	sqlite3.SQLITE_CORRUPT: lease.ErrCorrupt, sqlite3.SQLITE_NOTADB: lease.ErrCorrupt, sqlite3.SQLITE_READONLY: fs.ErrPermission,
	sqlite3.SQLITE_CANTOPEN: errors.New("want a file in a directory that is there, both writable for this user"),
	sqlite3.SQLITE_FULL:     errors.New("make room on the disk"),
}

// code returns SQLite's code for an error, without what extends it.
func code(err error) int {
	if failed := (*sqlite.Error)(nil); errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return 0
}

// explain wraps an error with what was tried, and what it means.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	meaning := cmp.Or(ctx.Err(), meanings[code(err)])
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "no such table: randflake_") {
		meaning = lease.ErrNoSpace
	}
	if meaning != nil && !errors.Is(err, meaning) {
		err = fmt.Errorf("%w: %w", meaning, err)
	}
	return fmt.Errorf("sqlite: %s: %s: %w", what, e, err)
}
