package main

import (
	"github.com/randflake/randflake/internal/cli"
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/mysqlstore"
	"github.com/randflake/randflake/store/pgstore"
	"github.com/randflake/randflake/store/redisstore"
)

// allEngines returns all that leases can be kept in, beside directories.
func allEngines() []cli.Engine {
	return []cli.Engine{
		{Schemes: []string{"etcd", "etcds"}, Open: etcdstore.Open, Create: etcdstore.Create},
		{Schemes: []string{"redis", "rediss"}, Open: redisstore.Open, Create: redisstore.Create},
		{Schemes: []string{"postgres", "postgresql"}, Open: pgstore.Open, Create: pgstore.Create, DDL: ddl},
		{Schemes: []string{"mysql"}, Open: mysqlstore.Open, Create: mysqlstore.Create},
	}
}
