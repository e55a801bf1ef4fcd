// Command randflake mints unique IDs, 64 bits that look random or others that sort by time, opens them
// again, and looks after the secrets and leases behind them.
//
//	randflake --help
//
// It is light, as what it needs most often is a directory. For a store on a server it starts the program randflake-servers,
// with the same arguments, files and environment: the same command, with the clients of all servers. One line installs both:
//
//	go install github.com/randflake/randflake/cmd/randflake/...@latest
package main

import "github.com/randflake/randflake/cmd/randflake/internal/cli"

func main() { cli.Main(nil) }
