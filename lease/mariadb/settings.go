package mariadb

import (
	"context"
	"fmt"
	"strings"

	"github.com/randflake/randflake/lease"
)

// A setting of the server must have a safe value.
type setting struct {
	name string
	sql  string // an expression for the value
	safe string // the safe values, as a list in SQL
	want string // the safe value and the reason, in words
}

// settings are looked at in each call.
var settings = []setting{
	{"engine of the table", "i.engine", "'InnoDB'", "InnoDB: only that has transactions"},
	{"read_only", "@@read_only", "'0', 'OFF'", "OFF: a replica lacks what the primary has acknowledged"},
	{flushLog, "@@" + flushLog, "'1'", "1: a crash would lose what was acknowledged last"},
	{"sync_binlog", "IF(@@log_bin, @@sync_binlog, 1)", "'1'", "1: a crash would lose what the binary log lacks"},
}

const flushLog = "innodb_flush_log_at_trx_commit"

// wholePages is looked at in each call too, unless storage never leaves a page half written.
var wholePages = setting{
	"innodb_doublewrite",
	"@@innodb_doublewrite",
	"'1', 'ON', 'DETECT_AND_RECOVER'",
	"ON: a crash could leave pages half written; or pages=atomic",
}

// seldom are settings that not every server has, or that take long to look at: see examine.
var seldom = []setting{
	{"server version", newEnough, "'new'", "MariaDB 10.6, MySQL 8.0, or later"},
	{"wsrep_on", oneOf("global_variables"), "'', 'OFF'", "OFF: locks hold on one node of Galera only"},
	{"group_replication_group_name", oneOf("global_variables"), "''", "none: locks hold on one group member only"},
	{"Slaves_running", oneOf("global_status"), "'', '0'", "0: a replica lacks what the primary has acknowledged"},
	{"Innodb_redo_log_enabled", oneOf("global_status"), "'', 'ON'", "ON: a crash would lose everything"},
}

const newEnough = "IF(0 /*M!100600 + 1 */ /*!80000 + 1 */, 'new', VERSION())"

// oneOf returns a query of a table for the setting @name. In this file, only MariaDB runs the text in
// /*M! */, and only MySQL that in /*! */.
func oneOf(table string) string {
	return "(SELECT variable_value FROM /*M! information_schema */ /*!50700 performance_schema */ ." + table +
		" WHERE variable_name = '@name')"
}

// objectionSQL returns an expression for what is wrong with settings, or for "". For read_only alone it is
//
//	CONCAT_WS('; ', NULL,
//		IF(CONCAT_WS('', @@read_only) IN ('0', 'OFF'), NULL,
//			CONCAT_WS('', 'read_only is ', @@read_only, ', want OFF: a replica lacks ...')))
func objectionSQL(settings ...setting) string {
	text := new(strings.Builder)
	text.WriteString("CONCAT_WS('; ', NULL")
	for _, s := range settings {
		value := strings.ReplaceAll(s.sql, "@name", s.name)
		fmt.Fprintf(text, ", IF(CONCAT_WS('', %s) IN (%s), NULL, ", value, s.safe)
		fmt.Fprintf(text, "CONCAT_WS('', '%s is ', %s, ', want %s'))", s.name, value, s.want)
	}
	text.WriteString(")")
	return text.String()
}

// reportSQL selects the report that receive takes: an objection to settings, the lineage, the time, whether the
// swap took effect, and the position.
func (e *Engine) reportSQL() string {
	objection := objectionSQL(settings...)
	if !e.config.AtomicPages {
		objection = objectionSQL(append([]setting{wholePages}, settings...)...)
	}
	return "SELECT " + objection + `,
		CONCAT_WS('/', @@server_id, UNIX_TIMESTAMP(i.create_time)
			/*M! , SHA1(@@global.gtid_slave_pos) */
			/*!50700 , @@server_uuid,
				SHA1(GTID_SUBTRACT(@@global.gtid_executed,
					CONCAT(@@server_uuid, ':1-9223372036854775806'))) */ ),
		TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
		@randflake_ok,
		COALESCE((SELECT position FROM @table WHERE name = ''), 0)
	FROM information_schema.tables AS i WHERE i.table_schema = DATABASE() AND i.table_name = ?`
}

// examine looks at the settings that seldom change while the lineage stays, once for each lineage.
func (e *Engine) examine(ctx context.Context, lineage string) error {
	last := e.examined.Load()
	if last != nil && *last == lineage {
		return nil
	}
	var objection string
	err := e.db.QueryRowContext(ctx, "SELECT "+objectionSQL(seldom...)).Scan(&objection)
	if err != nil {
		return err
	}
	if objection != "" {
		return fmt.Errorf("%w: %s", lease.ErrUnsafe, objection)
	}
	e.examined.Store(&lineage)
	return nil
}
