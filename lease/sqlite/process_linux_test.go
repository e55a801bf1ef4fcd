package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// childEnv makes the test binary a process that raises a counter in a file, and prints what was acknowledged.
const childEnv = "SQLITESTORE_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, raise(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func raise(path string) error {
	e, err := New(path)
	for number := 0; err == nil; {
		expect := entry("counter", "")
		if number > 0 {
			expect = entry("counter", fmt.Sprint(number))
		}
		var answer lease.Answer
		if answer, err = e.Swap(context.Background(), expect, entry("counter", fmt.Sprint(number+1))); answer.Swapped {
			number++
			fmt.Println(number)
		} else if err == nil {
			fmt.Sscan(string(answer.Entries[0].Value), &number)
		}
	}
	return err
}

// TestKilled has two processes on one file at any time, each killed at some moment.
func TestKilled(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "app.db")
		do(t, path, "PRAGMA journal_mode = "+mode).Close()
		e := prepared(t, path)
		outputs := make([]*os.File, 16)
		var last *exec.Cmd
		for i := range outputs {
			var err error
			outputs[i], err = os.Create(filepath.Join(t.TempDir(), "output"))
			must(t, err)
			defer outputs[i].Close()
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), childEnv+"="+path), outputs[i], os.Stderr
			must(t, cmd.Start())
			for output := []byte(nil); len(output) == 0; time.Sleep(time.Millisecond) { // until it has made a number
				output, err = os.ReadFile(outputs[i].Name())
				must(t, err)
			}
			if time.Sleep(time.Duration(7*i) * time.Millisecond); last != nil {
				last.Process.Kill()
				last.Wait()
			}
			last = cmd
		}
		last.Process.Kill()
		last.Wait()
		seen := map[int]bool{}
		for _, out := range outputs {
			text, err := os.ReadFile(out.Name())
			must(t, err)
			for line := range strings.Lines(string(text)) {
				number := 0
				if fmt.Sscan(line, &number); seen[number] {
					t.Errorf("%s: %d was acknowledged twice", mode, number)
				}
				seen[number] = true
			}
		}
		value, found := get(t, e, "counter")
		number := 0
		fmt.Sscan(value, &number)
		if number < len(seen) || number > len(seen)+len(outputs) || found.Position != uint64(number+1) {
			t.Errorf("%s: the counter is at %d, position %d, after %d numbers", mode, number, found.Position, len(seen))
		}
	}
}

// mount mounts a small disk, or skips the test.
func mount(t *testing.T) (dir string) {
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// wantKept checks that a Swap fails, that its outcome is not half of one, and that Read works on.
func wantKept(t *testing.T, e *Engine, want error, text string) {
	t.Helper()
	_, err := e.Swap(t.Context(), nil, append(entry("a", "2"), entry("b", strings.Repeat("b", lease.MaxValue))...))
	if value, _ := get(t, e, "a"); value != "1" || !errors.Is(err, want) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), e.path) {
		t.Errorf("found %q, %v, want %v", value, err, want)
	}
}

func TestDiskFull(t *testing.T) {
	dir := mount(t)
	e := prepared(t, filepath.Join(dir, "app.db"))
	must(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 60<<10), 0o600))
	wantKept(t, e, meanings[13], "make room")
	must(t, os.Remove(filepath.Join(dir, "filler")))
	put(t, e, "a", "3")
}

func TestReadOnly(t *testing.T) {
	dir := mount(t)
	e := prepared(t, filepath.Join(dir, "app.db"))
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	wantKept(t, e, fs.ErrPermission, "readonly")
}

// TestMountedAlone refuses a file that is mounted without its directory, as in a container.
func TestMountedAlone(t *testing.T) {
	path, alone := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "app.db")
	prepared(t, path)
	must(t, os.WriteFile(alone, nil, 0o600))
	if err := syscall.Mount(path, alone, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(alone, syscall.MNT_DETACH) })
	if _, err := open(t, alone).Read(t.Context(), "a"); !errors.Is(err, lease.ErrUnsafe) {
		t.Errorf("%v, want ErrUnsafe", err)
	}
}
