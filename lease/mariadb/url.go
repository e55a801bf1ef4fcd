package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/tlsfiles"
)

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	d, config, where, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("mariadb", err)
	}
	connector, err := mysql.NewConnector(d)
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	return &Engine{db: db, ownsDB: true, config: config, where: where}, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, _, err := parse(url)
	return storeurl.WrapError("mariadb", err)
}

// parse splits a URL into the driver's configuration, the engine's, and where the database is.
// Errors show nothing of a URL but its parameters.
func parse(text string) (d *mysql.Config, config Config, where string, err error) {
	u, query, err := storeurl.ParseURL(text)
	if err != nil {
		return nil, config, "", err
	}
	isURL := u.Scheme == "mysql" || u.Scheme == "mariadb"
	if !isURL || u.Hostname() == "" || len(u.Path) < 2 {
		return nil, config, "", errors.New("want mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	config.Table = storeurl.TakeParameter(query, "table")
	config.AtomicPages, err = storeurl.TakeWord(query, "pages", "atomic")
	if err != nil {
		return nil, config, "", err
	}
	config, err = config.complete()
	if err != nil {
		return nil, config, "", err
	}
	encrypted, err := tlsfiles.Take(query)
	if err != nil {
		return nil, config, "", err
	}
	d, err = mysql.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, config, "", err
	}
	for name := range d.Params { // the driver takes what it does not know for variables of the server
		want := "table, pages, ca, certificate, key, or one that the driver knows"
		return nil, config, "", storeurl.UnknownParameter(name, want)
	}
	d.User = u.User.Username()
	d.Passwd, _ = u.User.Password()
	d.Addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	d.DBName = u.Path[1:]
	d.TLS = encrypted
	d.Timeout = cmp.Or(d.Timeout, 10*time.Second)
	d.Params = map[string]string{"autocommit": "1", "time_zone": "'+00:00'"}
	d.MultiStatements = true
	d.InterpolateParams = true
	d.RejectReadOnly = false
	d.Logger = &mysql.NopLogger{}
	return d, config, "mysql://" + u.Host + u.Path, nil
}
