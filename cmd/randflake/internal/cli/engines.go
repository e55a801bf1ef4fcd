package cli

import (
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/mysqlstore"
	"github.com/randflake/randflake/store/pgstore"
	"github.com/randflake/randflake/store/redisstore"
)

// servers are the engines that leases can be kept in, beside directories.
func servers() []Engine {
	return []Engine{
		{Schemes: []string{"etcd", "etcds"}, Open: etcdstore.Open, Create: etcdstore.Create},
		{Schemes: []string{"redis", "rediss"}, Open: redisstore.Open, Create: redisstore.Create},
		{Schemes: []string{"postgres", "postgresql"}, Open: pgstore.Open, Create: pgstore.Create, DDL: ddl},
		{Schemes: []string{"mysql"}, Open: mysqlstore.Open, Create: mysqlstore.Create},
	}
}

// ddl returns the statements that make schema, or else the one that a store's URL names.
func ddl(store, schema string) (text string, err error) {
	if store != "" {
		if schema, err = pgstore.SchemaOf(store); err != nil {
			return "", err
		}
	}
	return pgstore.DDL(schema)
}
