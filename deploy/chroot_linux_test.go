package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/local"
)

// A process that has confinedRoot in its environment becomes the program of the image that is unpacked there.
const confinedRoot = "RANDFLAKE_CONFINED_ROOT"

func init() {
	if root := os.Getenv(confinedRoot); root != "" {
		fmt.Fprintln(os.Stderr, confine(root, os.Args[1:])) // comes back with an error alone
		os.Exit(1)
	}
}

// configuration is that of the confined program. Its store, which Kubernetes would have elsewhere, is in memory.
const configuration = `listen: 127.0.0.1:0
spaces:
- {name: demo, kind: randflake, store: file:/var/lib/randflaked/demo, secret: mint, secretFile: /run/secrets/demo}
`

// confine goes to a file system that is root's, read-only, with a configuration and a secret mounted as Kubernetes does it;
// gives up all rights of a superuser; and becomes the program.
func confine(root string, args []string) error {
	mount := func(source, target, kind string, flags uintptr, options string) error {
		if err := unix.Mount(source, target, kind, flags, options); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
		return nil
	}
	etc, secrets, state := filepath.Join(root, "etc/randflaked"), filepath.Join(root, "run/secrets"), filepath.Join(root, "var/lib/randflaked")
	steps := []func() error{
		func() error { return mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return mount(root, root, "", unix.MS_BIND, "") },
		func() error {
			return mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID, "")
		},
		func() error { return mount("tmpfs", etc, "tmpfs", 0, "mode=0755") },
		func() error { return mount("tmpfs", secrets, "tmpfs", 0, "mode=0755") },
		func() error { return mount("tmpfs", state, "tmpfs", 0, "mode=0700") },
		func() error { return os.WriteFile(filepath.Join(etc, "randflaked.yaml"), []byte(configuration), 0o444) },
		func() error { _, err := local.Create(filepath.Join(state, "demo")); return err },
		func() error {
			secret, err := os.ReadFile(filepath.Join(state, "demo/secret"))
			return errors.Join(err, os.WriteFile(filepath.Join(secrets, "demo"), secret, 0o444), os.Remove(filepath.Join(state, "demo/secret")))
		},
		func() error {
			return filepath.WalkDir(state, func(name string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(name, user, user))
			})
		},
		func() error { return mount("", etc, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") },
		func() error { return mount("", secrets, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") },
		func() error {
			if err := os.WriteFile(filepath.Join(root, "written"), nil, 0o600); !errors.Is(err, unix.EROFS) {
				return fmt.Errorf("the root was written to by its owner, error %v", err)
			}
			return nil
		},
		func() error { return unix.Chroot(root) },
		func() error { return os.Chdir("/") },
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setgid(user) },
		func() error { return syscall.Setuid(user) },
		func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return syscall.Exec("/randflaked", append([]string{"/randflaked"}, args...), nil)
}

// TestConfined: the image's program makes IDs with a root that is read-only, and nothing in it but the image, as a user
// without any rights, and ends as it should.
func TestConfined(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can confine a process")
	}
	root := unpacked(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "--config", "/etc/randflaked/randflaked.yaml")
	cmd.Env = []string{confinedRoot + "=" + root}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	problems, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, unix.EPERM) {
		t.Skip("this machine lets root mount nothing: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines, url := bufio.NewScanner(problems), ""
	var log bytes.Buffer
	for url == "" && lines.Scan() {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			url = line.URL
		}
		log.Write(append(lines.Bytes(), '\n'))
	}
	if url == "" {
		err := cmd.Wait()
		t.Fatalf("it does not listen, error %v:\n%s", err, &log)
	}
	rest := make(chan string)
	go func() {
		b, _ := io.ReadAll(problems)
		rest <- string(b)
	}()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in\n%s", want, status)
		}
	}
	ids := mint(t, url)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log.WriteString(<-rest)
	if err := cmd.Wait(); err != nil || len(ids) != 5 {
		t.Errorf("IDs %v, ended with %v:\n%s", ids, err, &log)
	}
	if !strings.Contains(log.String(), `"msg":"release"`) {
		t.Errorf("the lease did not go back:\n%s", &log)
	}
}

// mint asks for five IDs, until the space is open.
func mint(t *testing.T, url string) map[string]bool {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Post(url+"/v1/spaces/demo/ids?count=5", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			var minted struct{ IDs []string }
			if err := json.Unmarshal(body, &minted); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			ids := map[string]bool{}
			for _, id := range minted.IDs {
				ids[id] = true
			}
			return ids
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%s: %s, error %v", answer.Status, body, err)
		}
	}
}
