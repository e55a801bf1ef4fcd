// Package cli is the command-line program.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

// Main runs the program and exits.
func Main() {
	// A write to a closed pipe is an error like others, and not the end: there is a lease to release.
	signal.Ignore(pipeSignals...)
	t := &tool{servers(), os.Stdin, os.Stdout, os.Stderr}
	os.Exit(t.run(context.Background(), os.Args[1:]))
}

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// A tool is one call of the program.
type tool struct {
	engines        []Engine // beside directories
	stdin          io.Reader
	stdout, stderr io.Writer
}

// A command is run with the arguments after its name.
type command struct {
	name, summary string
	run           func(t *tool, ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"new", "mint IDs", (*tool).runNew},
		{"inspect", "show what IDs hold", (*tool).runInspect},
		{"mask", "encrypt sortable IDs, to show them outside", (*tool).runMask},
		{"unmask", "decrypt what mask encrypted", (*tool).runUnmask},
		{"secret", "make a secret", (*tool).runSecret},
		{"lease", "list, acquire and release leases, look after stores", (*tool).runLease},
		{"version", "say what this is and what it runs on", (*tool).runVersion},
		{"help", "explain the commands", (*tool).runHelp},
	}
}

// run runs the command that args name and returns the exit status.
func (t *tool) run(ctx context.Context, args []string) int {
	err := t.dispatch(ctx, "randflake", commands(), args)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUnread):
		return exitOK
	case err == errReported:
		return exitFailed
	case errors.As(err, &usage):
		t.note(err)
		return exitUsage
	default:
		t.note(err)
		return exitFailed
	}
}

// dispatch runs one of commands, of the program or of a command that has commands of its own.
func (t *tool) dispatch(ctx context.Context, of string, commands []command, args []string) error {
	if len(args) == 0 {
		return usageError("no command: see " + of + " -h")
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(t, ctx, args[1:])
		}
	}
	switch args[0] {
	case "-h", "-help", "--help":
		return t.print(overview(of, commands))
	}
	return usageError(fmt.Sprintf("unknown command %q: see %s -h", args[0], of))
}

// overview lists commands.
func overview(of string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [FLAG]...\n\n", of)
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(&b, "\n%s COMMAND -h explains a command. The exit status is 0, or 1 when\n", of)
	b.WriteString("something failed, or 2 when the command line was wrong.\n")
	return b.String()
}

func (t *tool) runHelp(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return t.print(overview("randflake", commands()))
	}
	if args[0] == "help" {
		args = nil // which explains help well enough
	}
	return t.dispatch(ctx, "randflake", commands(), append(args, "-h"))
}

// print writes text to standard output.
func (t *tool) print(text string) error {
	_, err := io.WriteString(t.stdout, text)
	return outputError(err)
}

// outputError says that it was standard output that failed.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	if isClosedPipe(err) {
		err = errUnread
	}
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("standard output: %w", err)
}

// errUnread says that who reads the output has had enough, which is no failure. The connection to a
// server can break with the same error as a pipe does, and that is one.
var errUnread = errors.New("nobody reads any more")

// note writes err to standard error, in one line and without the passwords of URLs, which can be
// anywhere on a command line that is wrong.
func (t *tool) note(err error) {
	text := strings.TrimPrefix(redact(err.Error()), "randflake: ")
	text = strings.ReplaceAll(text, ": randflake: ", ": ")
	text = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text)
	fmt.Fprintf(t.stderr, "randflake: %s\n", text)
}

// A usageError says that the command line is wrong, and what would be right.
type usageError string

func (e usageError) Error() string { return string(e) }

// errReported says that something failed which standard error tells of already.
var errReported = errors.New("reported")
