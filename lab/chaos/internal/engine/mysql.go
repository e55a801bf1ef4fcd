package engine

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/mysqlstore"
)

// A MySQL is a MariaDB server.
type MySQL struct {
	served[*servers.MySQL]
	timed
	dump string // what Copy made
}

// StartMySQL starts a server.
func StartMySQL(ctx context.Context, s Setup) (_ Engine, err error) {
	m := &MySQL{}
	if m.clock, err = newClock(s.Clocked, s.Dir); err != nil {
		return m, err
	}
	environ, err := m.clock.environ()
	if err != nil {
		return m, err
	}
	// Workers have up to 32 connections each.
	if m.server, err = servers.StartMySQLIn(environ, filepath.Join(s.Dir, "server"), "--max-connections=1000"); err != nil {
		return m, err
	}
	if m.link, err = newLink(m.server.Addr()); err != nil {
		return m, err
	}
	return m, Create(ctx, m.URL(), forNew(s)...)
}

func connectMySQL(ctx context.Context, text string) (store.Engine, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, u.Path[1:]
	config.MultiStatements, config.InterpolateParams = true, true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return mysqlstore.New(ctx, sql.OpenDB(connector), mysqlstore.Config{})
}

// URL implements Engine.
func (m *MySQL) URL() string { return m.through(m.server.URL()).String() }

// Stop implements Engine.
func (m *MySQL) Stop() {
	if m.link != nil {
		m.link.close()
	}
	if m.server != nil {
		m.server.Kill()
	}
}

// Copy implements Copied. It takes a dump, as most backups are.
func (m *MySQL) Copy() (err error) {
	m.dump, err = m.server.Dump()
	return err
}

// Restore implements Copied.
func (m *MySQL) Restore() error {
	_, err := m.server.Do(m.dump)
	return err
}

// SaveRows implements Rows.
func (m *MySQL) SaveRows(name string) error {
	_, err := m.server.Do("CREATE TABLE " + name + " AS SELECT * FROM randflake_entries")
	return err
}

// PutRows implements Rows.
func (m *MySQL) PutRows(name string) error {
	_, err := m.server.Do("START TRANSACTION; DELETE FROM randflake_entries; INSERT INTO randflake_entries SELECT * FROM " + name + "; COMMIT")
	return err
}
