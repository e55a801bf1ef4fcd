// Package sqlite is an engine for stores in a file of SQLite on a local disk, which many processes
// of one machine may share.
//
//	engine, err := sqlite.New("/var/lib/app/app.db")
//	space, err := lease.Open(ctx, engine, lease.Config{})
//
// # File
//
// The file may hold other tables; the engine's begin with randflake_. Prepare, which lease.Create
// calls, makes the file if there is none. Refused are network file systems and FUSE, a file that is
// mounted alone, and a file with a second hard link.
//
// Each call is one transaction, with synchronous=EXTRA, in the journal mode that the file has.
// Other programs on the same file
//
//   - must not set synchronous=OFF, or the journal mode to OFF or MEMORY: then a crash damages the
//     file,
//   - must not use another copy of SQLite in the same process, such as a driver in C: when that
//     copy closes the file, all locks end,
//   - must see the journal: a container mounts the directory, not the file alone.
//
// # Lineage and position
//
// The lineage is a random token in the file, the file's inode number, and on Linux its time of birth. So it
// changes when a copy takes the file's place; on Windows it does not. The position is the number of swaps.
//
// If an older copy is written into the file, as cp does, only a handle that saw more swaps notices. If there is
// no such handle, or after an older snapshot of the disk was brought back, call [lease.Space.ReportLoss].
package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a file of SQLite. It opens the file anew for each call, as another
// file may have taken its place.
type Engine struct {
	path   string
	closed atomic.Bool
}

const createSQL = `
CREATE TABLE IF NOT EXISTS randflake_entries (
	name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS randflake_position (token TEXT NOT NULL, position INTEGER NOT NULL);
INSERT INTO randflake_position SELECT hex(randomblob(16)), 0
	WHERE NOT EXISTS (SELECT * FROM randflake_position)`

// New returns an engine on the file at path, which Prepare makes if there is none.
func New(path string) (*Engine, error) { return newEngine(path, localfile.Network) }

// newEngine is New. network names the kind of network file system that a directory is on, or "".
func newEngine(path string, network func(dir string) (kind string, err error)) (*Engine, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // there is none yet
	}
	kind, _ := network(filepath.Dir(target))
	if kind != "" {
		return nil, fmt.Errorf("sqlite: %s: %w: the file system is %s, want a local one, whose locks hold: "+
			"take a local disk, or an engine with a server",
			path, lease.ErrUnsafe, kind)
	}
	return &Engine{path: path}, nil
}

// Connect is New for a URL: sqlite:FILE, or sqlite:///FILE with a full name. Special characters of
// the name are percent-encoded.
func Connect(_ context.Context, url string) (*Engine, error) {
	path, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("sqlite", err)
	}
	return New(path)
}

// parse returns the path in a URL.
func parse(text string) (path string, err error) {
	u, query, err := storeurl.ParseURL(text)
	if err != nil {
		return "", err
	}
	path, err = url.PathUnescape(u.Opaque + u.EscapedPath())
	if err != nil || u.Scheme != "sqlite" || u.Host != "" || path == "" {
		return "", errors.New("want sqlite:FILE, such as sqlite:/var/lib/app/app.db, with special characters encoded")
	}
	return path, storeurl.CheckAllTaken(query, "none")
}

// Check finds what is wrong with a URL, as Connect does. It opens nothing.
func Check(url string) error {
	_, err := Connect(context.Background(), url)
	return err
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.transact(ctx, "read", reading, func(tx *sql.Tx, a *lease.Answer) (err error) {
		a.Entries, err = named(ctx, tx, names)
		return err
	})
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	const text = `SELECT name, value FROM randflake_entries
		WHERE name > ? AND name >= ? AND name < ? ORDER BY name LIMIT ?`
	a, err := e.transact(ctx, "list", reading, func(tx *sql.Tx, a *lease.Answer) (err error) {
		end := prefix + "~" // which is above all characters of names
		a.Entries, err = query(ctx, tx, text, after, prefix, end, limit)
		return err
	})
	return a.Entries, err
}

// Swap implements [lease.Engine]. SQLite makes one at a time.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	names := swap.Names(expect)
	return e.transact(ctx, "swap", swapping, func(tx *sql.Tx, a *lease.Answer) (err error) {
		a.Entries, err = named(ctx, tx, names)
		a.Swapped = swap.Matches(a.Entries, expect)
		if err != nil || !a.Swapped {
			return err
		}
		for _, entry := range put {
			const text = "INSERT OR REPLACE INTO randflake_entries VALUES (?, ?)"
			_, err := tx.ExecContext(ctx, text, entry.Name, entry.Value)
			if err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE randflake_position SET position = position + 1")
		return err
	})
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.transact(ctx, "prepare", making, func(tx *sql.Tx, _ *lease.Answer) error {
		_, err := tx.ExecContext(ctx, createSQL)
		return err
	})
	return err
}

// named reads entries, in the order of names.
func named(ctx context.Context, tx *sql.Tx, names []string) ([]lease.Entry, error) {
	array, _ := json.Marshal(append([]string{}, names...)) // of strings, which can't fail; nil would be null
	const text = `SELECT n.value, e.value
		FROM json_each(?) n LEFT JOIN randflake_entries e ON e.name = n.value ORDER BY n.key`
	return query(ctx, tx, text, string(array))
}

// query returns the entries that a query selects.
func query(ctx context.Context, tx *sql.Tx, text string, args ...any) (entries []lease.Entry, err error) {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var entry lease.Entry
		var value any
		if err := rows.Scan(&entry.Name, &value); err != nil {
			return nil, err
		}
		switch stored := value.(type) {
		case nil: // there is no such entry
		case []byte:
			entry.Value = append([]byte{}, stored...) // not nil, as the driver has an empty value
		default:
			return nil, fmt.Errorf("%w: the value of %q is a %T, want a BLOB", lease.ErrCorrupt, entry.Name, value)
		}
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}

// Close implements [lease.Engine].
func (e *Engine) Close() error {
	e.closed.Store(true)
	return nil
}

// String returns the URL.
func (e *Engine) String() string { return "sqlite:" + e.path }
