package engine

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/sqlitestore"
)

// A SQLite is a file of SQLite.
type SQLite struct{ path string }

// StartSQLite creates a store in a file.
func StartSQLite(ctx context.Context, s Setup) (Engine, error) {
	q := &SQLite{filepath.Join(s.Dir, "app.db")}
	return q, Create(ctx, q.URL(), forNew(s)...)
}

func connectSQLite(_ context.Context, url string) (store.Engine, error) {
	return sqlitestore.New(strings.TrimPrefix(url, "sqlite:"))
}

// URL implements Engine.
func (q *SQLite) URL() string { return "sqlite:" + q.path }

// Stop implements Engine.
func (q *SQLite) Stop() {}

// on calls change with a connection.
func (q *SQLite) on(change func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+q.path+"?mode=rw&_txlock=exclusive&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	return errors.Join(change(db), db.Close())
}

// Copy implements Copied.
func (q *SQLite) Copy() error { return q.SaveRows("copy") }

// Restore implements Copied: the copy takes the place of the file, while no worker has a journal.
func (q *SQLite) Restore() error {
	return q.on(func(db *sql.DB) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		return errors.Join(os.Rename(q.path+"-copy", q.path), tx.Rollback())
	})
}

// SaveRows implements Rows.
func (q *SQLite) SaveRows(name string) error {
	os.Remove(q.path + "-" + name)
	return q.do("VACUUM INTO ?", q.path+"-"+name)
}

// PutRows implements Rows.
func (q *SQLite) PutRows(name string) error {
	return q.do("ATTACH ? AS saved; BEGIN IMMEDIATE; DELETE FROM randflake_entries; INSERT INTO randflake_entries SELECT * FROM saved.randflake_entries; COMMIT", q.path+"-"+name)
}

func (q *SQLite) do(statements string, args ...any) error {
	return q.on(func(db *sql.DB) error {
		_, err := db.Exec(statements, args...)
		return err
	})
}
