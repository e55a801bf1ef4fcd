package mysqlstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/store"
)

// A Config says where in a database the entries are, and what the user knows of it.
type Config struct {
	Table       string // "randflake_entries" if empty
	AtomicPages bool   // the storage never leaves a page half written, so innodb_doublewrite may be off
	where       string // for messages
}

// Open opens the store at url, as [store.Open] does.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Store, error) {
	return with(ctx, url, options, store.Open)
}

// Create makes a new store at url and opens it, as [store.Create] does.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Store, error) {
	return with(ctx, url, options, store.Create)
}

func with(ctx context.Context, url string, options []store.Option, begin func(context.Context, store.Engine, ...store.Option) (*store.Store, error)) (*store.Store, error) {
	e, fromURL, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, e, append(fromURL, options...)...)
	if err != nil {
		e.Close()
	}
	return s, err
}

// connect makes an Engine with connections of its own.
func connect(ctx context.Context, url string) (*Engine, []store.Option, error) {
	d, config, options, err := parseURL(url)
	var connector driver.Connector
	if err == nil {
		connector, err = mysql.NewConnector(d)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("mysqlstore: URL: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	db.SetConnMaxIdleTime(time.Minute)
	e, err := New(ctx, db, config)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	e.ownsDB = true
	return e, options, nil
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// New returns an Engine on db, for [store.Open] and [store.Create]. Its Close leaves db open. Connections must have
// multiStatements=true and interpolateParams=true, as the driver calls them, and all the same time_zone.
func New(ctx context.Context, db *sql.DB, config Config) (*Engine, error) {
	config.Table = cmp.Or(config.Table, "randflake_entries")
	if db == nil || !tableName.MatchString(config.Table) {
		return nil, fmt.Errorf("mysqlstore: table %q: want up to 64 letters, digits and _, not a digit first, and a database", config.Table)
	}
	e := &Engine{db: db, config: config}
	isMariaDB, where, err := e.examine(ctx)
	if err != nil {
		return nil, e.explain(ctx, "open", err)
	}
	e.report, e.config.where = reportSQL(isMariaDB), cmp.Or(config.where, where)
	return e, nil
}

var errURL = errors.New("want mysql://USER:PASSWORD@HOST:3306/DATABASE?table=randflake_entries, with special characters encoded as URLs have them")

// parseURL fails with errors that show nothing of a URL but its parameters.
func parseURL(text string) (d *mysql.Config, config Config, options []store.Option, err error) {
	if err = store.CheckURL(text); err != nil {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || len(u.Path) < 2 {
		return d, config, options, errURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return d, config, options, errURL
	}
	if options, err = store.TakeOptions(query); err != nil {
		return
	}
	ca, pages := query.Get("ca"), query.Get("pages")
	config = Config{query.Get("table"), pages == "atomic", u.Host + u.Path}
	query.Del("ca")
	query.Del("pages")
	query.Del("table")
	if d, err = mysql.ParseDSN("/?" + query.Encode()); err != nil {
		return
	}
	for name := range d.Params { // the driver takes what it does not know for variables of the server
		return d, config, options, fmt.Errorf("unknown parameter %q: want space, recovery, table, ca, pages, or one that the driver knows", name)
	}
	if pages != "" && !config.AtomicPages {
		return d, config, options, fmt.Errorf("pages=%s: want pages=atomic, or nothing", pages)
	}
	d.User, d.DBName, d.Net, d.Addr = u.User.Username(), u.Path[1:], "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.Passwd, _ = u.User.Password()
	d.MultiStatements, d.InterpolateParams, d.RejectReadOnly, d.Logger = true, true, false, &mysql.NopLogger{}
	d.Params = map[string]string{"autocommit": "1", "time_zone": "'+00:00'"}
	d.Timeout = cmp.Or(d.Timeout, 10*time.Second)
	if ca != "" {
		var content []byte
		content, err = os.ReadFile(ca)
		d.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: u.Hostname()}
		if err == nil && !d.TLS.RootCAs.AppendCertsFromPEM(content) {
			err = fmt.Errorf("ca=%s: want a file of certificates", ca)
		}
	}
	return
}
