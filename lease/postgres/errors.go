package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// meanings has, for SQLSTATEs of errors, what they mean or what to do.
var meanings = map[string]error{
	// invalid_schema_name, undefined_table
	"3F000": lease.ErrNoSpace,
	"42P01": lease.ErrNoSpace,

	// data_corrupted, index_corrupted
	"XX001": lease.ErrCorrupt,
	"XX002": lease.ErrCorrupt,

	// read_only_sql_transaction, invalid_catalog_name, insufficient_privilege
	"25006": fmt.Errorf("%w: server is a standby, or default_transaction_read_only is on", lease.ErrUnsafe),
	"3D000": errors.New("the database is missing: make it first, with CREATE DATABASE or createdb"),
	"42501": fmt.Errorf("%w: DDL says which privileges a role needs", fs.ErrPermission),
}

// explain adds to an error what was tried, where, and what the error means.
func (e *Engine) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	if ok && rolledBack(server) {
		err = swap.Unmade(err)
	}
	if ok && meanings[server.Code] != nil {
		err = fmt.Errorf("%w: %w", meanings[server.Code], err)
	} else if e.closed.Load() && !errors.Is(err, fs.ErrClosed) {
		err = fmt.Errorf("%w: %w", fs.ErrClosed, err) // Close closed the pool during the call
	}
	return fmt.Errorf("postgres: %s: %s: %w", what, e, err)
}

// rolledBack reports whether an error of the server says that nothing was committed. Once the
// server commits, only the connection can fail. That is FATAL, or of class 08 if a pooler says it.
func rolledBack(e *pgconn.PgError) bool {
	return e.SeverityUnlocalized == "ERROR" && !strings.HasPrefix(e.Code, "08")
}
