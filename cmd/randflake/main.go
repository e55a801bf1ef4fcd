// Command randflake mints unique IDs, 64 bits that look random or others that sort by time, opens them
// again, and looks after the secrets and leases behind them.
//
//	randflake new        mint IDs
//	randflake inspect    show what IDs hold
//	randflake mask       encrypt sortable IDs, to show them outside
//	randflake unmask     decrypt what mask encrypted
//	randflake secret     make a secret
//	randflake lease      list, acquire and release leases, look after stores
//	randflake version    say what this is and what it runs on
//	randflake help       explain the commands
//
// Each command explains itself when called with -h. The exit status is 0, or 1 when something
// failed, or 2 when the command line was wrong.
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
