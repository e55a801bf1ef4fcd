package mysqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/store"
)

// A report is an answer, and what else the server says of itself in each call.
type report struct {
	store.Answer
	fresh    bool
	settings [len(settings)]string
}

// settings must be as they are safe. Those without SQL of their own are variables.
var settings = [...]struct{ name, sql, safe, lost string }{
	{"engine of the table", "i.engine", "InnoDB", "only InnoDB has transactions"},
	{"read_only", "", "0 OFF", "a replica lacks what the primary has acknowledged"},
	{"innodb_flush_log_at_trx_commit", "", "1", "a crash would lose what was acknowledged last"},
	{"sync_binlog", "IF(@@log_bin, @@sync_binlog, 1)", "1", "a crash would lose what the binary log lacks"},
	{"innodb_doublewrite", "", "ON 1 DETECT_AND_RECOVER", "a crash could leave pages half written: say pages=atomic if the storage prevents that"},
	{"innodb_flush_method", "", "fsync O_DIRECT O_DSYNC normal unbuffered async_unbuffered", "a crash would lose what was not flushed"},
	{"autocommit", "", "1 ON", "a transaction would stay open"},
}

const (
	// freshSQL says whether another table could still be made in the second in which this one was. The clock of files
	// lags a little. A table of the future shows that the clock was put back, and is not waited for.
	freshSQL   = "TIMESTAMPDIFF(MICROSECOND, i.create_time, NOW(6)) BETWEEN -1000000 AND 1100000"
	aboutTable = " FROM information_schema.tables AS i WHERE i.table_schema = DATABASE() AND i.table_name = ?"
)

// reportSQL asks for what report.take takes. The sum is in a query of its own, as MariaDB shows some variables
// wrong beside one.
func reportSQL(isMariaDB bool) string {
	who := ", @@server_uuid, @@global.gtid_executed"
	if isMariaDB {
		who = ", '', @@global.gtid_slave_pos"
	}
	text := "SELECT COALESCE(@randflake_ok, FALSE), " + freshSQL + ", TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), (SELECT CAST(SUM(calls) AS UNSIGNED) FROM @table WHERE name < '" +
		firstName + "'), UNIX_TIMESTAMP(i.create_time), @@server_id" + who
	for _, s := range settings {
		if s.sql == "" {
			s.sql = "@@" + s.name
		}
		text += ", " + s.sql
	}
	return text + aboutTable
}

// take takes rows of entries, the report, and what COMMIT answers.
func (r *report) take(rows *sql.Rows, names []string) (err error) {
	found := map[string][]byte{}
	for rows.Next() && err == nil {
		var ofPage bool
		var entry store.Entry
		if err = rows.Scan(&ofPage, &entry.Name, &entry.Value); ofPage {
			r.Page = append(r.Page, entry)
		} else {
			found[entry.Name] = entry.Value
		}
	}
	for _, name := range names {
		r.Named = append(r.Named, store.Entry{Name: name, Value: found[name]})
	}
	var now int64
	var made, id, uuid, gtids string
	dest := []any{&r.Swapped, &r.fresh, &now, &r.Position, &made, &id, &uuid, &gtids}
	for i := range r.settings {
		dest = append(dest, &r.settings[i])
	}
	if err == nil && rows.NextResultSet() && rows.Next() {
		err = rows.Scan(dest...)
	}
	r.Time, r.Lineage = time.UnixMicro(now), fmt.Sprintf("%s/%s/%s/%s", uuid, id, made, foreign(gtids, uuid))
	for rows.NextResultSet() {
	}
	return err
}

// foreign returns a hash of the transactions that a server took over, or nothing where there are none.
func foreign(gtids, uuid string) string {
	own := func(part string) bool { return uuid != "" && strings.HasPrefix(part, uuid+":") }
	parts := slices.DeleteFunc(strings.Fields(strings.ReplaceAll(gtids, ",", " ")), own)
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, ",")))
	return fmt.Sprintf("%x", sum[:8])
}

// judge refuses what is not safe, and examines a server that was not examined yet.
func (e *Engine) judge(ctx context.Context, r *report) (err error) {
	for i, s := range settings {
		if safe := strings.Fields(s.safe); !slices.Contains(safe, r.settings[i]) && !(e.config.AtomicPages && s.name == "innodb_doublewrite") {
			err = errors.Join(err, fmt.Errorf("%w: %s is %s, want %s: %s", store.ErrUnsafe, s.name, r.settings[i], safe[0], s.lost))
		}
	}
	if last := e.examined.Load(); err == nil && (last == nil || *last != r.Lineage) {
		if _, _, err = e.examine(ctx); err == nil {
			e.examined.Store(&r.Lineage)
		}
	}
	return err
}

// seldom are what examine asks for, and refuses.
var seldom = []struct{ show, want string }{
	{"VARIABLES WHERE variable_name = 'wsrep_on' AND value = 'ON'", "OFF: locks hold on one node of Galera only"},
	{"VARIABLES WHERE variable_name = 'group_replication_group_name' AND value <> ''", "none: locks hold on one member of a group only"},
	{"STATUS WHERE variable_name = 'Slaves_running' AND value <> '0'", "0: a replica lacks what the primary has acknowledged"},
	{"STATUS WHERE variable_name = 'Innodb_redo_log_enabled' AND value = 'OFF'", "ON: a crash would lose everything"},
}

// examine checks what seldom changes without the lineage, and says what the server is.
func (e *Engine) examine(ctx context.Context) (isMariaDB bool, where string, err error) {
	var version string // "; DO 0" fails unless the driver sends several statements
	if err = e.db.QueryRowContext(ctx, "SELECT VERSION(), CONCAT(@@hostname, ':', @@port, '/', DATABASE()); DO 0").Scan(&version, &where); err != nil {
		return false, "", err
	}
	err = checkVersion(version)
	for _, s := range seldom {
		var name, value string
		switch found := e.db.QueryRowContext(ctx, "SHOW GLOBAL "+s.show).Scan(&name, &value); found {
		case nil:
			err = errors.Join(err, fmt.Errorf("%w: %s is %s, want %s", store.ErrUnsafe, name, value, s.want))
		case sql.ErrNoRows:
		default:
			err = errors.Join(err, found)
		}
	}
	return strings.Contains(version, "MariaDB"), where, err
}

// checkVersion also refuses TiDB, which locks nothing that is absent.
func checkVersion(version string) error {
	var major, minor int
	fmt.Sscanf(version, "%d.%d", &major, &minor)
	isMariaDB := strings.Contains(version, "MariaDB")
	if isMariaDB && 100*major+minor < 1006 || !isMariaDB && major < 8 || strings.Contains(version, "TiDB") {
		return fmt.Errorf("%w: server version is %s, want MariaDB 10.6, MySQL 8.0, or later", store.ErrUnsafe, version)
	}
	return nil
}
