// Package mariadb is an engine for stores in a database of MariaDB 10.6 or later, or MySQL 8.0 or
// later. It was tested with MariaDB 10.11; for MySQL it goes by the manual.
//
//	e, err := mariadb.Connect(ctx, "mysql://app:password@db.example.com:3306/app?tls=true")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The URL takes table=NAME, "randflake_entries" without, pages=atomic, ca=FILE, cert=FILE and
// key=FILE for TLS, and what the driver knows, as timeout=5s, in which a connection must be ready;
// it is 10s by default. The database must be there; lease.Create makes the table. The user needs
// SELECT, INSERT and UPDATE on it, and CREATE to make it; the server, max_allowed_packet=16M. Each
// call is one transaction and one round trip, made again when the server gave it up for a deadlock
// or a lock it waited for too long. Refused are a read-only server, a table that is not InnoDB's,
// innodb_flush_log_at_trx_commit other than 1, sync_binlog other than 1 where there is a binary
// log, and innodb_doublewrite=OFF unless pages=atomic says that storage never leaves a page half
// written; when first seen, also Galera and group replication, whose locks hold on one node only, a
// disabled redo log, and a running replica where MariaDB tells.
//
// The lineage is made of server_id, MySQL's server_uuid, the second in which the table was made or
// last altered, and the transactions that the server took over as a replica: gtid_slave_pos, or in
// MySQL what is not its own in gtid_executed, nor tagged. So it changes when a dump is restored, a
// replica is promoted, and when the old primary comes back as a replica and is promoted in turn; in
// MySQL the last shows only with gtid_mode=ON. MariaDB also shows that the table's files were
// copied. A promotion is always a loss: no setting shows that it keeps everything, as
// semi-synchronous replication goes on without an acknowledgement after its timeout, and nothing
// that a replica shares with its primary tells it from a restored copy.
//
// The position is the number of swaps, which is in the table. It is lower in any older copy, until
// that took as many. Nothing else shows older rows put back into the same table, an older snapshot
// of the volume, or in MySQL older files. Nothing shows a copy of the server that runs beside the
// original, nor an old primary that goes on.
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
	where    string // the database, for messages
	closed   atomic.Bool
	examined atomic.Pointer[string] // the lineage of the server that was examined last
}

var _ lease.Engine = (*Engine)(nil)

// A Config says where in a database the entries are, and what is known of its server.
type Config struct {
	Table       string // "randflake_entries" if empty
	AtomicPages bool   // storage never leaves a page half written, so innodb_doublewrite may be off. URL: pages=atomic
}

// New returns an engine on db, which its Close leaves open. Connections must have
// multiStatements=true and interpolateParams=true, as the driver calls them, autocommit, and all
// the same time_zone.
func New(db *sql.DB, config Config) (*Engine, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	return &Engine{db: db, config: config, where: "MariaDB"}, nil
}

// complete returns c with what is set by default.
func (c Config) complete() (Config, error) {
	c.Table = cmp.Or(c.Table, "randflake_entries")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString(c.Table) {
		return c, fmt.Errorf("table %q: want up to 64 letters, digits and _, not a digit first", c.Table)
	}
	return c, nil
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.call(ctx, "read", "START TRANSACTION READ ONLY; SET @randflake_ok = 0", nil, names)
}

// Swap implements [lease.Engine]. The entry without a name has the position. Its lock lets one swap
// be made at a time, and what is read first after that is as of then. A swap doesn't wait for the
// lock: what it expects would be old by then.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	text := new(strings.Builder)
	text.WriteString(`START TRANSACTION READ WRITE;
		SET @randflake_ok = NULL;
		SELECT 1 INTO @randflake_ok FROM @table WHERE name = '' FOR UPDATE SKIP LOCKED;
		SET @randflake_ok = @randflake_ok IS NOT NULL`)
	var args []any
	for _, entry := range expect {
		text.WriteString(" AND ? = (SELECT COUNT(*) FROM @table WHERE name = ? AND value = COALESCE(?, value))")
		args = append(args, entry.Value != nil, entry.Name, entry.Value)
	}
	for _, entry := range put {
		text.WriteString(";\nINSERT INTO @table SELECT ?, ?, 0 FROM DUAL WHERE @randflake_ok ON DUPLICATE KEY UPDATE value = ?")
		args = append(args, entry.Name, entry.Value, entry.Value)
	}
	text.WriteString(";\nUPDATE @table SET position = position + 1 WHERE name = '' AND @randflake_ok")
	names := swap.Names(expect)
	return swap.Retry(ctx, expect, func() (lease.Answer, error) {
		return e.call(ctx, "swap", text.String(), args, names)
	})
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) (entries []lease.Entry, err error) {
	if e.closed.Load() {
		return nil, e.explain(ctx, "list", fs.ErrClosed)
	}
	const text = "SELECT name, value FROM @table WHERE name > ? AND name BETWEEN ? AND ? ORDER BY name LIMIT ?"
	rows, err := e.db.QueryContext(ctx, e.in(text), after, prefix, prefix+"~", limit) // all names are below ~
	if err != nil {
		return nil, e.explain(ctx, "list", err)
	}
	defer rows.Close()
	entries, err = scan(rows)
	return entries, e.explain(ctx, "list", err)
}

// Prepare implements [lease.Engine]. A new table is used from the next second on, as the lineage
// goes by seconds.
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.Read(ctx)
	if !errors.Is(err, lease.ErrNoSpace) {
		return err
	}
	_, err = e.db.ExecContext(ctx, e.in(`
		CREATE TABLE IF NOT EXISTS @table (name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
			value MEDIUMBLOB NOT NULL, position BIGINT UNSIGNED NOT NULL) ENGINE = InnoDB;
		SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
		INSERT IGNORE INTO @table VALUES ('', '', 1);
		DO SLEEP(1.01 - MICROSECOND(NOW(6)) / 1e6)`))
	return e.explain(ctx, "prepare", err)
}

// in puts the table's name into a statement.
func (e *Engine) in(text string) string { return strings.ReplaceAll(text, "@table", e.config.Table) }

// Close implements [lease.Engine]. A database that New was given stays open.
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
