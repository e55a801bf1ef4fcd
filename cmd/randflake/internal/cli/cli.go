// Package cli is the command-line program. Most commands have a file of their name, or of their
// group's, and root.go has their tree. help.txt is the manual. What commands have in common:
//
//   - A store and a secret: home.go finds those that flags and environment name, with
//     secretsource.go, and open.go opens the space.
//   - Making IDs: new.go reads the flags, generators.go takes the leases, and mint.go writes the IDs
//     in one of the formats of formats.go and bases.go.
//   - Reading IDs: filter.go takes them from operands or lines. Of each text around.go drops what
//     people write around the ID, and paste.go finds out the form and decodes it, with wide.go and digits.go.
//   - Telling what an ID is: reading.go and uuid.go have the fields, guess.go the likeliest kind, and
//     printing.go the lines.
//   - The table of an analysis: rows.go finds the IDs, entries.go keeps them, interpretation.go chooses how to
//     read them, tally.go counts, rounding.go finds out whether a program rounded them, and report.go
//     writes what all that tells.
package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
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
	exitNo     = 3 // nothing failed, but the answer is no
)

// A tool is one call of the program.
type tool struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string  // of the command line
	stoppedBy      os.Signal // the one that unlessStopped has seen, or nil
}

// run runs the command that args name and returns the exit status.
func (t *tool) run(ctx context.Context, args []string) int {
	t.args = args
	root := t.root()
	root.SetArgs(withNegatives(root, args))
	var help bytes.Buffer // and completions: cobra drops the errors of writing them
	root.SetOut(&help)
	err := root.ExecuteContext(ctx)
	if err == nil && help.Len() > 0 {
		err = t.print("%s", &help)
	}
	if err == nil || errors.Is(err, errUnread) {
		return exitOK
	}
	if err != errReported && err != errNo {
		t.note(err.Error())
	}
	if _, isUsage := errors.AsType[usageError](err); isUsage {
		return exitUsage
	}
	if errors.Is(err, errNo) {
		return exitNo
	}
	return exitFailed
}

// withNegatives turns negative numbers, which are IDs and not flags, into operands: it adds a space before the minus
// sign, as white space around an operand is ignored. A number that is the value of a flag stays as it is.
func withNegatives(root *cobra.Command, args []string) []string {
	cmd, _, _ := root.Find(args) // a command in any case
	marked := slices.Clone(args)
	for i, arg := range args {
		isNegative := strings.HasPrefix(arg, "-") && isDecimal(arg[1:])
		isValue := i > 0 && takesValue(cmd, args[i-1])
		if isNegative && !isValue {
			marked[i] = " " + arg
		}
	}
	return marked
}

// takesValue reports whether arg is a flag whose value is the next argument.
func takesValue(cmd *cobra.Command, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	f := cmd.Flags().Lookup(name)
	if len(name) == 1 {
		f = cmd.Flags().ShorthandLookup(name)
	}
	isFlag := name != arg && f != nil
	return isFlag && f.NoOptDefVal == "" // otherwise it is a switch, such as --json
}
