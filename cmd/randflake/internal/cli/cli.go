// Package cli is the command-line program. Its parts:
//
//   - cli.go runs the command of the tree in root.go that the arguments name. help.txt is the manual. What commands have
//     in common is in flags.go, output.go and signal.go.
//   - home.go finds the space, and secretsource.go the secret, that flags and environment name. The commands store,
//     counter and next work on a space.
//   - IDs are made as new.go says, under leases that leased.go takes, and written by mint.go in one of formats.go.
//   - IDs that there are come from operands or lines (filter.go) in the forms in which people paste them (parser.go,
//     paste.go). Then convert.go writes them in another form, inspect.go shows what they can be (reading.go, guess.go),
//     and audit.go what all of a table are (decoding.go, tally.go). mask.go hides sortable ones.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
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
func isDecimal(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
