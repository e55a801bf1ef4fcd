// Package cli is the command-line program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/lease/url"
)

// Main runs the program and exits.
func Main() {
	logging.Disable()              // what fails is said once, and by the program itself
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe is an error, which says how much was written
	t := &tool{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
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
	stdin          io.Reader
	stdout, stderr io.Writer
	stoppedBy      os.Signal // or nil
	args           []string  // of the command line
}

// run runs the command that args name and returns the exit status.
func (t *tool) run(ctx context.Context, args []string) int {
	t.args = args
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

// withNegatives turns negative numbers, which are IDs, into operands, by adding a space before the minus sign: flags
// begin with a minus sign, and white space around an operand is ignored. A number after a flag is the value of the flag.
func withNegatives(args []string) []string {
	marked := make([]string, len(args))
	before := ""
	for i, arg := range args {
		isValue := strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && before != "--json" && before != "--"
		if len(arg) > 1 && arg[0] == '-' && isDecimal(arg[1:]) && !isValue {
			arg = " " + arg
		}
		marked[i], before = arg, arg
	}
	return marked
}

// isDecimal reports whether text is decimal digits and nothing else.
func isDecimal(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// print writes text to standard output.
func (t *tool) print(text string) error {
	_, err := io.WriteString(t.stdout, text)
	return outputError(err)
}

// outputError wraps an error of standard output.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	if isClosedPipe(err) {
		err = errUnread
	}
	return fmt.Errorf("standard output: %w", err)
}

// errUnread means that the reader of the output closed the pipe, which is no failure. It is an error of its own because
// a broken connection to a server returns the same error as a closed pipe, and is a failure.
var errUnread = errors.New("nobody reads any more")

// note writes err to standard error, in one line.
func (t *tool) note(err error) { fmt.Fprintf(t.stderr, "randflake: %s\n", t.inLine(err)) }

// inLine returns the text of err, in one line and without the passwords of URLs, which can be anywhere in a wrong command
// line.
func (t *tool) inLine(err error) string {
	text := err.Error()
	named, _ := storeInEnvironment()
	for _, arg := range append(slices.Clip(t.args), named, os.Getenv(storeVariable), os.Getenv(storeFileVariable)) {
		// In a word of the command line a password can have white space and quotes, which end one in a text.
		if safe := (url.Location{URL: arg}).String(); arg != "" && safe != arg {
			quoted := strconv.Quote(arg)
			text = strings.NewReplacer(quoted[1:len(quoted)-1], safe, arg, safe).Replace(text)
		}
	}
	text = strings.TrimPrefix(url.Redact(text), "randflake: ")
	text = strings.ReplaceAll(text, ": randflake: ", ": ")
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text)
}

// A usageError says what is wrong with the command line, and what would be right.
type usageError string

func (e usageError) Error() string { return string(e) }

// wrong returns a usage error of a command.
func wrong(cmd *cobra.Command, format string, args ...any) error {
	_, name, _ := strings.Cut(cmd.CommandPath()+": ", " ")
	return usageError(fmt.Sprintf("%s%s: see %s --help", name, fmt.Sprintf(format, args...), cmd.CommandPath()))
}

// errReported means that something failed, and that the error is already on standard error.
var errReported = errors.New("reported")
