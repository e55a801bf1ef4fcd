package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/randflake/randflake/lease/url"
)

// print writes text to standard output.
func (t *tool) print(format string, args ...any) error {
	_, err := fmt.Fprintf(t.stdout, format, args...)
	return outputError(err)
}

// outputError wraps an error of standard output.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	// What Windows returns are ERROR_BROKEN_PIPE and ERROR_NO_DATA.
	windows := runtime.GOOS == "windows" && (errors.Is(err, syscall.Errno(109)) || errors.Is(err, syscall.Errno(232)))
	if errors.Is(err, syscall.EPIPE) || windows {
		err = errUnread
	}
	return fmt.Errorf("standard output: %w", err)
}

// errUnread means that the reader of the output closed the pipe, which is no failure. It is an
// error of its own because a broken connection to a server returns the same error as a closed pipe,
// and is a failure.
var errUnread = errors.New("nobody reads any more")

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wasClosed reports whether a stream was closed when the program began. Go then has the null device
// in its place, which can be read, too.
func wasClosed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	is, _ := f.Stat()
	null, _ := os.Stat(os.DevNull)
	if !os.SameFile(is, null) {
		return false
	}
	_, err := f.Read(make([]byte, 1))
	return err == io.EOF
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

// note writes err to standard error, in one line.
func (t *tool) note(err error) { fmt.Fprintf(t.stderr, "randflake: %s\n", t.inLine(err.Error())) }

// inLine returns the text of an error, in one line and without the passwords of URLs, which can be
// anywhere in a wrong command line.
func (t *tool) inLine(text string) string {
	named, _ := url.FromEnvironment()
	for _, arg := range append(slices.Clip(t.args), named, os.Getenv(storeVariable), os.Getenv(storeFileVariable)) {
		// In a word of the command line a password can have white space and quotes, which end one
		// in a text.
		if safe := (url.Location{URL: arg}).String(); arg != "" && safe != arg {
			quoted := strconv.Quote(arg)
			text = strings.NewReplacer(quoted[1:len(quoted)-1], safe, arg, safe).Replace(text)
		}
	}
	text = strings.TrimPrefix(url.Redact(text), "randflake: ")
	text = strings.ReplaceAll(text, ": randflake: ", ": ")
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(text)
}
