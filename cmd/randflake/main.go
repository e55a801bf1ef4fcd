// Command randflake mints unique 64-bit IDs that look random, opens them again, and looks after the
// secrets and leases behind them.
//
//	randflake new        mint IDs
//	randflake inspect    show what IDs hold
//	randflake secret     make a secret
//	randflake lease      list, acquire and release leases, look after stores
//	randflake version    say what this is and what it runs on
//	randflake help       explain the commands
//
// Each command explains itself when called with -h. The exit status is 0, or 1 when something
// failed, or 2 when the command line was wrong.
//
// It knows lease stores in directories. The program of the module cmd/all is the same with all stores.
package main

import "github.com/randflake/randflake/internal/cli"

func main() { cli.Main() }
