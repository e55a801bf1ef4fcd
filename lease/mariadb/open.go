package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"regexp"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease/internal/tlsfiles"
	"github.com/randflake/randflake/store"
)

// A Config says where in a database the entries are.
type Config struct {
	Table string // "randflake_entries" if empty
	where string // the database, for messages
}

// Open opens the store at url, as [store.Open] does.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return store.Begin(ctx, url, connect, store.Open, options)
}

// Create makes a new store at url and opens it, as [store.Create] does.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return store.Begin(ctx, url, connect, store.Create, options)
}

// Check finds what is wrong with a URL, as Open does. It connects to nothing.
func Check(url string) error {
	if _, _, _, err := parseURL(url); err != nil {
		return fmt.Errorf("mysqlstore: %w", err)
	}
	return nil
}

// limited limits a connection's beginning as a whole. The driver's timeout ends once TCP is connected, though the server
// may accept and stay silent.
type limited struct {
	driver.Connector
	timeout time.Duration
}

// Connect implements [driver.Connector].
func (l limited) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.Connector.Connect(ctx)
}

// connect makes an Engine with connections of its own.
func connect(ctx context.Context, url string) (*Engine, []store.Option, error) {
	var connector driver.Connector
	d, config, options, err := parseURL(url)
	if err == nil {
		connector, err = mysql.NewConnector(d)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("mysqlstore: %w", err)
	}
	db := sql.OpenDB(limited{connector, d.Timeout})
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	e, err := New(ctx, db, config)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	e.ownsDB = true
	return e, options, nil
}

// New returns an Engine on db, for [store.Open] and [store.Create]. Its Close leaves db open. Connections must have
// multiStatements=true and interpolateParams=true, as the driver calls them, autocommit, and all the same time_zone.
func New(ctx context.Context, db *sql.DB, config Config) (*Engine, error) {
	config.Table = cmp.Or(config.Table, "randflake_entries")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString(config.Table) {
		return nil, fmt.Errorf("mysqlstore: table %q: want up to 64 letters, digits and _, not a digit first", config.Table)
	}
	e := &Engine{db: db, config: config}
	where, err := e.examine(ctx)
	if e.config.where = cmp.Or(config.where, where); err != nil {
		return nil, e.explain(ctx, "open", err)
	}
	return e, nil
}

// parseURL fails with errors that show nothing of a URL but its parameters.
func parseURL(text string) (d *mysql.Config, config Config, options []store.Option, err error) {
	u, query, err := store.ParseURL(text)
	if err != nil {
		return nil, config, nil, err
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || len(u.Path) < 2 {
		return nil, config, nil, errors.New("URL: want mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	options, err = store.TakeOptions(query)
	encrypted, tlsErr := tlsfiles.Take(query)
	config = Config{Table: store.Take(query, "table"), where: u.Host + u.Path}
	d, dsnErr := mysql.ParseDSN("/?" + query.Encode())
	if err = errors.Join(err, tlsErr, dsnErr); err != nil {
		return nil, config, nil, fmt.Errorf("URL: %w", err)
	}
	for name := range d.Params { // the driver takes what it does not know for variables of the server
		return nil, config, nil, fmt.Errorf("URL: unknown parameter %q: want space, recovery, table, ca, cert, key, or one that the driver knows", name)
	}
	d.User, d.DBName, d.Addr = u.User.Username(), u.Path[1:], net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.Passwd, _ = u.User.Password()
	d.MultiStatements, d.InterpolateParams, d.RejectReadOnly, d.Logger = true, true, false, &mysql.NopLogger{}
	d.Params, d.TLS, d.Timeout = map[string]string{"autocommit": "1", "time_zone": "'+00:00'"}, encrypted, cmp.Or(d.Timeout, 10*time.Second)
	return d, config, options, nil
}
