package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/swap"
)

// A mode is how a transaction begins, in words of SQLite.
type mode struct{ access, lock string }

var (
	reading  = mode{"rw", "deferred"}
	swapping = mode{"rw", "immediate"}  // with the lock for writing
	making   = mode{"rwc", "immediate"} // the file too, if there is none
)

// statements runs those of a transaction, and fills in the answer.
type statements func(tx *sql.Tx, a *lease.Answer) error

// transact makes a transaction. After SQLITE_BUSY it begins again: another connection had a lock
// for too long, and nothing was changed, not even by COMMIT.
func (e *Engine) transact(ctx context.Context, what string, m mode, run statements) (lease.Answer, error) {
	pause := 2 * time.Millisecond
	for {
		a, err := e.try(ctx, m, run)
		if err == nil {
			return a, nil
		}
		isBusy := code(err) == sqlite3.SQLITE_BUSY
		if isBusy {
			err = swap.Unmade(err)
		}
		if !isBusy || swap.Pause(ctx, pause) != nil {
			return lease.Answer{}, e.explain(ctx, what, err)
		}
		pause = min(pause*5/4, time.Second) // if many try at a short pause, they have no time for work
	}
}

// try makes a transaction on a connection of its own. It reads the file's identity last. If the file is replaced
// before that, the lineage is that of the new one: a loss may be seen that was none, but none is missed.
func (e *Engine) try(ctx context.Context, m mode, run statements) (lease.Answer, error) {
	db, err := e.open(ctx, m)
	if err != nil {
		return lease.Answer{}, swap.Unmade(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return lease.Answer{}, swap.Unmade(err)
	}
	defer tx.Rollback()
	a, err := runIn(ctx, tx, m, run)
	if err != nil {
		return a, swap.Unmade(err)
	}

	err = tx.Commit()
	if code(err) == sqlite3.SQLITE_FULL { // then SQLite rolls back
		err = swap.Unmade(err)
	}
	if err != nil {
		return a, err
	}
	file, err := localfile.Stat(e.path)
	a.Lineage += file.Inode + file.Born
	return a, err
}

// open opens the file, unless it is one that the mode does not make, or others may open it without its journal.
func (e *Engine) open(ctx context.Context, m mode) (*sql.DB, error) {
	if e.closed.Load() {
		return nil, cmp.Or(ctx.Err(), fs.ErrClosed)
	}
	file, err := localfile.Stat(e.path)
	if err != nil && m != making {
		return nil, err
	}
	if err := checkFile(file); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", e.source(m))
}

// runIn runs the statements of a transaction, and asks for the evidence of its answer.
func runIn(ctx context.Context, tx *sql.Tx, m mode, run statements) (a lease.Answer, err error) {
	if m != reading { // tx has the lock, and COMMIT waits for transactions that read
		if _, err := tx.ExecContext(ctx, "PRAGMA busy_timeout = 1000"); err != nil {
			return a, err
		}
	}
	if err := run(tx, &a); err != nil {
		return a, err
	}
	row := tx.QueryRowContext(ctx, "SELECT token, position FROM randflake_position")
	err = row.Scan(&a.Lineage, &a.Position)
	return a, err
}

// source returns the file's name for the driver, with parameters. SQLite does not wait for locks:
// that costs more than to begin again later, and heeds no context. fullfsync is for macOS.
func (e *Engine) source(m mode) string {
	query := url.Values{
		"mode":    {m.access},
		"_txlock": {m.lock},
		"_pragma": {"busy_timeout(0)", "synchronous(extra)", "fullfsync(1)"},
	}
	u := url.URL{
		Scheme:   "file",
		OmitHost: true,
		Path:     filepath.ToSlash(e.path),
		RawQuery: query.Encode(),
	}
	return u.String()
}

// checkFile refuses a file that others may open without its journal.
func checkFile(file localfile.File) error {
	switch {
	case file.Links > 1:
		return fmt.Errorf("%w: the file has %d names, hard links, and each would have its own journal: "+
			"remove all but one",
			lease.ErrUnsafe, file.Links)
	case file.Mounted:
		return fmt.Errorf("%w: the file is mounted alone, so that others do not see its journal: "+
			"mount its directory",
			lease.ErrUnsafe)
	}
	return nil
}

// meanings has, for SQLite's codes of errors, what they mean or what to do.
var meanings = map[int]error{
	sqlite3.SQLITE_CORRUPT:  lease.ErrCorrupt,
	sqlite3.SQLITE_NOTADB:   lease.ErrCorrupt,
	sqlite3.SQLITE_READONLY: fs.ErrPermission,
	sqlite3.SQLITE_CANTOPEN: errCantOpen,
	sqlite3.SQLITE_FULL:     errors.New("make room on the disk"),
}

var errCantOpen = errors.New("want a file in a directory that is there, both writable for this user")

// code returns SQLite's code for an error, without what extends it.
func code(err error) int {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return failed.Code() & 0xff
}

// explain adds to an error what was tried, where, and what the error means.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	meaning := meanings[code(err)]
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "no such table: randflake_") {
		meaning = lease.ErrNoSpace
	}
	return fmt.Errorf("sqlite: %s: %s: %w", what, e, swap.Explain(err, cmp.Or(ctx.Err(), meaning)))
}
