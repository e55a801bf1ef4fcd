// Package mariadb keeps a store in a database of MariaDB 10.6 or later, or MySQL 8.0 or later. It was tested
// with MariaDB 10.11; for MySQL it goes by the manual.
//
//	e, err := mariadb.Connect(ctx, "mysql://app:password@db.example.com:3306/app?tls=true")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The URL takes table=NAME, "randflake_entries" without, pages=atomic, ca=FILE, cert=FILE and key=FILE for TLS, and what the
// driver knows, as timeout=5s, in which a connection must be ready; it is 10s by default. The database must be there;
// lease.Create makes the table. The user needs SELECT, INSERT and UPDATE on it, and CREATE to make it; the server,
// max_allowed_packet=16M. Each call is one transaction and one round trip, made again when the server gave it up for a deadlock
// or a lock it waited for too long. Refused are a read-only server, a table that is not InnoDB's,
// innodb_flush_log_at_trx_commit other than 1, sync_binlog other than 1 where there is a binary log, and innodb_doublewrite=OFF
// unless pages=atomic says that storage never leaves a page half written; when first seen, also Galera and group replication,
// whose locks hold on one node only, a disabled redo log, and a running replica where MariaDB tells.
//
// The lineage is made of server_id, MySQL's server_uuid, the second in which the table was made or last altered, and the
// transactions that the server took over as a replica: gtid_slave_pos, or in MySQL what is not its own in gtid_executed, nor
// tagged. So it changes when a dump is restored, a replica is promoted, and when the old primary comes back as a replica and is
// promoted in turn; in MySQL the last shows only with gtid_mode=ON. MariaDB also shows that the table's files were copied.
// A promotion is always a loss: no setting shows that it keeps everything, as semi-synchronous replication goes on without an
// acknowledgement after its timeout, and nothing that a replica shares with its primary tells it from a restored copy.
//
// The position is the number of swaps, which is in the table. It is lower in any older copy, until that took as many. Nothing
// else shows older rows put back into the same table, an older snapshot of the volume, or in MySQL older files. Nothing shows
// a copy of the server that runs beside the original, nor an old primary that goes on.
package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/tlsfiles"
	"github.com/randflake/randflake/lease/internal/turns"
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

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	d, config, where, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("mariadb: URL: %w", err)
	}
	connector, err := mysql.NewConnector(d)
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	e, err := New(sql.OpenDB(connector), config)
	if err != nil {
		return nil, err
	}
	e.db.SetMaxOpenConns(32)
	e.db.SetMaxIdleConns(32)
	e.ownsDB, e.where = true, where
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, _, err := parse(url)
	return err
}

// New returns an engine on db, which its Close leaves open. Connections must have multiStatements=true and
// interpolateParams=true, as the driver calls them, autocommit, and all the same time_zone.
func New(db *sql.DB, config Config) (*Engine, error) {
	config.Table = cmp.Or(config.Table, "randflake_entries")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString(config.Table) {
		return nil, fmt.Errorf("mariadb: table %q: want up to 64 letters, digits and _, not a digit first", config.Table)
	}
	return &Engine{db: db, config: config, where: "MariaDB"}, nil
}

