//go:build unix

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
	"golang.org/x/sys/unix"
)

// A child is the test binary, run with one of these as childEnv, and a directory.
const childEnv = "FILESTORE_TEST_CHILD"

var children = map[string]func(dir string) error{
	"raise":   func(dir string) error { return raise(dir, 60) },
	"forever": func(dir string) error { return raise(dir, 1<<30) },
	"one":     func(dir string) error { return raise(dir, 1) },
	"create": func(dir string) error {
		syscall.Umask(0o077)
		_, err := Create(dir, store.ForNewSecret())
		return errors.Join(err, raise(dir, 3))
	},
	"small": small,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// raise raises a counter, and prints each number that was acknowledged.
func raise(dir string, times int) error {
	e, err := New(dir)
	if err != nil {
		return err
	}
	e.often = 5
	last := store.Entry{Name: "counter"}
	for done := 0; done < times; {
		n := 0
		fmt.Sscan(string(last.Value), &n)
		next := store.Entry{Name: "counter", Value: fmt.Append(nil, n+1)}
		answer, err := e.Swap(context.Background(), []store.Entry{last}, []store.Entry{next})
		switch {
		case err != nil:
			return err
		case answer.Swapped:
			fmt.Println(n + 1)
			last, done = next, done+1
		default:
			last = answer.Named[0]
		}
	}
	return nil
}

// small swaps under a limit that lets no file grow beyond 64 bytes.
func small(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	if err := raise(dir, 1); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), dir) {
		return fmt.Errorf("error %w, want EFBIG and the path", err)
	}
	return nil
}

func command(t *testing.T, child, dir string) (*exec.Cmd, *strings.Builder) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	if errors.Is(exec.Command(exe, "-test.list=^$").Run(), syscall.ENOEXEC) {
		t.Skip("the processor is emulated for this process alone")
	}
	cmd, out := exec.CommandContext(t.Context(), exe, dir), new(strings.Builder)
	cmd.Env = append(os.Environ(), childEnv+"="+child)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// gather counts the numbers in outputs, each of which may be there once, up to the counter in dir.
func gather(t *testing.T, dir string, outputs ...string) int {
	t.Helper()
	seen := map[string]bool{}
	for _, out := range outputs {
		for line := range strings.Lines(out) {
			if seen[line] {
				t.Errorf("number %q twice", line)
			}
			seen[line] = true
		}
	}
	answer, err := open(t, dir).Read(t.Context(), []string{"counter"}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	fmt.Sscan(string(answer.Named[0].Value), &n)
	for line := range seen {
		var number int
		if fmt.Sscan(line, &number); number < 1 || number > n {
			t.Errorf("number %q, and the counter is at %d", line, n)
		}
	}
	if n > len(seen)+len(outputs) {
		t.Errorf("the counter is at %d after %d numbers, of %d processes", n, len(seen), len(outputs))
	}
	return len(seen)
}

func prepared(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "leases")
	if err := open(t, dir).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProcesses(t *testing.T) {
	dir := prepared(t)
	var cmds []*exec.Cmd
	var outs []*strings.Builder
	for range 4 {
		cmd, out := command(t, "raise", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	var outputs []string
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, outs[i])
		}
		outputs = append(outputs, outs[i].String())
	}
	if n := gather(t, dir, outputs...); n != 240 {
		t.Errorf("%d numbers, want 240", n)
	}
}

// TestKilled kills processes at any moment, and stops one for good, which may have the lock.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long where the processor is emulated")
	}
	dir := prepared(t)
	stopped, stoppedOut := command(t, "forever", dir)
	if err := stopped.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	stopped.Process.Signal(syscall.SIGSTOP)
	var outputs []string
	for i := range 25 {
		cmd, out := command(t, "forever", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+10*i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if i == 15 {
			stopped.Process.Signal(syscall.SIGCONT)
		}
		outputs = append(outputs, out.String())
	}
	stopped.Process.Kill()
	stopped.Wait()
	if n := gather(t, dir, append(outputs, stoppedOut.String())...); n < 30 {
		t.Errorf("only %d numbers", n)
	}
	swap(t, open(t, dir), "after", "all")
}

func TestFileSizeLimit(t *testing.T) {
	dir := prepared(t)
	before := snapshot(t, dir)
	cmd, out := command(t, "small", dir)
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if after := snapshot(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("files %v, want %v", after, before)
	}
}

// stranger runs a child as another user, in a directory that everybody may pass through.
func stranger(t *testing.T, child, dir string, uid, gid uint32) (string, error) {
	t.Helper()
	cmd, out := command(t, child, dir)
	exe, err := os.Open(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	copied, err := os.OpenFile(filepath.Join(filepath.Dir(dir), "child"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err == nil {
		_, err = io.Copy(copied, exe)
		err = errors.Join(err, copied.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Dir = copied.Name(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, Groups: []uint32{5000}}}
	err = cmd.Run()
	return out.String(), err
}

// asRoot returns a new directory within one that all users may pass through.
func asRoot(t *testing.T, mode fs.FileMode, uid, gid int) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("takes root")
	}
	base, err := os.MkdirTemp("", "filestore")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir = filepath.Join(base, "leases")
	err = errors.Join(os.Chmod(base, 0o755), os.Mkdir(dir, 0o700), os.Chown(dir, uid, gid), os.Chmod(dir, mode))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantOwner(t *testing.T, dir string, uid, gid uint32, mode fs.FileMode) {
	t.Helper()
	for name := range snapshot(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Gid != gid || info.Mode() != mode || uid > 0 && s.Uid != uid {
			t.Errorf("%s is %d:%d, %v; want %d:%d, %v", name, s.Uid, s.Gid, info.Mode(), uid, gid, mode)
		}
	}
}

// TestRoot: what root does in a service's directory does not lock the service out.
func TestRoot(t *testing.T) {
	dir := asRoot(t, 0o700, 4001, 4002)
	s, err := Create(dir, store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := stranger(t, "raise", dir, 4001, 4002); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := s.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	wantOwner(t, dir, 4001, 4002, 0o600)
	if out, err := stranger(t, "one", dir, 4001, 4002); err != nil || out != "61\n" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := stranger(t, "one", dir, 4003, 4002); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("another user: %v: %s", err, out)
	}
}

// TestGroup: two users share a directory of their group, with and without the bit that gives files the group.
func TestGroup(t *testing.T) {
	for _, mode := range []fs.FileMode{0o770, 0o770 | fs.ModeSetgid} {
		dir := asRoot(t, mode, 4001, 5000)
		for i, child := range []string{"create", "raise", "raise", "one"} {
			if out, err := stranger(t, child, dir, uint32(4001+i%2), uint32(4001+i%2)); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		wantOwner(t, dir, 0, 5000, 0o660)
		if n := len(snapshot(t, dir)); n > 20 {
			t.Errorf("%d files: those of the other are not removed", n)
		}
	}
}

// TestReadOnly: a user who may only read a directory can Read, and gets an error that names the path from other calls.
func TestReadOnly(t *testing.T) {
	dir := asRoot(t, 0o755, 4001, 4001)
	if _, err := Create(dir, store.ForNewSecret()); err != nil {
		t.Fatal(err)
	}
	if out, err := stranger(t, "one", dir, 4002, 4002); err == nil || !strings.Contains(out, "permission denied") || !strings.Contains(out, dir) {
		t.Errorf("%v: %s", err, out)
	}
	wantOwner(t, dir, 4001, 4001, 0o644)
}
