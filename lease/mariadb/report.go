package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/store"
)

type setting struct{ name, sql, safe, want string }

// settings must have one of the values that are safe, in each call.
var settings = []setting{
	{"engine of the table", "i.engine", "'InnoDB'", "InnoDB: only that has transactions"},
	{"read_only", "@@read_only", "'0', 'OFF'", "OFF: a replica lacks what the primary has acknowledged"},
	{"innodb_flush_log_at_trx_commit", "@@innodb_flush_log_at_trx_commit", "'1'", "1: a crash would lose what was acknowledged last"},
	{"sync_binlog", "IF(@@log_bin, @@sync_binlog, 1)", "'1'", "1: a crash would lose what the binary log lacks"},
	{"innodb_doublewrite", "@@innodb_doublewrite", "'1', 'ON', 'DETECT_AND_RECOVER'", "ON: a crash could leave pages half written"},
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

// reportSQL asks for what take takes. The sum is in a query of its own, as MariaDB shows some variables
// wrong beside one; it counts what may not be on disk yet unless a swap took effect.
var reportSQL = "SELECT " + unsafeSQL(settings) + `, CONCAT_WS('/', @@server_id, UNIX_TIMESTAMP(i.create_time)
		/*M! , SHA1(@@global.gtid_slave_pos) */
		/*!50700 , @@server_uuid, SHA1(GTID_SUBTRACT(@@global.gtid_executed, CONCAT(@@server_uuid, ':1-9223372036854775806'))) */ ),
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), @randflake_ok,
	IF(@randflake_ok, (SELECT CAST(SUM(calls) AS UNSIGNED) FROM @table WHERE name < '-'), 0)
	FROM information_schema.tables AS i WHERE i.table_schema = DATABASE() AND i.table_name = ?`

// take takes rows of entries and the report.
func take(rows *sql.Rows, names []string) (a store.Answer, err error) {
	found := map[string][]byte{}
	for rows.Next() && err == nil {
		var ofPage bool
		var entry store.Entry
		if err = rows.Scan(&ofPage, &entry.Name, &entry.Value); ofPage {
			a.Page = append(a.Page, entry)
		} else {
			found[entry.Name] = entry.Value
		}
	}
	slices.SortFunc(a.Page, byName)
	for _, name := range names {
		a.Named = append(a.Named, store.Entry{Name: name, Value: found[name]})
	}
	if err != nil || !rows.NextResultSet() || !rows.Next() {
		return a, cmp.Or(err, rows.Err(), sql.ErrNoRows)
	}
	var unsafe string
	var now int64
	if err = rows.Scan(&unsafe, &a.Lineage, &now, &a.Swapped, &a.Position); unsafe != "" {
		err = fmt.Errorf("%w: %s", store.ErrUnsafe, unsafe)
	}
	a.Time, a.Kept = time.UnixMicro(now), true
	return a, err
}

// examine checks what seldom changes without the lineage, and that the driver sends two statements, and says where it is.
func (e *Engine) examine(ctx context.Context) (where string, err error) {
	var unsafe string
	if err = e.db.QueryRowContext(ctx, "DO 0; SELECT CONCAT(@@hostname, ':', @@port, '/', DATABASE()), "+unsafeSQL(seldom)).Scan(&where, &unsafe); unsafe != "" {
		err = fmt.Errorf("%w: %s", store.ErrUnsafe, unsafe)
	}
	return where, err
}
