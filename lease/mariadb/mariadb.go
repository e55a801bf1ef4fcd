// Package mariadb is an engine for stores in a database of MariaDB 10.6 or later, or MySQL 8.0 or
// later. It was tested with MariaDB 10.11; for MySQL it goes by the manual.
//
//	e, err := mariadb.Connect(ctx, "mysql://app:password@db.example.com:3306/app?tls=true")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # URL
//
// The URL takes the parameters that the driver knows. A connection must be ready within timeout,
// 10s by default. This package adds these:
//
//   - table=NAME is the table of entries, "randflake_entries" by default.
//   - pages=atomic says that storage never leaves a page half written (see below).
//   - ca=FILE, certificate=FILE and key=FILE are for TLS.
//
// The database must be there; lease.Create makes the table. The user needs SELECT, INSERT and
// UPDATE on the table, and CREATE to make it. The server needs max_allowed_packet=16M.
//
// # Calls
//
// Read and Swap are one transaction and one round trip each. They begin again if the server gave
// the transaction up for a deadlock or a lock that it waited for too long; Swap also while another
// process swaps. They refuse
//
//   - a server that is read-only,
//   - a table that is not InnoDB's,
//   - innodb_flush_log_at_trx_commit other than 1,
//   - sync_binlog other than 1, where there is a binary log,
//   - innodb_doublewrite=OFF, unless pages=atomic is given.
//
// When an engine first sees a server, it also refuses Galera and group replication, whose locks
// hold on one node only, a disabled redo log, and, where MariaDB tells, a running replica.
//
// # Lineage and position
//
// The lineage is made of
//
//   - server_id, and MySQL's server_uuid,
//   - the second in which the table was made or last altered,
//   - the transactions that the server took over as a replica: gtid_slave_pos, or in MySQL what is
//     not its own in gtid_executed, nor tagged.
//
// So it changes when a dump is restored, a replica is promoted, and when the old primary comes back
// as a replica and is promoted in turn; in MySQL the last shows only with gtid_mode=ON. MariaDB
// also shows that the table's files were copied.
//
// A promotion is always a loss: no setting shows that it keeps everything. Semi-synchronous
// replication goes on without an acknowledgement after its timeout, and nothing that a replica
// shares with its primary tells it from a restored copy.
//
// The position counts swaps, in the table. It is lower in any older copy, until there were as many
// swaps again. Only the position shows
//
//   - older rows that are put back into the same table,
//   - an older snapshot of the volume,
//   - in MySQL older files.
//
// What does not show at all: a copy of the server that runs beside the original, and an old primary
// that goes on.
package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a table. It implements [lease.Engine].
type Engine struct {
	db       *sql.DB
	ownsDB   bool
	config   Config
	where    string // which database, for messages
	closed   atomic.Bool
	examined atomic.Pointer[string] // the lineage of the server that was last found to be safe
}

var _ lease.Engine = (*Engine)(nil)

// A Config says where in a database the entries are, and what is known of its server.
type Config struct {
	Table string // "randflake_entries" if empty. URL: table=NAME

	// AtomicPages says that storage never leaves a page half written, so innodb_doublewrite may be
	// off. URL: pages=atomic
	AtomicPages bool
}

// New returns an engine on db. The engine's Close leaves db open. Connections must have autocommit, all the same
// time_zone, and what the driver calls multiStatements=true and interpolateParams=true.
func New(db *sql.DB, config Config) (*Engine, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	return &Engine{db: db, config: config, where: "MariaDB"}, nil
}

// complete returns c with its defaults, or why it can't be used.
func (c Config) complete() (Config, error) {
	c.Table = cmp.Or(c.Table, "randflake_entries")
	safe := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`) // needs no quotes in SQL
	if !safe.MatchString(c.Table) {
		return c, fmt.Errorf("table %q: want up to 64 letters, digits and _, not a digit first", c.Table)
	}
	return c, nil
}

// Read implements [lease.Engine]. It sets @randflake_ok to 0, as a swap does that does not take
// effect: then call selects the entries.
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.call(ctx, "read", "START TRANSACTION READ ONLY; SET @randflake_ok = 0", nil, names)
}

// Swap implements [lease.Engine]. It first locks the entry without a name, which has the position. So one swap is
// made at a time, and the transaction reads as of the moment after the lock. A swap does not wait for the lock: what
// it expects would be old by then. @randflake_ok is whether the swap has the lock and all is as expected.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	text := new(strings.Builder)
	text.WriteString(`START TRANSACTION READ WRITE;
		SET @randflake_ok = NULL;
		SELECT 1 INTO @randflake_ok FROM @table WHERE name = '' FOR UPDATE SKIP LOCKED;
		SET @randflake_ok = @randflake_ok IS NOT NULL`)
	var args []any
	for _, entry := range expect {
		text.WriteString(`
			AND ? = (SELECT COUNT(*) FROM @table WHERE name = ? AND value = COALESCE(?, value))`)
		args = append(args, entry.Value != nil, entry.Name, entry.Value)
	}
	for _, entry := range put {
		text.WriteString(`;
			INSERT INTO @table SELECT ?, ?, 0 FROM DUAL WHERE @randflake_ok
			ON DUPLICATE KEY UPDATE value = ?`)
		args = append(args, entry.Name, entry.Value, entry.Value)
	}
	text.WriteString(`;
		UPDATE @table SET position = position + 1 WHERE name = '' AND @randflake_ok`)
	names := swap.Names(expect)
	return swap.Retry(ctx, expect, func() (lease.Answer, error) {
		return e.call(ctx, "swap", text.String(), args, names)
	})
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	if e.closed.Load() {
		return nil, e.explain(ctx, "list", fs.ErrClosed)
	}
	const text = `SELECT name, value FROM @table
		WHERE name > ? AND name BETWEEN ? AND ? ORDER BY name LIMIT ?`
	last := prefix + "~" // which is above all characters of names
	rows, err := e.db.QueryContext(ctx, e.statement(text), after, prefix, last, limit)
	if err != nil {
		return nil, e.explain(ctx, "list", err)
	}
	defer rows.Close()
	entries, err := scan(rows)
	return entries, e.explain(ctx, "list", err)
}

// Prepare implements [lease.Engine]. It returns in the second after the one in which the table was made: the lineage
// has that second, and would not tell the table from one that replaced it at once.
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.Read(ctx)
	if !errors.Is(err, lease.ErrNoSpace) {
		return err
	}
	_, err = e.db.ExecContext(ctx, e.statement(`
		CREATE TABLE IF NOT EXISTS @table (
			name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
			value MEDIUMBLOB NOT NULL,
			position BIGINT UNSIGNED NOT NULL
		) ENGINE = InnoDB;
		SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
		INSERT IGNORE INTO @table VALUES ('', '', 1);
		DO SLEEP(1.01 - MICROSECOND(NOW(6)) / 1e6)`))
	return e.explain(ctx, "prepare", err)
}

// statement puts the table's name into the text of one.
func (e *Engine) statement(text string) string {
	return strings.ReplaceAll(text, "@table", e.config.Table)
}

// Close implements [lease.Engine]. A database that was given to New stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.ownsDB {
		return e.db.Close()
	}
	return nil
}

// String says which table, in which database of which server.
func (e *Engine) String() string {
	return fmt.Sprintf("table %q in %s", e.config.Table, e.where)
}
