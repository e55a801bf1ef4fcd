package main

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/file"
	_ "modernc.org/sqlite" // the database driver, in plain Go
)

// A shop is what the handlers work on.
type shop struct {
	db     *sql.DB
	store  *store.Space                        // of the leases
	keeper *lease.Keeper[*snowflake.Generator] // of the worker number that makes new IDs unique
	log    *slog.Logger
}

// open opens the shop in dir, or a new one. The lease comes last: when anything fails there is none to give back.
func open(ctx context.Context, dir string, log *slog.Logger) (*shop, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	database := filepath.Join(dir, "orders.db")
	space, err := openStore(filepath.Join(dir, "leases"), database)
	if err != nil {
		return nil, err
	}
	key, err := secret(dir)
	if err != nil {
		return nil, err
	}
	orderMasker = newMasker(key)
	db, err := sql.Open("sqlite", database+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, quantity INTEGER NOT NULL)`); err != nil {
		return nil, err
	}
	keeper, err := snowflake.Keep(ctx, lease.On(space), layout, snowflake.Leasing(lease.WithLogger(log)))
	if err != nil {
		return nil, err
	}
	return &shop{db, space, keeper, log}, nil
}

// openStore opens the store in dir, or makes one. It grants leases at once only where there is no
// database yet: beside old rows it must be that an old store was lost, and the new one waits until every
// lease that the old one may have granted has ended.
func openStore(dir, database string) (*store.Space, error) {
	space, err := file.Open(dir)
	if !errors.Is(err, store.ErrNoStore) {
		return space, err
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return file.Create(dir, store.ForNewSecret())
	}
	return file.Create(dir)
}

func (s *shop) close() error {
	return errors.Join(s.keeper.Close(), s.store.Close(), s.db.Close())
}
