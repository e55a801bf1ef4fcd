// Command randflaked leases nodes, makes IDs and gives numbers of counters over the network, in every language.
//
//	randflaked --dev                 on this machine, with a space "demo" in a directory
//	randflaked --config FILE         as the file says
//	randflaked check --config FILE   says what is wrong with it, and with the files and stores that it names
//	randflaked ready URL             asks whether a service is ready, or waits until it is
//	randflaked token                 makes a bearer token and its hash
//	randflaked version               which version this is
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/lease/url"
)

func main() {
	logging.Disable() // what fails is said once, and by the program itself
	problems := &brief{Writer: os.Stderr}
	if err := run(os.Args[1:], os.Stdout, problems); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(problems, "randflaked:", url.Redact(err.Error())) // a URL may be anywhere in what is wrong
		os.Exit(1)
	}
}

// run runs the subcommand that the arguments name.
func run(args []string, out, problems io.Writer) error {
	commands := map[string]func(args []string, out, problems io.Writer) error{
		"check": check, "ready": ready, "token": token, "version": version}
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(args[1:], out, problems)
		}
	}
	return serve(args, problems)
}

// parse is set.Parse for a command that takes no arguments but flags.
func parse(set *flag.FlagSet, args []string) error {
	err := set.Parse(args)
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return err
}

// flags returns the flag set of a command.
func flags(usage string, problems io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet("randflaked", flag.ContinueOnError)
	set.SetOutput(problems)
	set.Usage = func() {
		fmt.Fprintln(problems, "usage: randflaked "+usage)
		set.PrintDefaults()
	}
	return set
}
