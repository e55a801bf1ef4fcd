// Command randflaked leases nodes, makes IDs and gives numbers of counters over the network, in
// every language.
//
//	randflaked --dev                 on this machine, with a space "demo" in a directory
//	randflaked --config FILE         as the file says
//	randflaked check --config FILE   says what is wrong with it, and with the files and stores that it names
//	randflaked ready URL             asks whether a service is ready, or waits until it is
//	randflaked token                 makes a bearer token and its hash
//	randflaked version               which version this is
//
// The exit status is 0, 1 if something failed, 2 if the command line was wrong, or 3 if nothing failed but the answer is
// no: the configuration is wrong, or the service is not ready.
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/internal/stdout"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/server"
	"github.com/randflake/randflake/service/internal/timed"
)

func main() {
	logging.Disable() // of go-redis: the program itself says once what failed
	stderr := &timed.File{File: os.Stderr}
	args := os.Args[1:]
	if err := run(args, os.Stdout, stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "randflaked:", redact.Passwords(err.Error(), args...)) // an error may quote a URL with a password
		switch {
		case errors.As(err, new(usageError)):
			os.Exit(2)
		case errors.As(err, new(noError)):
			os.Exit(3)
		}
		os.Exit(1)
	}
}

// A usageError says what is wrong with the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// A noError says why the answer of a command is no.
type noError struct{ error }

func (e noError) Unwrap() error { return e.error }

// run runs the command that the first argument names, or serves.
func run(args []string, out, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "check":
		return check(args[1:], out, stderr)
	case "ready":
		return ready(args[1:], stderr)
	case "token":
		return token(args[1:], out, stderr)
	case "version":
		return version(args[1:], out, stderr)
	}
	return serve(args, stderr)
}

// parse reads the flags of a command that takes at most so many operands.
func parse(set *flag.FlagSet, args []string, operands int) error {
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError(err.Error())
	case set.NArg() > operands:
		return usageError(fmt.Sprintf("unexpected argument %q", set.Arg(operands)))
	}
	return nil
}

// flags returns the flag set of a command.
func flags(usage string, stderr io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet("randflaked", flag.ContinueOnError)
	set.SetOutput(io.Discard) // main prints errors, without passwords
	set.Usage = func() {
		fmt.Fprintln(stderr, "usage: randflaked "+usage)
		set.SetOutput(stderr)
		set.PrintDefaults()
	}
	return set
}

// ready asks a service whether it is ready, once or until a timeout.
func ready(args []string, stderr io.Writer) error {
	set := flags("ready [--ca FILE] [--timeout DURATION] URL", stderr)
	ca := set.String("ca", "", "`FILE` of who signs the service's certificate (default the system's)")
	timeout := set.Duration("timeout", 0, "for this `DURATION` ask again, if the service is not ready (default once)")
	if err := parse(set, args, 1); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return usageError("ready: which service? want one URL, such as http://localhost:8080")
	}
	client, err := access.Client(*ca)
	if err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	client.Timeout = askTime
	service := set.Arg(0)
	end := time.Now().Add(*timeout)
	for {
		err := ask(client, service)
		if err == nil {
			return nil
		}
		if time.Until(end) < askPause {
			return noError{fmt.Errorf("ready: %w", err)}
		}
		time.Sleep(askPause)
	}
}

const (
	askTime  = 5 * time.Second // for an answer
	askPause = time.Second
)

// ask returns why a service is not ready, or nil.
func ask(client *http.Client, service string) error {
	answer, err := client.Get(strings.TrimSuffix(service, "/") + "/readyz")
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// version prints the version and the platform.
func version(args []string, out, stderr io.Writer) error {
	if err := parse(flags("version", stderr), args, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "randflaked %s %s %s/%s\n",
		server.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// token makes a token of 256 random bits. The configuration gets the hash; the principal gets the token.
func token(args []string, out, stderr io.Writer) error {
	if err := parse(flags("token", stderr), args, 0); err != nil {
		return err
	}
	if stdout.WasClosed(out) {
		return fmt.Errorf("standard output: %w", os.ErrClosed)
	}
	var bits [32]byte
	rand.Read(bits[:]) // never fails, by its contract
	text := hex.EncodeToString(bits[:])
	_, err := fmt.Fprintf(out, "token   %s\nsha256  %x\n", text, sha256.Sum256([]byte(text)))
	return err
}
