package mariadb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease"
)

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
