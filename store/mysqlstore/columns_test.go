//go:build linux

package mysqlstore

import (
	"database/sql"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/internal/columntest"
)

// IDs in columns of a database of this kind, whoever keeps the leases. With parameters that the driver puts
// into the statement itself, the server answers in text.
func TestColumnsOfIDs(t *testing.T) {
	address, err := url.Parse(sharedServer(t).URL())
	must(t, err)
	for protocol, interpolate := range map[string]bool{"text": true, "binary": false} {
		t.Run(protocol, func(t *testing.T) {
			config := mysql.NewConfig()
			config.Net, config.Addr, config.DBName = "tcp", address.Host, address.Path[1:]
			config.User = address.User.Username()
			config.Passwd, _ = address.User.Password()
			config.InterpolateParams = interpolate
			connector, err := mysql.NewConnector(config)
			must(t, err)
			db := sql.OpenDB(connector)
			defer db.Close()
			columntest.Run(t, columntest.Database{
				DB: db, Table: "ids_" + protocol, Unsigned: "BIGINT UNSIGNED", Insert: "(?, ?, ?)", Equal: "= ?",
				Write: func(value uint64) any { return value },
			})
		})
	}
}
