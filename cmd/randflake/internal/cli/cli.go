// Package cli is the command-line program. Its parts:
//
//   - cli.go runs the command of the tree in root.go that the arguments name. help.txt is the
//     manual, which help.go gives to the commands. What commands have in common is in flags.go,
//     kinds.go, output.go and signal.go.
//   - A store and a secret: home.go finds those that flags and environment name, with
//     secretsource.go. The commands of secret.go make secrets. Those of store.go, store_init.go,
//     store_info.go, move.go and retire.go make, show, move and end spaces. counter.go and next.go
//     are about the counters of a space.
//   - Making IDs: new.go is the command, leased.go takes the leases, and mint.go writes the IDs in
//     one of the formats of formats.go and bases.go.
//   - Reading IDs: filter.go takes them from operands or lines. around.go drops what people write
//     around them, paste.go finds the form of each and reads it, with wide.go and digits.go, and
//     parser.go remembers what the IDs of a batch are.
//   - Using what was read: convert.go writes IDs in another form. inspect.go shows the fields of
//     each (reading.go, uuid.go), as all kinds that it can be (guess.go). audit.go shows what all
//     IDs of a table tell (decoding.go, tally.go).
//   - mask.go encrypts sortable IDs, range.go prints the first and last ID of a time, and sql.go
//     the functions of package dialect.
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

// withNegatives turns negative numbers, which are IDs and not flags, into operands: it adds a space
// before the minus sign, as white space around an operand is ignored. A number after a flag stays
// as it is: it is the value of the flag.
func withNegatives(args []string) []string {
	marked := make([]string, len(args))
	before := ""
	for i, arg := range args {
		isNegative := strings.HasPrefix(arg, "-") && isDecimal(arg[1:])
		if isNegative && !takesValue(before) {
			arg = " " + arg
		}
		marked[i] = arg
		before = arg
	}
	return marked
}

// takesValue reports whether arg can be a flag whose value is the next argument.
func takesValue(arg string) bool {
	hasValue := strings.Contains(arg, "=")
	hasNone := arg == "--json" || arg == "--"
	return strings.HasPrefix(arg, "-") && !hasValue && !hasNone
}
