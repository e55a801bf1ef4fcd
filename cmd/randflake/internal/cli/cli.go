// Package cli is the command-line program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	"golang.org/x/term"

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

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wasClosed reports whether a stream was closed when the program began. Go then has the null device in its place, which can be read, too.
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

// errUnread means that the reader of the output closed the pipe, which is no failure. It is an error of its own because
// a broken connection to a server returns the same error as a closed pipe, and is a failure.
var errUnread = errors.New("nobody reads any more")

// note writes err to standard error, in one line.
func (t *tool) note(err error) { fmt.Fprintf(t.stderr, "randflake: %s\n", t.inLine(err.Error())) }

// inLine returns the text of an error, in one line and without the passwords of URLs, which can be anywhere in a wrong
// command line.
func (t *tool) inLine(text string) string {
	named, _ := url.FromEnvironment()
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

// stopped is the cause of a context that ended because a signal told the process to stop.
type stopped struct{ os.Signal }

func (s stopped) Error() string { return s.String() + " signal received" }

// unlessStopped runs work, ends its context at the first signal to stop, and notes the signal, so that the process ends by
// that signal. The second one ends the process at once.
func (t *tool) unlessStopped(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s})
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	err := work(ctx)
	if signal := (stopped{}); errors.As(context.Cause(ctx), &signal) {
		t.stoppedBy = signal.Signal
	}
	return err
}

// dieBy ends the process by the signal that stopped it, if the system can: a loop in a shell continues after ^C unless the
// command was killed by the signal.
func dieBy(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // it may reach another thread first
	}
}
