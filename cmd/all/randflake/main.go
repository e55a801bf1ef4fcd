// Command randflake is the command of the same name in the root module, with lease stores in etcd,
// Redis, PostgreSQL and MariaDB beside those in directories, and with ULIDs:
//
//	randflake lease init -new-secret -secret-file secret -store redis://host:6379
//	randflake new -n 5 -secret-file secret -store redis://host:6379
//	randflake new -kind ulid -n 5
//
// It is a module of its own, as clients of servers are many times the size of all the rest.
package main

import (
	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/cli"
)

func main() {
	logging.Disable() // what fails is said once, and by the program itself
	cli.Main(cli.Extras{Engines: allEngines(), Kinds: []cli.Kind{ulids()}})
}