// parse fails with errors that show nothing of a URL but its parameters.
func parse(text string) (d *mysql.Config, config Config, where string, err error) {
	u, query, err := storeurl.ParseURL(text)
	if err != nil {
		return nil, config, "", err
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || len(u.Path) < 2 {
		return nil, config, "", errors.New("want mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	config.Table = storeurl.Take(query, "table")
	config.AtomicPages, err = storeurl.TakeWord(query, "pages", "atomic")
	encrypted, tlsErr := tlsfiles.Take(query)
	d, dsnErr := mysql.ParseDSN("/?" + query.Encode())
	if err = errors.Join(err, tlsErr, dsnErr); err != nil {
		return nil, config, "", err
	}
	for name := range d.Params { // the driver takes what it does not know for variables of the server
		return nil, config, "", storeurl.Unknown(name, "table, pages, ca, cert, key, or one that the driver knows")
	}
	d.User, d.DBName, d.Addr = u.User.Username(), u.Path[1:], net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.Passwd, _ = u.User.Password()
	d.MultiStatements, d.InterpolateParams, d.RejectReadOnly, d.Logger = true, true, false, &mysql.NopLogger{}
	d.Params, d.TLS, d.Timeout = map[string]string{"autocommit": "1", "time_zone": "'+00:00'"}, encrypted, cmp.Or(d.Timeout, 10*time.Second)
	return d, config, "mysql://" + u.Host + u.Path, nil
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.call(ctx, "read", "START TRANSACTION READ ONLY; SET @randflake_ok = 0", nil, names)
}

// Swap implements [lease.Engine]. The entry without a name has the position. Its lock lets one swap be made at a time, and what is
// read first after that is as of then. Nobody waits for the lock: what he expects would be old by then.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (a lease.Answer, err error) {
	text := `START TRANSACTION READ WRITE;
		SET @randflake_ok = NULL;
		SELECT 1 INTO @randflake_ok FROM @table WHERE name = '' FOR UPDATE SKIP LOCKED;
		SET @randflake_ok = @randflake_ok IS NOT NULL`
	var args []any
	var names []string
	for _, entry := range expect {
		text += " AND ? = (SELECT COUNT(*) FROM @table WHERE name = ? AND value = COALESCE(?, value))"
		args, names = append(args, entry.Value != nil, entry.Name, entry.Value), append(names, entry.Name)
	}
	for _, entry := range put {
		text += ";\nINSERT INTO @table SELECT ?, ?, 0 FROM DUAL WHERE @randflake_ok ON DUPLICATE KEY UPDATE value = ?"
		args = append(args, entry.Name, entry.Value, entry.Value)
	}
	text += ";\nUPDATE @table SET position = position + 1 WHERE name = '' AND @randflake_ok"
	return turns.Take(ctx, expect, func() (lease.Answer, error) { return e.call(ctx, "swap", text, args, names) })
}

// call makes a call, again where that is certain to have changed nothing, and examines a server that was not yet.
func (e *Engine) call(ctx context.Context, what, text string, args []any, names []string) (lease.Answer, error) {
	text = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " + text +
		";\nSELECT name, value FROM @table WHERE NOT @randflake_ok AND name IN (''" + strings.Repeat(", ?", len(names)) + ");\n" + e.reportSQL() + ";\nCOMMIT"
	for _, name := range names {
		args = append(args, name)
	}
	args = append(args, e.config.Table)
	for ctx.Err() == nil && !e.closed.Load() {
		a, answered, err := e.send(ctx, e.in(text), args, names)
		if last := e.examined.Load(); err == nil && (last == nil || *last != a.Lineage) {
			if err = e.examine(ctx); err == nil {
				e.examined.Store(&a.Lineage)
			}
		}
		// Deadlock, lock wait timeout; ErrBadConn says that nothing was sent.
		again := errors.Is(err, &mysql.MySQLError{Number: 1213}) || errors.Is(err, &mysql.MySQLError{Number: 1205}) || errors.Is(err, driver.ErrBadConn)
		if answered || !again {
			return a, e.explain(ctx, what, err)
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	return lease.Answer{}, e.explain(ctx, what, turns.Unmade(cmp.Or(ctx.Err(), fs.ErrClosed)))
}

// send sends one request and takes its answers: entries, the report, and COMMIT's. Nothing is committed before the first. No
// transaction stays open.
func (e *Engine) send(ctx context.Context, text string, args []any, names []string) (a lease.Answer, answered bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return a, false, turns.Unmade(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, text, args...)
	if answered = err == nil; answered {
		found := map[string][]byte{}
		var entries []lease.Entry
		entries, err = take(rows)
		for _, entry := range entries {
			found[entry.Name] = entry.Value
		}
		for _, name := range names {
			a.Entries = append(a.Entries, lease.Entry{Name: name, Value: found[name]})
		}
		var unsafe string
		var now int64
		if err == nil && rows.NextResultSet() && rows.Next() {
			err = rows.Scan(&unsafe, &a.Lineage, &now, &a.Swapped, &a.Position)
		}
		for rows.NextResultSet() { // Close would wait without heeding ctx
		}
		a.Time, err = time.UnixMicro(now), errors.Join(err, rows.Err(), rows.Close())
		if err == nil && a.Position == 0 {
			err = fmt.Errorf("%w: there is no row with the position", lease.ErrNoSpace)
		}
		if unsafe != "" {
			err = fmt.Errorf("%w: %s", lease.ErrUnsafe, unsafe)
		}
	}
	if err != nil {
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		}
		return lease.Answer{}, answered, err
	}
	return a, answered, nil
}

// take takes rows of entries.
func take(rows *sql.Rows) (entries []lease.Entry, err error) {
	for rows.Next() && err == nil {
		var entry lease.Entry
		err = rows.Scan(&entry.Name, &entry.Value)
		entries = append(entries, entry)
	}
	return entries, cmp.Or(err, rows.Err())
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) (entries []lease.Entry, err error) {
	if e.closed.Load() {
		return nil, e.explain(ctx, "list", fs.ErrClosed)
	}
	rows, err := e.db.QueryContext(ctx, e.in("SELECT name, value FROM @table WHERE name > ? AND name BETWEEN ? AND ? ORDER BY name LIMIT ?"),
		after, prefix, prefix+"~", limit) // all names are below ~
	if err != nil {
		return nil, e.explain(ctx, "list", err)
	}
	defer rows.Close()
	entries, err = take(rows)
	return entries, e.explain(ctx, "list", err)
}

// Prepare implements [lease.Engine]. A new table is used from the next second on, as the lineage goes by seconds.
func (e *Engine) Prepare(ctx context.Context) error {
	if _, err := e.Read(ctx); !errors.Is(err, lease.ErrNoSpace) {
		return err
	}
	_, err := e.db.ExecContext(ctx, e.in(`CREATE TABLE IF NOT EXISTS @table (name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
		value MEDIUMBLOB NOT NULL, position BIGINT UNSIGNED NOT NULL) ENGINE = InnoDB;
		SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; INSERT IGNORE INTO @table VALUES ('', '', 1); DO SLEEP(1.01 - MICROSECOND(NOW(6)) / 1e6)`))
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

type setting struct{ name, sql, safe, want string }

// settings must have one of the values that are safe, in each call.
var settings = []setting{
	{"innodb_doublewrite", "@@innodb_doublewrite", "'1', 'ON', 'DETECT_AND_RECOVER'", "ON: a crash could leave pages half written; or pages=atomic"},
	{"engine of the table", "i.engine", "'InnoDB'", "InnoDB: only that has transactions"},
	{"read_only", "@@read_only", "'0', 'OFF'", "OFF: a replica lacks what the primary has acknowledged"},
	{"innodb_flush_log_at_trx_commit", "@@innodb_flush_log_at_trx_commit", "'1'", "1: a crash would lose what was acknowledged last"},
	{"sync_binlog", "IF(@@log_bin, @@sync_binlog, 1)", "'1'", "1: a crash would lose what the binary log lacks"},
}

// seldom are settings that not every server has, or that take long to look at.
var seldom = []setting{
	{"server version", "IF(0 /*M!100600 + 1 */ /*!80000 + 1 */, 'new', VERSION())", "'new'", "MariaDB 10.6, MySQL 8.0, or later"},
	{"wsrep_on", oneOf("global_variables"), "'', 'OFF'", "OFF: locks hold on one node of Galera only"},
	{"group_replication_group_name", oneOf("global_variables"), "''", "none: locks hold on one member of a group only"},
	{"Slaves_running", oneOf("global_status"), "'', '0'", "0: a replica lacks what the primary has acknowledged"},
	{"Innodb_redo_log_enabled", oneOf("global_status"), "'', 'ON'", "ON: a crash would lose everything"},
}

// oneOf returns a query for the variable @name. Only MariaDB heeds the first comment, only MySQL the second.
func oneOf(table string) string {
	return "(SELECT variable_value FROM /*M! information_schema */ /*!50700 performance_schema */ ." + table + " WHERE variable_name = '@name')"
}

// unsafeSQL returns an expression for what is wrong with settings.
func unsafeSQL(settings []setting) string {
	text := "CONCAT_WS('; ', NULL"
	for _, s := range settings {
		s.sql = strings.ReplaceAll(s.sql, "@name", s.name)
		text += fmt.Sprintf(", IF(CONCAT_WS('', %s) IN (%s), NULL, CONCAT_WS('', '%s is ', %[1]s, ', want %[4]s'))", s.sql, s.safe, s.name, s.want)
	}
	return text + ")"
}

// reportSQL asks for what take takes.
func (e *Engine) reportSQL() string {
	wanted := settings
	if e.config.AtomicPages {
		wanted = settings[1:]
	}
	return "SELECT " + unsafeSQL(wanted) + `, CONCAT_WS('/', @@server_id, UNIX_TIMESTAMP(i.create_time)
		/*M! , SHA1(@@global.gtid_slave_pos) */
		/*!50700 , @@server_uuid, SHA1(GTID_SUBTRACT(@@global.gtid_executed, CONCAT(@@server_uuid, ':1-9223372036854775806'))) */ ),
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), @randflake_ok, COALESCE((SELECT position FROM @table WHERE name = ''), 0)
	FROM information_schema.tables AS i WHERE i.table_schema = DATABASE() AND i.table_name = ?`
}

// examine checks what seldom changes without the lineage.
func (e *Engine) examine(ctx context.Context) error {
	var unsafe string
	err := e.db.QueryRowContext(ctx, "SELECT "+unsafeSQL(seldom)).Scan(&unsafe)
	if unsafe != "" {
		err = fmt.Errorf("%w: %s", lease.ErrUnsafe, unsafe)
	}
	return err
}

// meanings are what errors of the server, by number, mean.
var meanings = map[uint16]error{
	1146: lease.ErrNoSpace, 1044: fs.ErrPermission, 1142: fs.ErrPermission, // no such table; no privilege for database, table
	1049: errors.New("the database is missing: make it first, with CREATE DATABASE"),
	1290: fmt.Errorf("%w: server is read-only: connect to the primary", lease.ErrUnsafe),
	1034: lease.ErrCorrupt, 1194: lease.ErrCorrupt, 1712: lease.ErrCorrupt, // index, table
	1064: errors.New("the driver needs multiStatements=true and interpolateParams=true"), // syntax error
}

// explain wraps an error with what was tried, and what it means. The network may time out a moment before the context.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= 0 {
		<-ctx.Done()
	}
	server := new(mysql.MySQLError)
	errors.As(err, &server)
	if meaning := cmp.Or(ctx.Err(), meanings[server.Number]); e.closed.Load() {
		err = fs.ErrClosed
	} else if meaning != nil && !errors.Is(err, meaning) {
		err = fmt.Errorf("%w: %w", meaning, err)
	}
	return fmt.Errorf("mariadb: %s: %s: %w", what, e, err)
}
