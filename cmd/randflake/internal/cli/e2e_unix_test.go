//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// forever is more IDs than a test waits for.
const forever = "1000000000000"

// wantReleased fails the test unless the store has one lease, which was given back.
func wantReleased(t *testing.T, dir string) {
	t.Helper()
	if all := views(t, dir); len(all) != 1 || all[0].State != "released" {
		t.Errorf("list: %+v, want one released lease", all)
	}
}

func exitCode(err error) int {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -2
	}
	return 0
}

func TestClosedPipe(t *testing.T) {
	dir := newHome(t)
	ids := succeed(t, "", "new", "--store", dir, "-n", "100000")
	for _, c := range []struct{ args, stdin string }{
		{"new -n " + forever, ""},
		{"new --kind snowflake -n " + forever, ""},
		{"next orders --create -n " + forever, ""},
		{"inspect --from text", ids},
	} {
		var errs bytes.Buffer
		cmd := process(t, "program", append(strings.Fields(c.args), "--store", dir)...)
		cmd.Stdin, cmd.Stderr = strings.NewReader(c.stdin), &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Error(err)
		}
		out.Close()
		code := exitCode(cmd.Wait())
		if code != 0 || errs.Len() > 0 {
			t.Errorf("%s: exit status %d, standard error %q, want 0 and none", c.args, code, &errs)
		}
	}
	for _, v := range views(t, dir) {
		if v.State != "released" {
			t.Errorf("%+v, want released", v)
		}
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	dir := newHome(t)
	id := strings.TrimSpace(succeed(t, "", "new", "--store", dir))
	for _, args := range []string{"new -n 100000 --store DIR", "lease acquire --store DIR", "lease list --store DIR",
		"next orders --create --store DIR", "counter list --store DIR", "counter create tickets --store DIR",
		"inspect --store DIR " + id, "secret", "version"} {
		var errs bytes.Buffer
		words := strings.Fields(strings.ReplaceAll(args, "DIR", dir))
		cmd := process(t, "program", words...)
		cmd.Stdout, cmd.Stderr = full, &errs
		code := exitCode(cmd.Run())
		wantFailure(t, result{code, "", errs.String()}, exitFailed, "standard output: ", "no space left on device")
	}
	for _, v := range views(t, dir) {
		if v.State != "released" {
			t.Errorf("%+v, want released", v)
		}
	}
}

// TestSignals stops the program while it writes, and while it waits for a reader that does not read.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name    string
		signal  os.Signal
		args    string
		reading bool
	}{
		{"interrupt", os.Interrupt, "new", true},
		{"terminate", syscall.SIGTERM, "new", true},
		{"hang up", syscall.SIGHUP, "new", true},
		{"interrupt while nobody reads", os.Interrupt, "new", false},
		{"interrupt of a fast layout", os.Interrupt, "new --layout twitter", true},
		{"interrupt of a slow layout", os.Interrupt, "new --layout sonyflake", true},
		{"interrupt of a counter", os.Interrupt, "next orders --create", true},
		{"interrupt of a counter while nobody reads", os.Interrupt, "next orders --create", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if signal.Ignored(c.signal) {
				t.Skipf("%v is ignored here, as under nohup, and so by the program", c.signal)
			}
			dir := newHome(t)
			var errs bytes.Buffer
			cmd := process(t, "program", append(strings.Fields(c.args), "--store", dir, "-n", forever)...)
			cmd.Stderr = &errs
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			var rest lastByte
			if c.reading {
				io.Copy(&rest, out)
			}
			cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != c.signal {
				t.Errorf("%v, want the end by the signal", cmd.ProcessState)
			}
			wantFailure(t, result{exitFailed, "", errs.String()}, exitFailed, "stopped after ", "of "+forever+" ")
			if c.reading && rest != '\n' {
				t.Errorf("output ends within a line")
			}
			if strings.HasPrefix(c.args, "new") {
				wantReleased(t, dir)
			}
		})
	}
}

// lastByte keeps the last byte that is written to it, of however many.
type lastByte byte

func (b *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		*b = lastByte(p[len(p)-1])
	}
	return len(p), nil
}
