package leaktest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const dumping = "RANDFLAKE_TEST_DUMP"

// Dumping reports whether this process is one that Dump started.
func Dumping() bool { return os.Getenv(dumping) != "" }

// Ready is called in a process that Dump started, when it is time for SIGQUIT: in a moment, when the caller waits. Where it
// runs code of the race detector, a dump does not show its stack.
func Ready() { time.AfterFunc(200*time.Millisecond, func() { fmt.Println("\nready") }) }

// Dump runs the test that calls it once more in a process of its own, with GOTRACEBACK as given, and returns what that one
// prints when it dies: by itself, or by SIGQUIT once it is Ready.
func Dump(t *testing.T, traceback string) string {
	t.Helper()
	// The timer of the time limit also keeps the runtime from ending a process in which everything waits as a deadlock.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=5m", "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$")
	cmd.Env = append(os.Environ(), dumping+"=1", "GOTRACEBACK="+traceback)
	return Die(t, cmd, "ready\n")
}

// Die starts a process, sends it SIGQUIT once it has printed the line, and returns what it prints to standard error
// and, if it does not get as far as the line, to standard output.
func Die(t *testing.T, cmd *exec.Cmd, line string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGQUIT here")
	}
	var printed bytes.Buffer
	cmd.Stderr = &printed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the processor is emulated for this process alone")
	} else if err != nil {
		t.Fatal(err)
	}
	var before strings.Builder
	for lines := bufio.NewReader(out); ; {
		text, err := lines.ReadString('\n')
		if err == nil && strings.HasSuffix(text, line) {
			cmd.Process.Signal(syscall.SIGQUIT)
			io.Copy(io.Discard, lines)
			break
		}
		before.WriteString(text)
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("the process did not die; it printed %s%s", &before, &printed)
	}
	return before.String() + printed.String()
}
