package main

import (
	"context"

	"github.com/randflake/randflake/internal/cli"
	"github.com/randflake/randflake/lease/etcdstore"
	"github.com/randflake/randflake/lease/pgstore"
	"github.com/randflake/randflake/lease/redisstore"
)

// allEngines returns all that leases can be kept in, beside directories.
func allEngines() []cli.Engine {
	postgres := engine(pgstore.Open, pgstore.Create, "postgres", "postgresql")
	postgres.DDL = ddl
	return []cli.Engine{
		engine(etcdstore.Open, etcdstore.Create, "etcd", "etcds"),
		engine(redisstore.Open, redisstore.Create, "redis", "rediss"),
		postgres,
	}
}

// An option is one of any of the stores, as all have the same type.
type option = etcdstore.Option

// engine makes an engine of a store's two functions.
func engine[S cli.Store](open, create func(context.Context, string, ...option) (S, error), schemes ...string) cli.Engine {
	return cli.Engine{
		Schemes: schemes,
		Open: func(ctx context.Context, url string) (cli.Store, error) {
			return open(ctx, url)
		},
		Create: func(ctx context.Context, url string, n cli.NewStore) (cli.Store, error) {
			options := []option{etcdstore.WithRules(n.Rules)}
			if n.NewSecret {
				options = append(options, etcdstore.ForNewSecret())
			}
			return create(ctx, url, options...)
		},
	}
}
