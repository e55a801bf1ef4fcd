package databases

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/servers"
)

// One server of each kind is for all tests, each of which has tables of its own.
var (
	serversDir    string
	startPostgres = sync.OnceValues(func() (*servers.Postgres, error) {
		return servers.StartPostgres(filepath.Join(serversDir, "postgres"), nil)
	})
	startMariaDB = sync.OnceValues(func() (*servers.MySQL, error) {
		return servers.StartMySQL(filepath.Join(serversDir, "mariadb"))
	})
)

// The servers die with the process.
func TestMain(m *testing.M) {
	var err error
	if serversDir, err = os.MkdirTemp("", "databases"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(serversDir)
	os.Exit(code)
}

func postgresServer(t *testing.T) *servers.Postgres {
	t.Helper()
	server, err := startPostgres()
	must(t, err)
	return server
}

func connectPostgres(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgresServer(t).URL())
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func mariaDB(t *testing.T) *servers.MySQL {
	t.Helper()
	server, err := startMariaDB()
	must(t, err)
	return server
}

// openMariaDB opens the database with parameters that the driver puts into the statement itself, or not.
func openMariaDB(t *testing.T, interpolate bool) *sql.DB {
	t.Helper()
	address, err := url.Parse(mariaDB(t).URL())
	must(t, err)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", address.Host, address.Path[1:]
	config.User = address.User.Username()
	config.Passwd, _ = address.User.Password()
	config.InterpolateParams = interpolate
	connector, err := mysql.NewConnector(config)
	must(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}
