// Package cli is the command-line program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/store"
)

// Main runs the program and exits. Without servers it is the light one, which starts the other where it needs them.
func Main(servers *Servers) {
	// A write to a closed pipe is an error like others, and not the end: there is a lease to release.
	signal.Ignore(syscall.SIGPIPE)
	t := &tool{servers: servers, handOver: handOver, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if err := checkHandover(servers != nil, version()); err != nil {
		t.note(err)
		os.Exit(exitFailed)
	}
	code := t.run(context.Background(), os.Args[1:])
	if t.stoppedBy != nil {
		dieBy(t.stoppedBy)
	}
	os.Exit(code)
}

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// A tool is one call of the program.
type tool struct {
	servers        *Servers     // nil in the light program
	handOver       func() error // to the full program; it returns only if that fails
	stdin          io.Reader
	stdout, stderr io.Writer
	stoppedBy      os.Signal // or nil
}

// run runs the command that args name and returns the exit status.
func (t *tool) run(ctx context.Context, args []string) int {
	root := t.root()
	root.SetArgs(withNegatives(args))
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, errUnread) {
		return exitOK
	}
	if err != errReported {
		t.note(err)
	}
	if usage := usageError(""); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// withNegatives makes operands of negative numbers, which are IDs. Flags begin with a minus sign and nothing before it,
// and white space around an operand means nothing.
func withNegatives(args []string) []string {
	marked := make([]string, len(args))
	for i, arg := range args {
		if marked[i] = arg; len(arg) > 1 && arg[0] == '-' && isDecimal(arg[1:]) {
			marked[i] = " " + arg
		}
	}
	return marked
}

// isDecimal reports whether text is decimal digits and nothing else.
func isDecimal(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
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
	return fmt.Errorf("standard output: %w", err)
}

// errUnread says that who reads the output has had enough, which is no failure. The connection to a
// server can break with the same error as a pipe does, and that is one.
var errUnread = errors.New("nobody reads any more")

// note writes err to standard error, in one line and without the passwords of URLs, which can be
// anywhere on a command line that is wrong.
func (t *tool) note(err error) {
	text := strings.TrimPrefix(store.Redact(err.Error()), "randflake: ")
	text = strings.ReplaceAll(text, ": randflake: ", ": ")
	text = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text)
	fmt.Fprintf(t.stderr, "randflake: %s\n", text)
}

// A usageError says that the command line is wrong, and what would be right.
type usageError string

func (e usageError) Error() string { return string(e) }

// wrong returns a usage error of a command.
func wrong(cmd *cobra.Command, format string, args ...any) error {
	_, name, _ := strings.Cut(cmd.CommandPath()+": ", " ")
	return usageError(fmt.Sprintf("%s%s: see %s --help", name, fmt.Sprintf(format, args...), cmd.CommandPath()))
}

// errReported says that something failed which standard error tells of already.
var errReported = errors.New("reported")
