package keys

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/internal/servers"
)

// settingsOfMariaDB leave what is durable as it is. InnoDB reads and writes past the operating system's cache.
var settingsOfMariaDB = []string{"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=1G", "--innodb-io-capacity=2000"}

type mariadb struct{ *sql.DB }

func startMariaDB(_ context.Context, dir string) (database, func(), error) {
	server, err := servers.StartMySQL(dir, settingsOfMariaDB...)
	if err != nil {
		return nil, nil, err
	}
	address, err := url.Parse(server.URL())
	if err != nil {
		return nil, nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", address.Host, address.Path[1:], address.User.Username()
	config.Passwd, _ = address.User.Password()
	config.InterpolateParams, config.Loc = true, time.UTC
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return mariadb{db}, func() { db.Close(); server.Kill() }, nil
}

func (mariadb) name() string { return "MariaDB" }

func (m mariadb) create(ctx context.Context, k kind) error {
	key := "BIGINT"
	if k.uuid {
		key = "BINARY(16)"
	}
	if k.keys == nil {
		key = "BIGINT AUTO_INCREMENT"
	}
	beside := ""
	if k.indexed {
		beside = "shown BIGINT NOT NULL UNIQUE,"
	}
	_, err := m.ExecContext(ctx, fmt.Sprintf(`CREATE TABLE %s (id %s PRIMARY KEY, %s customer BIGINT NOT NULL,
		created DATETIME(6) NOT NULL, cents BIGINT NOT NULL, item VARCHAR(100) NOT NULL) ENGINE=InnoDB`, k.table, key, beside))
	return err
}

// insert is one LOAD DATA, which is one transaction.
func (m mariadb) insert(ctx context.Context, k kind, rows []row) error {
	names, values := columns(k)
	mysql.RegisterReaderHandler(k.table, func() io.Reader { return strings.NewReader(lines(rows, values)) })
	defer mysql.DeregisterReaderHandler(k.table)
	into, set := strings.Join(names, ", "), ""
	if k.uuid {
		into, set = strings.Replace(into, "id", "@id", 1), " SET id = UNHEX(@id)"
	}
	_, err := m.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+k.table+"' INTO TABLE "+k.table+" CHARACTER SET utf8mb4 ("+into+")"+set)
	if err == nil && k.keys == nil {
		err = m.numberRows(ctx, k, rows)
	}
	return err
}

// numberRows sets the keys that the database made: one after the other within a statement, with gaps before the next one's.
func (m mariadb) numberRows(ctx context.Context, k kind, rows []row) error {
	var last int64
	err := m.QueryRowContext(ctx, "SELECT max(id) FROM "+k.table).Scan(&last)
	for i := range rows {
		rows[i].key = last - int64(len(rows)-1-i)
	}
	return err
}

// lines returns rows as LOAD DATA reads them.
func lines(rows []row, values func(row) []any) string {
	var b strings.Builder
	for _, r := range rows {
		for i, value := range values(r) {
			if i > 0 {
				b.WriteByte('\t')
			}
			switch value := value.(type) {
			case time.Time:
				b.WriteString(value.Format("2006-01-02 15:04:05.000000"))
			case [16]byte:
				b.WriteString(hex.EncodeToString(value[:]))
			default:
				fmt.Fprint(&b, value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m mariadb) insertOne(ctx context.Context, k kind, r row) error {
	names, values := columns(k)
	args := values(r)
	args[0] = parameter(args[0])
	_, err := m.ExecContext(ctx, insertStatement(k.table, names, func(int) string { return "?" }), args...)
	return err
}

func parameter(value any) any {
	if uuid, ok := value.([16]byte); ok {
		return uuid[:]
	}
	return value
}

func (m mariadb) cents(ctx context.Context, k kind, key any) (cents int64, err error) {
	err = m.QueryRowContext(ctx, "SELECT cents FROM "+k.table+" WHERE id = ?", parameter(key)).Scan(&cents)
	return cents, err
}

func (m mariadb) total(ctx context.Context, k kind) (rows, cents int64, err error) {
	err = m.QueryRowContext(ctx, "SELECT count(*), sum(cents) FROM "+k.table).Scan(&rows, &cents)
	return rows, cents, err
}

// size tells the clustered index, which is the table, from the other.
func (m mariadb) size(ctx context.Context, k kind) (s size, err error) {
	var table, kindOfResult, level, text string
	if err := m.QueryRowContext(ctx, "ANALYZE TABLE "+k.table).Scan(&table, &kindOfResult, &level, &text); err != nil {
		return s, err
	}
	err = m.QueryRowContext(ctx, `SELECT @@innodb_page_size * sum(if(index_name = 'PRIMARY', stat_value, 0)),
		@@innodb_page_size * sum(if(index_name = 'PRIMARY', 0, stat_value))
		FROM mysql.innodb_index_stats WHERE table_name = ? AND stat_name = 'size'`, k.table).Scan(&s.table, &s.indexes)
	return s, err
}

// work counts bytes of the redo log, and pages that were not in the buffer pool.
func (m mariadb) work(ctx context.Context, _ kind) (w work, err error) {
	for name, into := range map[string]*int64{"Innodb_os_log_written": &w.logged, "Innodb_buffer_pool_reads": &w.read} {
		var is string
		err = errors.Join(err, m.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&is, into))
	}
	return w, err
}
