// Command randflake mints unique IDs, 64 bits that look random or others that sort by time, opens them
// again, and looks after the secrets and leases behind them.
//
//	randflake --help
//
// It is a module of its own, with all kinds of IDs and the clients of all servers, which are many times the
// size of all the rest.
package main

import (
	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/cmd/randflake/internal/cli"
)

func main() {
	logging.Disable() // what fails is said once, and by the program itself
	cli.Main()
}
