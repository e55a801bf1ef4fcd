// Command randflake makes unique IDs, 64 bits that look random or others that sort by time, opens
// them again, and looks after the secrets, spaces and counters behind them.
//
//	randflake --help
package main

import "github.com/randflake/randflake/cmd/randflake/internal/cli"

func main() { cli.Main() }
