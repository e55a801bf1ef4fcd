//go:build !windows

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// place makes a directory with the light program, and with others as randflake-servers: programs, or scripts.
func place(t *testing.T, servers string) (light string) {
	t.Helper()
	dir := t.TempDir()
	light = filepath.Join(dir, "randflake")
	content, err := os.ReadFile(program())
	check(t, err)
	if err := os.WriteFile(light, content, 0o755); err != nil {
		t.Fatal(err)
	}
	switch full := filepath.Join(dir, "randflake-servers"); {
	case servers == "":
	case strings.HasPrefix(servers, "#!"):
		err = os.WriteFile(full, []byte(servers), 0o755)
	default:
		err = os.Symlink(servers, full)
	}
	check(t, err)
	return light
}

// command returns a call that takes the full program, or another one.
func command(t *testing.T, light string, args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer) {
	if args == nil {
		args = []string{"lease", "ddl"}
	}
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	cmd = exec.CommandContext(t.Context(), light, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH=/nonesuch")
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// TestHandover has what the full program gets from the light one, and what that passes on.
func TestHandover(t *testing.T) {
	light := place(t, "#!/bin/sh\necho \"$*, $RANDFLAKE_SECRET, $(/bin/cat)\"\necho problem >&2\nexit 7\n")
	cmd, out, errs := command(t, light, "lease", "init", "--store", "redis://h", "--max-ttl", "1m")
	cmd.Env = append(cmd.Env, "RANDFLAKE_SECRET=s")
	cmd.Stdin = strings.NewReader("input")
	cmd.Run()
	if out.String() != "lease init --store redis://h --max-ttl 1m, s, input\n" || errs.String() != "problem\n" || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %q, %v", out, errs, cmd.ProcessState)
	}
	cmd, _, _ = command(t, place(t, "#!/bin/sh\nkill -TERM $$\n"))
	var failure *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &failure) || failure.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v, want that the signal is the caller's", err)
	}
}

// TestHandoverInPath has the full program in PATH, and the light one called by a symbolic link.
func TestHandoverInPath(t *testing.T) {
	cmd, out, errs := command(t, place(t, ""))
	cmd.Env = append(cmd.Env, "PATH="+programs)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "CREATE TABLE") {
		t.Errorf("%v: %s", err, errs)
	}
	link := filepath.Join(t.TempDir(), "rf")
	if err := os.Symlink(program(), link); err != nil {
		t.Fatal(err)
	}
	cmd, out, errs = command(t, link)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "CREATE TABLE") {
		t.Errorf("%v: %s", err, errs)
	}
}

// TestNoHandover has programs that can't go on for the light one.
func TestNoHandover(t *testing.T) {
	for _, c := range []struct{ servers, want string }{
		{"", "go install github.com/randflake/randflake/cmd/randflake/...@latest"},
		{program(), "is the program without"}, // and would start itself for ever
		{"#!/nonesuch\n", "start "},
	} {
		cmd, out, errs := command(t, place(t, c.servers))
		cmd.Run()
		if cmd.ProcessState.ExitCode() != 1 || out.Len() > 0 || !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%q: %q, %q, %v: want %q", c.servers, out, errs, cmd.ProcessState, c.want)
		}
	}
}
