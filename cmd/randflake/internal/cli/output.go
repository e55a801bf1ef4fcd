package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/internal/stdout"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) print(format string, args ...any) error {
	_, err := fmt.Fprintf(t.stdout, format, args...)
	return outputError(err)
}

// outputError wraps an error of standard output. It returns nil for nil.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	if isBrokenPipe(err) {
		err = errUnread
	}
	return fmt.Errorf("standard output: %w", err)
}

// isBrokenPipe reports whether err says that the other end of a pipe was closed.
func isBrokenPipe(err error) bool {
	const brokenPipe, noData = syscall.Errno(109), syscall.Errno(232) // of Windows
	switch {
	case errors.Is(err, syscall.EPIPE):
		return true
	case runtime.GOOS == "windows":
		return errors.Is(err, brokenPipe) || errors.Is(err, noData)
	}
	return false
}

// errUnread means that the reader of the output closed the pipe, which is no failure. It is an error of its own
// because a broken connection to a server returns the same error as a closed pipe, and is a failure.
var errUnread = errors.New("the reader has closed the output")

// isTerminal reports whether a stream is a terminal, where a person types or reads.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantOutput returns an error if standard output was closed: what is printed then, and is kept
// nowhere else, would be lost.
func (t *tool) wantOutput() error {
	if stdout.WasClosed(t.stdout) {
		return outputError(os.ErrClosed)
	}
	return nil
}

// A usageError says what is wrong with the command line, and what would be right.
type usageError string

func (e usageError) Error() string { return string(e) }

// wrong returns a usage error of a command.
func wrong(cmd *cobra.Command, format string, args ...any) error {
	_, name, _ := strings.Cut(cmd.CommandPath()+": ", " ")
	text := fmt.Sprintf(format, args...)
	return usageError(fmt.Sprintf("%s%s: see %s --help", name, text, cmd.CommandPath()))
}

// asUsage returns err, as a usage error of a command if package lease calls it invalid.
func asUsage(cmd *cobra.Command, err error) error {
	if errors.Is(err, lease.ErrInvalid) {
		return wrong(cmd, "%v", err)
	}
	return err
}

// errReported means that something failed, and that the error is already on standard error.
var errReported = errors.New("reported")

// errNo means that nothing failed, and that the answer, which is already printed, is no.
var errNo = errors.New("no")

// A finding is what is wrong with an ID or a space, where nothing failed. It is an errNo.
type finding string

func (f finding) Error() string   { return string(f) }
func (f finding) Is(e error) bool { return e == errNo }

// note writes a text, as that of an error, to standard error.
func (t *tool) note(text string) { fmt.Fprintf(t.stderr, "randflake: %s\n", t.inLine(text)) }

// inLine returns a text in one line and without the passwords of URLs, which can be anywhere in a wrong command line.
func (t *tool) inLine(text string) string {
	named, _ := url.FromEnvironment()
	words := append(slices.Clip(t.args), named, os.Getenv(storeVariable), os.Getenv(storeFileVariable))
	text = strings.TrimPrefix(redact.Passwords(text, words...), "randflake: ")
	text = strings.ReplaceAll(text, ": randflake: ", ": ")
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text)
}
